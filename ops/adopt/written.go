package adopt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Verbs for a StatefulSet that somebody wrote.
const (
	// HoldUpdates sets the update strategy OnDelete, and nothing else: with RollingUpdate the controller
	// would restart pods for whatever is written later. FreeUpdates gives back the one that there was.
	HoldUpdates Verb = "hold-updates"
	FreeUpdates Verb = "free-updates"
	// MakeSecret makes the Secret of the user system, MakeUser that user.
	MakeSecret Verb = "make-secret"
	MakeUser   Verb = "make-user"
	DropSecret Verb = "drop-secret"
	DropUser   Verb = "drop-user"
	// NoteMade notes, before they are made, that they are made here: then the way back takes them away.
	NoteMade Verb = "note-made"
	// Mark puts stevedore's labels on a pod or a claim, Unmark takes them off.
	Mark   Verb = "mark"
	Unmark Verb = "unmark"
	// DropService deletes a Service that the daemon has made.
	DropService Verb = "drop-service"
)

// OnDelete is the update strategy with which only who deletes a pod restarts it.
const OnDelete = "OnDelete"

// Written is what counts of a cluster whose StatefulSets somebody wrote, in addition to what is read of
// each cluster.
type Written struct {
	// Secret is true where the Secret of the user system is there, with a password.
	Secret bool
	// User is true where CrateDB has a user system, Login where that logs in with the Secret.
	User, Login bool
	// ClusterName is CrateDB's, Asked that of the definition.
	ClusterName, Asked string
	// NodeNames are those that the pods will have, in the order of the pods.
	NodeNames []string
	// Over are disruption budgets of others over its pods.
	Over []string
	// Groups are StatefulSets of stevedore's that the cluster has in addition.
	Groups []string
	// Missing are StatefulSets that the definition names and that are not there.
	Missing []string
	// Services are those of the daemon's that are there.
	Services []string
}

// WrittenSet is a StatefulSet that somebody wrote.
type WrittenSet struct {
	// AppliedBy is who applies it again and again, or owns it; "" for nobody that is seen.
	AppliedBy string
	// Wrong is what its definition has otherwise, and can never change, or would lose data by.
	Wrong []string
	// Deletes is true where its claims are deleted with it (persistentVolumeClaimRetentionPolicy).
	Deletes bool
	// Revision is the one that its controller makes pods of.
	Revision string
}

// SavedWritten is what is kept of such a cluster.
type SavedWritten struct {
	// Targets say what each StatefulSet becomes, by its name.
	Targets map[string]Target `json:"targets"`
	// Secret and User are true once they were made here: then the way back takes them away.
	Secret bool `json:"secret,omitempty"`
	User   bool `json:"user,omitempty"`
}

// Target is what the definition makes of a StatefulSet that somebody wrote.
type Target struct {
	Group string `json:"group"`
	// Labels are the StatefulSet's, PodLabels those of its pods, ClaimLabels those of their claims.
	Labels      map[string]string `json:"labels"`
	PodLabels   map[string]string `json:"podLabels"`
	ClaimLabels map[string]string `json:"claimLabels"`
	// Names is the annotation that says which names it has from somebody else.
	Names string `json:"names"`
	// Claims are its volumeClaimTemplates.
	Claims json.RawMessage `json:"claims"`
	// NodePrefix is what the names of its nodes begin with.
	NodePrefix string `json:"nodePrefix"`
}

// writtenSteps are what is left to do with a cluster whose StatefulSets somebody wrote.
func writtenSteps(r *Reading, wish Wish) []Step {
	var out, closed []Step
	if !r.saved().Adopted() {
		out = append(out, holding(r)...)
		out = append(out, introducing(r)...)
		out = append(out, marking(r)...)
		if !r.Adopted() {
			closed = closing(r)
		}
		out = append(out, closed...)
		for _, name := range r.setNames() {
			out = append(out, taking(r, name, "make it again around its pods: the same pod template with stevedore's labels, claims that have them too, podManagementPolicy Parallel")...)
		}
		out = append(out, Step{Verb: Note, Object: guardMap(r), Words: "note that every StatefulSet was taken over"})
	}
	return append(out, opening(r, wish, closed)...)
}

