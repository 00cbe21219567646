package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Verb is what a step does.
type Verb string

const (
	// Save keeps the cluster as it is, in a ConfigMap.
	Save Verb = "save"
	// SuspendJob suspends a CronJob; Attach gives it back the value that it had.
	SuspendJob Verb = "suspend"
	// ResetSettings takes off cluster settings that were left behind.
	ResetSettings Verb = "reset"
	// CloseBudget makes a budget that lets no pod go.
	CloseBudget Verb = "close-budget"
	// DropBudget deletes a budget, RestoreBudget makes one of crate-operator's again.
	DropBudget    Verb = "drop-budget"
	RestoreBudget Verb = "restore-budget"
	// Detach takes the owner off an object, and with it kopf's annotations. Attach puts back what was
	// taken. NoteCluster notes on a claim which cluster's data it has.
	Detach      Verb = "detach"
	Attach      Verb = "attach"
	NoteCluster Verb = "note-cluster"
	// KeepSet keeps a StatefulSet as it is right before it is deleted. Orphan deletes it without its
	// pods, Create makes it again.
	KeepSet Verb = "keep-set"
	Orphan  Verb = "orphan"
	Create  Verb = "create"
	// DeleteObject deletes the CrateDB object and leaves its dependents, Unfinalize takes
	// crate-operator's finalizer off it.
	DeleteObject Verb = "delete-object"
	Unfinalize   Verb = "unfinalize"
	// Note notes that the StatefulSets are taken over, NoteBack that the way back has begun. Forget
	// deletes what was kept.
	Note     Verb = "note"
	NoteBack Verb = "note-back"
	Forget   Verb = "forget"
	// Await writes nothing: it waits for a controller.
	Await Verb = "await"
)

// Step is one write.
type Step struct {
	Verb Verb `json:"step"`
	// Object is what it is done to: "StatefulSet crate-data-hot-orders".
	Object string `json:"object"`
	// Words say it in a sentence.
	Words string `json:"does"`
	// Last is true for the step after which there is no way back.
	Last bool `json:"last,omitempty"`

	// Name is the object's, UID and Version are its as it was looked at.
	Name    string `json:"-"`
	UID     string `json:"-"`
	Version string `json:"-"`
	// Dependent is what Detach, Attach and SuspendJob are done to.
	Dependent *Dependent `json:"-"`
	// Owned is true where a StatefulSet is made as crate-operator's.
	Owned bool `json:"-"`
}

// Steps are what is left to do, in order: each is one write, or waits for a controller. A step says what
// it does as if those before it had been done. Whoever has done one looks again, and finds the next one
// among those that the first look has named.
func Steps(r *Reading, wish Wish) []Step {
	switch {
	case wish.Back && r.Saved == nil:
		return nil
	case wish.Back && r.Written != nil:
		return append(turning(r), writtenBack(r)...)
	case wish.Back:
		return append(turning(r), stepsBack(r)...)
	}
	var out []Step
	if r.Saved == nil {
		out = append(out, Step{Verb: Save, Object: guardMap(r), Words: "keep every object as it is, for the way back"})
	}
	if r.Written != nil {
		return append(out, writtenSteps(r, wish)...)
	}
	done := r.saved().Adopted()
	if len(r.Database.Left) > 0 && !done && (wish.Reset || len(r.saved().Settings) > 0) {
		out = append(out, Step{Verb: ResetSettings, Object: "CrateDB", Words: "reset the cluster settings " + settings(r.Database.Left)})
	}
	for d := range model.Each(r.Dependents) {
		if d.Kind == "CronJob" && d.Owned && !d.Suspended {
			out = append(out, Step{Verb: SuspendJob, Object: d.String(), Words: "suspend it: snapshots are spec.backups of the definition from now on", Name: d.Name, Dependent: d})
		}
	}
	var closed []Step
	if !done && !r.Adopted() {
		closed = closing(r)
	}
	out = append(append(out, closed...), detaching(r)...)
	if !done {
		for _, name := range r.setNames() {
			out = append(out, taking(r, name, "make it again around its pods: the same pod template, clean claim templates, no owner, stevedore's label")...)
		}
		out = append(out, Step{Verb: Note, Object: guardMap(r), Words: "note that every StatefulSet was taken over"})
	}
	opened := opening(r, wish, closed)
	out = append(out, opened...)
	if wish.Finish {
		out = append(out, finishing(r)...)
		if len(opened) > 0 || !r.guarded() {
			out = append(out, Step{Verb: Forget, Object: guardMap(r), Words: "delete what was kept: there is no way back"})
		}
	}
	return out
}

// turning notes that the way back has begun: from then on the cluster is not adopted any more.
func turning(r *Reading) []Step {
	if r.Saved.Back {
		return nil
	}
	return []Step{{Verb: NoteBack, Object: guardMap(r), Words: "note that the way back has begun"}}
}

