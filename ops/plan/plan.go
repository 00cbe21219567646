// Package plan says what a revision will do to a cluster: to its objects and to
// its data, in order. It is ops.Decide run forward over a model in which each
// action succeeds, so that what is printed and what is done cannot part.
package plan

import (
	"time"

	"stevedore.dev/stevedore/apply/compare"
)

// Plan is what a revision will do to one cluster. Its JSON form is what
// `diff -o json` prints an array of; its schema is docs/plan.schema.json.
type Plan struct {
	SchemaVersion int    `json:"schemaVersion"`
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	// Revision of the desired state; "" when the folder is no Git work tree.
	Revision string `json:"revision,omitempty"`
	// Basis is what it was compared with, and what of that is known.
	Basis Basis `json:"basis"`
	// Objects that differ, StatefulSets first, then by kind and name; behind them
	// what only moved.
	Objects []Object `json:"objects"`
	// Operations in the order in which they will run.
	Operations []Operation `json:"operations"`
	// Refused are the gates that refuse a part of it now, with what to do.
	Refused []Gate `json:"refused"`
	// Waits are what it waits for until somebody acts, with what to do. What follows
	// is planned as if a Secret that is missing were there.
	Waits []Gate `json:"waits"`
	// Notes are sentences about what else the change brings about: that it ends a
	// pause or a release.
	Notes []string `json:"notes"`
	// AtRisk names what may be unavailable or lost on the way, for instance tables
	// without replicas on nodes that restart.
	AtRisk []Risk `json:"atRisk"`
	// Warnings are what in the definition looks like a mistake, and stops nothing.
	Warnings []Warning `json:"warnings"`
	// Unknown are sentences that say what could not be known, and why.
	Unknown []string `json:"unknown"`
	// Restarts is how many pods are restarted, over all operations.
	Restarts int `json:"restarts"`
	// Estimate of the whole; nil where there is no base for one.
	Estimate *Estimate `json:"estimate,omitempty"`
}

// Empty is true when nothing would be done, and nothing is refused or waited for.
// An object that only moved is nothing to do.
func (p Plan) Empty() bool {
	return len(p.Objects) == p.Moves() && len(p.Operations)+len(p.Refused)+len(p.Waits)+len(p.Notes) == 0
}

// Moves counts the objects that only moved to another file.
func (p Plan) Moves() int {
	n := 0
	for _, o := range p.Objects {
		if o.Change == Moved {
			n++
		}
	}
	return n
}

// BasisKind is what a plan was made against.
type BasisKind string

const (
	// Live: the objects in a cluster and what the daemon publishes about it.
	Live BasisKind = "live"
	// Offline: another revision or folder; no cluster was asked.
	Offline BasisKind = "offline"
)

// Basis says what a plan rests on.
type Basis struct {
	Kind BasisKind `json:"kind"`
	// Against is the revision or the folder of an offline plan.
	Against string `json:"against,omitempty"`
	// Admission is true when the API server was asked (a dry run) what it would
	// store; otherwise changes by admission are not in the plan.
	Admission bool `json:"admission"`
	// SecretsCompared is false where the role may not read Secrets, and offline
	// where their values are not in the repository.
	SecretsCompared bool `json:"secretsCompared"`
	// Observed is when the database was last read by the daemon; zero when there is
	// no reading to rest on.
	Observed time.Time `json:"observed,omitzero"`
	// ObservedIn is the file that the reading was taken from; "" where it was read
	// in the cluster.
	ObservedIn string `json:"observedIn,omitempty"`
	// Age of that reading when the plan was made; 0 without one.
	Age Duration `json:"age,omitzero"`
	// Stale is true when the reading is older than its users should rely on.
	Stale bool `json:"stale,omitempty"`
	// New is true when there is no such cluster in the basis.
	New bool `json:"new,omitempty"`
	// Claims is how many volume claims with data such a cluster starts on.
	Claims int `json:"claims,omitempty"`
}

// Change says how an object differs.
type Change string