// guardMap is the ConfigMap in which the cluster is kept as it was.
func guardMap(r *Reading) string { return "ConfigMap " + Guard(r.Cluster) }

// holding sees to it that no controller restarts a pod: before anything else, and by itself.
func holding(r *Reading) (out []Step) {
	for s := range model.Each(r.Sets) {
		object := "StatefulSet " + s.Name
		switch {
		case s.Ours || s.Deleting:
		case s.Strategy != OnDelete:
			out = append(out, Step{Verb: HoldUpdates, Object: object, Name: s.Name, UID: s.UID, Version: s.Version,
				Words: "set its update strategy to OnDelete, and nothing else: with " + s.Strategy + " its controller would restart pods"})
		case !s.Observed:
			out = append(out, Step{Verb: Await, Object: object, Words: "wait until its controller has seen it"})
		}
	}
	return out
}

// introducing makes the user that the daemon works as.
func introducing(r *Reading) (out []Step) {
	if secret, user := r.Makes(); secret || user {
		out = append(out, Step{Verb: NoteMade, Object: guardMap(r), Words: "note that " + made(secret, user) + " made here: the way back takes away what was made here, and nothing else"})
	}
	if !r.Written.Secret {
		out = append(out, Step{Verb: MakeSecret, Object: "Secret " + names.SystemSecret(r.Cluster), Words: "make it with a random password, for the database user system"})
	}
	if !r.Written.Login {
		out = append(out, Step{Verb: MakeUser, Object: "CrateDB", Words: "make the user system with that password and all privileges, as the superuser crate, whom CrateDB trusts within a pod"})
	}
	return out
}

// Makes says what is about to be made here of the user system, and is not noted yet.
func (r *Reading) Makes() (secret, user bool) {
	noted := r.saved().Written
	if noted == nil {
		noted = &SavedWritten{}
	}
	return !r.Written.Secret && !noted.Secret, !r.Written.Login && !noted.User
}

func made(secret, user bool) string {
	switch {
	case secret && user:
		return "the user system and its Secret are"
	case secret:
		return "the Secret of the user system is"
	}
	return "the user system is"
}

// marking puts the labels on by which the daemon, and the Services of its own, find pods and claims.
func marking(r *Reading) (out []Step) {
	for p := range model.Each(r.Pods) {
		if p.Unmarked && !p.Deleting {
			out = append(out, Step{Verb: Mark, Object: "pod " + p.Name, Name: p.Name, UID: p.UID, Words: "put stevedore's labels on it, next to its own"})
		}
	}
	for d := range model.Each(r.Dependents) {
		if d.Unmarked || d.ClusterID == "" && r.clusterID() != "" {
			out = append(out, Step{Verb: Mark, Object: d.String(), Name: d.Name, UID: d.UID, Dependent: d, Words: "put stevedore's labels on it, and note which cluster's data it has"})
		}
	}
	return out
}

// writtenBack are what is left to give back. The update strategy goes back last, and only where every
// pod is of the template that the StatefulSet has: its controller would restart the others.
func writtenBack(r *Reading) []Step {
	out, closed := setsBack(r, "make it again around its pods, as it was but for its update strategy")
	for p := range model.Each(r.Pods) {
		if p.Marks > 0 && !p.Deleting {
			out = append(out, Step{Verb: Unmark, Object: "pod " + p.Name, Name: p.Name, UID: p.UID, Words: "take stevedore's labels off it"})
		}
	}
	for d := range model.Each(r.Dependents) {
		if d.Marks > 0 {
			out = append(out, Step{Verb: Unmark, Object: d.String(), Name: d.Name, UID: d.UID, Dependent: d, Words: "take stevedore's labels and notes off it"})
		}
	}
	for _, name := range r.ourBudgets() {
		out = append(out, r.dropped(name, "delete stevedore's budget", false)...)
	}
	for _, name := range r.Written.Services {
		out = append(out, Step{Verb: DropService, Object: "Service " + name, Name: name, Words: "delete it, the daemon has made it"})
	}
	// A database that cannot be read may have the user still: nothing is forgotten before it has answered.
	if w := r.Saved.Written; w != nil && w.User && (r.Written.User || !r.Database.Known) {
		out = append(out, Step{Verb: DropUser, Object: "CrateDB", Words: "DROP USER system, which was made here"})
	}
	if w := r.Saved.Written; w != nil && w.Secret && r.Written.Secret {
		out = append(out, Step{Verb: DropSecret, Object: "Secret " + names.SystemSecret(r.Cluster), Name: names.SystemSecret(r.Cluster), Words: "delete it, it was made here"})
	}
	out = append(out, unguarding(r, closed)...)
	freeing, words := freeing(r)
	return append(append(out, freeing...), Step{Verb: Forget, Object: guardMap(r), Words: "delete what was kept" + words})
}