// Unannounced reports whether a step writes something that is not among those that were announced.
func (s Step) Unannounced(announced []Step) bool {
	return s.Verb != Await && !slices.ContainsFunc(announced, func(a Step) bool { return a.Verb == s.Verb && a.Object == s.Object })
}

// setNames are the StatefulSets that are, and that were, that of dedicated masters first.
func (r *Reading) setNames() []string {
	out := slices.AppendSeq(model.Texts(r.Sets, func(s *Set) string { return s.Name }), maps.Keys(r.saved().Sets))
	slices.Sort(out)
	out = slices.Compact(out)
	master := names.StatefulSet(r.Cluster, names.MasterGroup, true)
	if i := slices.Index(out, master); i > 0 {
		out = slices.Insert(slices.Delete(out, i, i+1), 0, master)
	}
	return out
}

// closing makes a budget that keeps every pod, before a StatefulSet is away from its pods.
func closing(r *Reading) []Step {
	name := Guard(r.Cluster)
	object := "PodDisruptionBudget " + name
	switch b := r.budget(name); {
	case b == nil || b.MinAvailable != Closed:
		return []Step{{Verb: CloseBudget, Object: object, Words: "let no pod be evicted while StatefulSets are recreated", Name: name}}
	case !b.closed():
		return []Step{{Verb: Await, Object: object, Words: "wait until its controller lets no pod go"}}
	}
	return nil
}

// opening deletes crate-operator's budgets, and then the one that keeps every pod, once the daemon
// has made its own. Until then a pod is under two, and each eviction is refused. The steps that close that
// budget come first.
func opening(r *Reading, wish Wish, closed []Step) []Step {
	var out []Step
	for _, name := range r.ourBudgets() {
		if b := r.budget(name); b == nil || !b.Ours || !b.Seen {
			if wish.Unattended {
				return nil
			}
			out = append(out, Step{Verb: Await, Object: "PodDisruptionBudget " + name, Words: "wait until the daemon has made its own"})
		}
	}
	for _, name := range r.theirBudgets() {
		out = append(out, r.dropped(name, "delete it: a pod under two budgets answers each eviction with 500", false)...)
	}
	return append(out, unguarding(r, closed)...)
}

// unguarding deletes the budget that keeps every pod: the one that is there, or that the steps before make.
func unguarding(r *Reading, closed []Step) []Step {
	return r.dropped(Guard(r.Cluster), "delete it, every StatefulSet has its pods", len(closed) > 0)
}

// guarded reports whether budgets of the adoption or of crate-operator are left: a later run deletes
// them once there is a daemon, and needs what was kept for that.
func (r *Reading) guarded() bool {
	return r.budget(Guard(r.Cluster)) != nil || len(r.theirBudgets()) > 0
}

// dropped deletes a budget, if it is there or comes.
func (r *Reading) dropped(name, words string, comes bool) []Step {
	step := Step{Verb: DropBudget, Object: "PodDisruptionBudget " + name, Words: words, Name: name}
	if b := r.budget(name); b != nil {
		step.UID = b.UID
	} else if !comes {
		return nil
	}
	return []Step{step}
}

// Guard is the budget over every pod of a cluster while its StatefulSets are recreated.
func Guard(cluster string) string { return names.AdoptionConfigMap(cluster) }

// detaching takes the owner off all that would be deleted with it. StatefulSets are recreated
// without it. Budgets stay: those of dedicated masters become the daemon's own, and without a daemon
// all of them protect the pods on.
func detaching(r *Reading) (out []Step) {
	for d := range model.Each(r.Dependents) {
		switch {
		case d.Kind == "StatefulSet":
			continue
		case d.Owned || len(d.Diary) > 0:
			words := "take its owner off, the CrateDB object, with which it would be deleted"
			if len(d.Diary) > 0 {
				words = "take crate-operator's annotations off (" + strings.Join(d.Diary, ", ") + ")"
				if d.Owned {
					words = "take its owner off, with which it would be deleted, and crate-operator's annotations"
				}
			}
			out = append(out, Step{Verb: Detach, Object: d.String(), Words: words, Name: d.Name, UID: d.UID, Dependent: d})
		}
		if d.IsClaim() && d.ClusterID == "" && r.clusterID() != "" {
			out = append(out, Step{Verb: NoteCluster, Object: d.String(), Words: "note on it which cluster's data it has", Name: d.Name, UID: d.UID, Dependent: d})
		}
	}
	return out
}

func (r *Reading) clusterID() string {
	if r.Saved != nil && r.Saved.ClusterID != "" {
		return r.Saved.ClusterID
	}
	return r.Database.ClusterID
}

// taking recreates a StatefulSet around its pods: only so its claim templates lose the owner that
// each later claim would be born with.
func taking(r *Reading, name, words string) []Step {
	return recreating(r, Step{Verb: Create, Object: "StatefulSet " + name, Words: words, Name: name})
}