const (
	// Added: it will be created.
	Added Change = "added"
	// Changed: fields of it differ.
	Changed Change = "changed"
	// Removed: it will be deleted.
	Removed Change = "removed"
	// Orphaned: it is no longer desired, and is left as it is.
	Orphaned Change = "orphaned"
	// Moved: it stands in another file and is the same otherwise; nothing is done.
	Moved Change = "moved"
)

// Class says what a change asks for.
type Class string

const (
	// InPlace: it is applied, and nothing restarts.
	InPlace Class = "in place"
	// Restart: pods are restarted for it now.
	Restart Class = "restart"
	// RestartWhenDue: it is in the template, and holds from the next restart on.
	RestartWhenDue Class = "restart when next due"
	// ByOperation: an operation brings it about (grow, shrink, suspend, …).
	ByOperation Class = "operation"
	// Recreate: the object is recreated, its pods are kept.
	Recreate Class = "recreate keeping pods"
	// Waiting: it is done when what is waited for has happened; Why says what.
	Waiting Class = "waits"
	// Refused: it is not done; Why says why.
	Refused Class = "refused"
)

// Object is one object that differs.
type Object struct {
	compare.Key
	Change Change `json:"change"`
	// Class is the gravest of its fields' classes.
	Class Class `json:"class"`
	// From and To are the files of a move, also of an object that is changed
	// besides, and To alone that of an addition; "" when not known.
	From   string  `json:"from,omitempty"`
	To     string  `json:"to,omitempty"`
	Fields []Field `json:"fields,omitempty"`
	// Why is a sentence for Refused, Waiting and Orphaned, else "".
	Why string `json:"why,omitempty"`
}

// Field is one field of a changed object. Values of Secrets are masked before
// they come here: From and To are then compare's masks.
type Field struct {
	compare.FieldChange
	Class Class `json:"class,omitempty"`
	// Gate that refuses it, or waits; "" for none.
	Gate string `json:"gate,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Warning is what looks like a mistake. File is a path in the repository, "" where
// it is not known; Line and Column begin at 1.
type Warning struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Gate is a rule of ops/gates that says no, or wait, with its numbers.
type Gate struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Operation is one operation, as its name stands in status and webhooks: grow,
// shrink, restart, upgrade, suspend, resume, bootstrap, settings, users, …
type Operation struct {
	Kind string `json:"kind"`
	// Summary is a sentence with numbers: "drain data-b-3: 1,204 shards, 310 GiB,
	// fits: 71 % of the low watermark after".
	Summary string `json:"summary"`
	// Gates that stand ahead of it, in the order in which they are asked, as they
	// read on the basis.
	Gates []Gate `json:"gates,omitempty"`
	Steps []Step `json:"steps"`
	// Meanwhile is true where it waits for none of the other operations, nor they for it.
	Meanwhile bool `json:"meanwhile,omitempty"`
	// Restarts is how many pods it restarts.
	Restarts int `json:"restarts,omitempty"`
	// Estimate; nil where there is no base for one.
	Estimate *Estimate `json:"estimate,omitempty"`
}

// Step is one action on one target. The sequence of all steps of a plan is that
// of the deed, with waits and repetitions dropped.
type Step struct {
	// Action is a model.ActionKind, or "apply" for a StatefulSet that is written.
	Action string `json:"action"`
	// Target is the pod, StatefulSet, user, setting or claim that it acts on.
	Target string `json:"target"`
	// Detail is a sentence for people; it may be "".
	Detail string `json:"detail,omitempty"`
}

// Risk is what may be unavailable or lost on the way.
type Risk struct {
	// Subject is a table "schema.name", a node or a volume.
	Subject string `json:"subject"`
	Why     string `json:"why"`
}

// Estimate is a range of time, and what it rests on.
type Estimate struct {
	Least Duration `json:"least"`
	Most  Duration `json:"most"`
	// Basis is a sentence: "5 pods, 40 s to 3 min each as readiness allows".
	Basis string `json:"basis"`
}

// Duration is written in JSON as Go prints it: "1m30s".
type Duration time.Duration

// String prints it as Go does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText never fails.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = Duration(read)
	return err
}