// freeing gives each StatefulSet its update strategy back, and says which one stays as it is.
func freeing(r *Reading) (out []Step, words string) {
	for _, name := range r.setNames() {
		s, strategy := r.set(name), kept(r.Saved.Sets[name]).UpdateStrategy.Type
		if strategy == OnDelete || s != nil && !s.Ours && s.Strategy != OnDelete {
			continue
		}
		step := Step{Verb: FreeUpdates, Object: "StatefulSet " + name, Name: name, Words: "give it its update strategy back: every pod is of its template, so none restarts"}
		if s != nil && !s.Ours {
			if pod := strange(r, s); pod != "" {
				words += fmt.Sprintf("; StatefulSet %s keeps OnDelete, because pod %s is of another template than its own: with %s its controller would restart it", name, pod, strategy)
				continue
			}
			step.UID, step.Version = s.UID, s.Version
		}
		out = append(out, step)
	}
	return out, words
}

// strange is a pod of a StatefulSet that is not of its template; "" for none.
func strange(r *Reading, s *Set) string {
	p := model.Find(r.Pods, func(p *Pod) bool {
		return p.Set == s.Name && (s.Written == nil || p.Revision != s.Written.Revision)
	})
	if p == nil {
		return ""
	}
	return p.Name
}

// keptSpec is what counts of a StatefulSet that was kept: the API server has given it each of these.
type keptSpec struct {
	Replicas       int
	UpdateStrategy struct{ Type string }
}

func kept(set json.RawMessage) keptSpec {
	var object struct{ Spec keptSpec }
	_ = json.Unmarshal(set, &object)
	return object.Spec
}

// refuseWritten are all reasons against the next write to such a cluster.
func refuseWritten(r *Reading, wish Wish, say func(string, string, ...any)) {
	if len(r.Missing) > 0 {
		say("rights-missing", "you lack rights that a later step needs: %s; get them first (docs/moving-in.md, rights), since nothing is done by half", strings.Join(r.Missing, ", "))
	}
	if wish.Finish {
		say("nothing-to-finish", "--finish deletes the CrateDB object of crate-operator, and there is none of this cluster")
	}
	switch {
	case wish.Back:
		writtenKeeps(r, say)
	case r.Saved == nil:
		writtenBegins(r, wish, say)
	default:
		intrudes(r, say)
	}
}

// writtenBegins asks what has to be so before the first write.
func writtenBegins(r *Reading, wish Wish, say func(string, string, ...any)) {
	for _, name := range r.Written.Missing {
		say("no-such-cluster", "namespace %s has no StatefulSet %s, which spec.operations.adopt of the definition names: write there the StatefulSet that runs", r.Namespace, name)
	}
	expected(r, wish, "push one", say)
	for s := range model.Each(r.Sets) {
		if s.Ours {
			say("looked-after", "StatefulSet %s is stevedore's already", s.Name)
			continue
		}
		writtenWhole(s, say)
		if pod := strange(r, s); pod != "" {
			say("update-under-way", "pod %s is of another template than StatefulSet %s has: an update is under way or was stopped half way; let it end first, or take the change of the StatefulSet back", pod, s.Name)
		}
	}
	podsReady(r, say)
	for _, budget := range r.Written.Over {
		say("another-budget", "the PodDisruptionBudget %s is over its pods, and the daemon makes one of its own: Kubernetes refuses each eviction of a pod that has two; delete this one", budget)
	}
	intrudes(r, say)
	writtenDatabase(r, say)
}

