package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Reading is one look at a cluster of crate-operator's. What could not be read is said, and is
// never taken for "none".
type Reading struct {
	Namespace, Cluster string
	// Object is the CrateDB object; nil where there is none.
	Object   *Object
	Operator Operator
	// Sets are the StatefulSets of the cluster, those of dedicated masters first.
	Sets []Set
	Pods []Pod
	// Dependents are all objects of the namespace that name the CrateDB object as an owner, all claims
	// of the cluster and the Secrets of its users, with or without an owner.
	Dependents []Dependent
	Budgets    []Budget
	// Unread are kinds of objects that could not be listed.
	Unread []Unread
	// Missing are rights that the person lacks and that a step needs: "patch services".
	Missing []string
	// Expected says whether a daemon has the definition of this cluster and waits for its objects:
	// without one nobody would look after what was taken over.
	Expected Expectation
	// Objections are what that daemon refuses in addition, with the gates' names.
	Objections []string
	Database   Database
	// Compared is the definition that a person has named, against what runs.
	Compared Comparison
	// Written is what counts of a cluster whose StatefulSets somebody wrote; nil for one of
	// crate-operator's.
	Written *Written
	// Saved is what an earlier run has kept of the cluster as it was; nil before the first write.
	Saved *Saved
	// Released is true where the daemon has given everything back and does nothing to the cluster.
	Released bool
}

// Object is the CrateDB object, of the API group cloud.crate.io.
type Object struct {
	UID, Version string
	Deleting     bool
	Finalizers   []string
	// Unfinished are handlers of kopf's that have begun and not ended, as its annotations say.
	Unfinished []string
	// Pending are the pods of a restart that crate-operator is in the middle of (status.pendingPods).
	Pending []string
	// AppliedBy is who still applies the object, Argo CD for one; "" for nobody that is seen.
	AppliedBy string
	// Restores is the snapshot of spec.cluster.restoreSnapshot while its restore has not ended.
	Restores string
}

// Operator says whether crate-operator runs, anywhere in this Kubernetes cluster.
type Operator struct {
	// Known is false where Deployments and pods of all namespaces may not be listed: Why says it.
	Known bool
	Why   string
	// Running are its Deployments and pods: "Deployment crate-operator/crate-operator".
	Running []string
}

// Set is a StatefulSet.
type Set struct {
	Name, UID, Version, Group string
	Replicas, Ready, Current  int
	Deleting, Observed, Ours  bool
	// Strategy is its update strategy; "OnDelete" is crate-operator's.
	Strategy string
	// Routing is its label dc-util-routing-owner: a pod's hook holds the allocation.
	Routing string
	// Remade is true where its pod template is stevedore's by now.
	Remade bool
	// Kept is true where it is kept as it is now.
	Kept bool
	// Written is what counts of one that somebody wrote; nil for one of crate-operator's.
	Written *WrittenSet
}