// recreating deletes a StatefulSet without its pods and makes it again, as stevedore's or with its owner, and waits until it has them.
func recreating(r *Reading, create Step) []Step {
	back := create.Owned
	switch s := r.set(create.Name); {
	case s == nil:
		return []Step{create}
	case s.Deleting && (back || !s.Ours):
		return []Step{{Verb: Await, Object: create.Object, Words: "wait until it is gone without its pods"}, create}
	case s.Ours == back:
		return append(removing(r, s), create)
	case r.fatherless(s) != "" || !s.Observed:
		return []Step{{Verb: Await, Object: create.Object, Words: "wait until it has taken its pods"}}
	}
	return nil
}

// removing keeps a StatefulSet as it is, and deletes it without its pods.
func removing(r *Reading, s *Set) (out []Step) {
	object := "StatefulSet " + s.Name
	if !s.Kept {
		out = append(out, Step{Verb: KeepSet, Object: object, Name: s.Name, Words: "keep it as it is now, in ConfigMap " + names.AdoptionConfigMap(r.Cluster) + ": it is made again from that"})
	}
	return append(out, Step{Verb: Orphan, Object: object, Words: "delete it without its pods, which run on", Name: s.Name, UID: s.UID, Version: s.Version})
}

// finishing deletes the CrateDB object, on which nothing depends any more.
func finishing(r *Reading) []Step {
	if r.Object == nil {
		return nil
	}
	object := "CrateDB " + r.Cluster
	var out []Step
	if !r.Object.Deleting {
		out = append(out, Step{Verb: DeleteObject, Object: object, Words: "delete it and leave everything else", Name: r.Cluster, UID: r.Object.UID, Last: true})
	}
	if slices.ContainsFunc(r.Object.Finalizers, func(f string) bool { return strings.HasPrefix(f, names.OperatorPrefix) }) {
		out = append(out, Step{Verb: Unfinalize, Object: object, Words: "take crate-operator's finalizer off it: the operator that would is stopped", Name: r.Cluster, UID: r.Object.UID, Last: true})
	}
	if len(out) == 0 {
		out = append(out, Step{Verb: Await, Object: object, Words: "wait until it is gone"})
	}
	return out
}

func stepsBack(r *Reading) []Step {
	out, closed := setsBack(r, "make it again around its pods, with its owner")
	for i := range r.saved().Objects {
		if d := r.lacks(&r.Saved.Objects[i]); d != nil {
			out = append(out, Step{Verb: Attach, Object: d.String(), Words: "give it back its owner and its labels", Name: d.Name, UID: d.UID, Dependent: d})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.saved().Budgets)) {
		if b := r.budget(name); b == nil || b.Ours || owned(r.Saved.Budgets[name]) && !r.owns(b) {
			out = append(out, Step{Verb: RestoreBudget, Object: "PodDisruptionBudget " + name, Words: "make crate-operator's budget again", Name: name})
		}
	}
	for _, name := range r.ourBudgets() {
		if r.saved().Budgets[name] == nil {
			out = append(out, r.dropped(name, "delete stevedore's budget", false)...)
		}
	}
	out = append(out, unguarding(r, closed)...)
	return append(out, Step{Verb: Forget, Object: guardMap(r), Words: "delete what was kept"})
}

// loose reports whether a StatefulSet is away from its pods, or comes away from them by these steps. One whose controller
// has only not seen its update strategy yet is not.
func (r *Reading) loose(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Verb != Await }) ||
		slices.ContainsFunc(r.Sets, func(s Set) bool { return r.fatherless(&s) != "" })
}

// owns reports whether a budget names the CrateDB object as an owner.
func (r *Reading) owns(b *Budget) bool {
	return slices.ContainsFunc(r.Dependents, func(d Dependent) bool {
		return d.Kind == "PodDisruptionBudget" && d.Name == b.Name && d.Owned
	})
}

// lacks is a live object that has not its owner or its labels back; nil where it has, and where it
// is gone.
func (r *Reading) lacks(was *SavedObject) *Dependent {
	return model.Find(r.Dependents, func(d *Dependent) bool {
		if d.Kind != was.Kind || d.Name != was.Name || d.UID != was.UID || d.Deleting {
			return false
		}
		return !d.Owned && len(was.Owner) > 0 || d.Ours || d.Suspended != was.Suspended
	})
}

// setsBack recreates each StatefulSet as it was, under a budget that keeps every pod where one is away from its pods.
func setsBack(r *Reading, words string) (out, closed []Step) {
	for _, name := range r.setNames() {
		out = append(out, recreating(r, Step{Verb: Create, Object: "StatefulSet " + name, Words: words, Name: name, Owned: true})...)
	}
	if r.loose(out) {
		closed = closing(r)
	}
	return slices.Concat(closed, out), closed
}

// String says in a sentence what is done to which object.
func (s Step) String() string { return fmt.Sprintf("%s: %s", s.Object, s.Words) }