func writtenWhole(s *Set, say func(string, string, ...any)) {
	atRest(s, say)
	if len(s.Written.Wrong) > 0 {
		say("differs-for-ever", "StatefulSet %s differs from its definition in what can never be changed: %s; write into the definition what is live", s.Name, strings.Join(s.Written.Wrong, "; "))
	}
	if s.Written.AppliedBy != "" {
		say("applied-by-another", "%s still applies StatefulSet %s, and would put it back: first take the StatefulSet out of the source of that tool, without deleting it; then take the marks of that tool off the object (docs/moving-in.md, a StatefulSet that somebody wrote)", s.Written.AppliedBy, s.Name)
	}
	if s.Written.Deletes {
		say("claims-go-with-it", "the volume claims of StatefulSet %s are deleted with it or with its pods (persistentVolumeClaimRetentionPolicy): set both to Retain first", s.Name)
	}
}

// intrudes refuses where a user system is there who is not ours to set a password of.
func intrudes(r *Reading, say func(string, string, ...any)) {
	made := r.saved().Written != nil && r.saved().Written.User
	if r.Written.User && !r.Written.Login && !made {
		say("system-user-taken", "CrateDB has a user system, and %s: stevedore works as that user; put its password into the Secret %s, key password, or drop the user", secretWords(r), names.SystemSecret(r.Cluster))
	}
}

func secretWords(r *Reading) string {
	if r.Written.Secret {
		return "it does not log in with the Secret " + names.SystemSecret(r.Cluster)
	}
	return "nothing says its password"
}

// writtenDatabase asks for a cluster that is whole, and that is the one of the definition.
func writtenDatabase(r *Reading, say func(string, string, ...any)) {
	db, w := &r.Database, r.Written
	switch {
	case r.Suspended():
		say("suspended", "no pod runs: neither the cluster's id nor its health can be read; scale the StatefulSet up first")
	case !db.Known:
		say("database-unknown", "CrateDB cannot be read as its superuser crate (%s): whether the cluster is whole is not known", db.Why)
	case db.Health != "green":
		say("not-green", "the cluster is %s: let it become green first", db.Health)
	case w.ClusterName != w.Asked:
		say("differs-for-ever", "the cluster is called %q and the definition says %q (spec.cluster.name): nodes of two names never join", w.ClusterName, w.Asked)
	case !slices.Equal(slices.Sorted(slices.Values(db.Nodes)), slices.Sorted(slices.Values(w.NodeNames))):
		say("node-names", "the nodes are called %s, and would be called %s: settings that name nodes would not find them any more; write into spec.operations.adopt the nodePrefix that the nodes have", strings.Join(db.Nodes, ", "), strings.Join(w.NodeNames, ", "))
	case len(db.Left) > 0:
		say("settings-left", "cluster settings keep shards from where they belong (%s): nodes that come later stay empty, or shards stay unassigned; take them off (RESET GLOBAL)", settings(db.Left))
	}
}

// writtenKeeps asks what has to be so before a cluster goes back.
func writtenKeeps(r *Reading, say func(string, string, ...any)) {
	if r.Saved == nil {
		say("not-adopted", "nothing is kept of an adoption of this cluster: there is nothing to give back")
		return
	}
	if r.Adopted() && !r.Released && r.Expected == Acting {
		say("not-released", "the daemon still looks after the cluster: run `stevedore release %s/%s --wait`, and then this command again", r.Namespace, r.Cluster)
	}
	for _, name := range r.Written.Groups {
		say("groups-added", "StatefulSet %s is stevedore's and has nodes of the cluster: remove its group first", name)
	}
	for s := range model.Each(r.Sets) {
		if was := r.Saved.Sets[s.Name]; was != nil && s.Replicas != kept(was).Replicas {
			say("size-changed", "StatefulSet %s has %d pods and had %d: bring it to that number again first", s.Name, s.Replicas, kept(was).Replicas)
		}
		if s.Remade {
			say("pods-remade", "the pod template of StatefulSet %s is stevedore's since a restart: pods would have to restart to go back", s.Name)
		}
	}
	for p := range model.Each(r.Pods) {
		if p.Remade {
			say("pods-remade", "pod %s runs stevedore's template since a restart: it would have to restart to go back", p.Name)
		}
	}
}