// Pod is a pod of the cluster.
type Pod struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	Set  string `json:"set"`
	// Revision is its ControllerRevision, Restarts those of all its containers.
	Revision string `json:"revision,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	// Controller is the UID of its StatefulSet; "" for none.
	Controller string `json:"-"`
	// Theirs is true while it has crate-operator's label, by which that finds its pods.
	Theirs          bool `json:"-"`
	Ready, Deleting bool `json:"-"`
	// Unmarked is true where a pod of a StatefulSet that somebody wrote lacks a label of stevedore's;
	// Marks are how many it has.
	Unmarked bool `json:"-"`
	Marks    int  `json:"-"`
	// Remade is true where its template is stevedore's.
	Remade bool `json:"-"`
}

// Dependent is an object that names the CrateDB object as an owner, or a claim of the cluster.
type Dependent struct {
	Resource   schema.GroupVersionResource
	Kind, Name string
	UID        string
	// Owned is true while it names the CrateDB object as an owner.
	Owned bool
	// ClusterID is our annotation of a claim.
	ClusterID string
	// Diary are annotations of kopf's. On a Secret they have its values.
	Diary []string
	// Suspended is true for a CronJob that begins no Job.
	Suspended bool
	// Ours is true for what has our label.
	Ours bool
	// Deleting is true for what is being deleted.
	Deleting bool
	// Unmarked is true where a claim of a StatefulSet that somebody wrote lacks a label of stevedore's;
	// Marks are how many labels and annotations of stevedore's it has.
	Unmarked bool
	Marks    int
}

// IsClaim reports whether it is a volume claim.
func (d *Dependent) IsClaim() bool { return d.Kind == "PersistentVolumeClaim" }

func (d *Dependent) String() string { return d.Kind + " " + d.Name }

// Budget is a disruption budget.
type Budget struct {
	Name, UID    string
	MinAvailable int
	// Seen: its controller has observed the spec as it is. Allowed is how many pods may go.
	Seen    bool
	Allowed int
	Ours    bool
}

// Closed is an integer minAvailable that lets no pod go, however many there are. While a
// StatefulSet is away the disruption controller does not expect its pods, and any other number
// would let some go.
const Closed = 1_000_000

func (b *Budget) closed() bool { return b.MinAvailable == Closed && b.Seen && b.Allowed == 0 }

// Unread is a kind of object that could not be listed.
type Unread struct {
	Resource, Why string
	// Needed is true for kinds that crate-operator makes. Of others it is only said.
	Needed bool
}

// Expectation is what the record of a daemon says.
type Expectation uint8

const (
	// Nobody: no daemon has seen a definition of this cluster.
	Nobody Expectation = iota
	// Waiting: a daemon has one and refuses it because the objects are another's.
	Waiting
	// Acting: a daemon looks after the cluster already.
	Acting
)

// Database is what CrateDB says. It means nothing where Known is false.
type Database struct {
	Known bool
	// Why it is not known.
	Why       string
	ClusterID string
	Health    string
	Nodes     []string
	// Left are cluster settings that a crate-operator leaves behind where it was ended in the middle
	// of something: `cluster.routing.allocation.exclude._name = 'data-hot-3'`.
	Left []Setting
}

// Comparison is what a definition changes in what runs. It means nothing without Definition.
type Comparison struct {
	// Definition is where it was read.
	Definition string
	// Never are the differences that Kubernetes never lets anybody make, as lines.
	Never []string
	// Unknown is why the two could not be compared.
	Unknown string
}

// Setting is a cluster setting.
type Setting struct{ Name, Value string }

// Suspended reports whether no pod is desired.
func (r *Reading) Suspended() bool {
	return len(r.Sets) > 0 && !slices.ContainsFunc(r.Sets, func(s Set) bool { return s.Replicas > 0 })
}

func (r *Reading) set(name string) *Set {
	return model.Find(r.Sets, func(s *Set) bool { return s.Name == name })
}

func (r *Reading) budget(name string) *Budget {
	return model.Find(r.Budgets, func(b *Budget) bool { return b.Name == name })
}

// Adopted reports whether every StatefulSet is stevedore's, and has its pods.
func (r *Reading) Adopted() bool {
	if r.Saved == nil {
		return false
	}
	if r.Saved.Adopted() {
		return true
	}
	for name := range r.Saved.Sets {
		if s := r.set(name); s == nil || !s.Ours || r.fatherless(s) != "" {
			return false
		}
	}
	return true
}

// away reports whether a StatefulSet is not there that was: to make it again repairs that.
func (r *Reading) away() bool {
	return slices.ContainsFunc(r.setNames(), func(name string) bool { s := r.set(name); return s == nil || s.Deleting })
}

// fatherless is a pod of a StatefulSet that does not belong to it; "" for none.
func (r *Reading) fatherless(s *Set) string {
	for p := range model.Each(r.Pods) {
		if p.Set == s.Name && p.Controller != s.UID && !p.Deleting {
			return p.Name
		}
	}
	return ""
}

// budgets of ours, by the groups that there are: one over the data nodes, one over dedicated masters.
func (r *Reading) ourBudgets() []string {
	out := []string{names.DataBudget(r.Cluster)}
	_, masters := r.saved().Sets[names.StatefulSet(r.Cluster, names.MasterGroup, true)]
	if masters || model.Any(r.Sets, func(s *Set) bool { return s.Group == names.MasterGroup }) {
		out = append(out, names.MasterBudget(r.Cluster))
	}
	return out
}

func (r *Reading) saved() *Saved {
	if r.Saved == nil {
		return &Saved{}
	}
	return r.Saved
}

// theirBudgets are crate-operator's, one a StatefulSet. That of dedicated masters has the name of
// ours.
func (r *Reading) theirBudgets() []string {
	return model.Texts(r.Budgets, func(b *Budget) string {
		_, saved := r.saved().Sets[b.Name]
		if theirs := saved || r.set(b.Name) != nil; theirs && !slices.Contains(r.ourBudgets(), b.Name) {
			return b.Name
		}
		return ""
	})
}
