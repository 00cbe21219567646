package adopt

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Wish is what a person asks for.
type Wish struct {
	// Back gives the cluster back to crate-operator.
	Back bool
	// Finish takes the last step too: the CrateDB object is deleted, and there is no way back.
	Finish bool
	// Stopped is the person's word that crate-operator does not run, where that cannot be seen.
	Stopped bool
	// Reset takes off cluster settings that crate-operator has left behind.
	Reset bool
	// Unattended goes on although no daemon waits with a definition.
	Unattended bool
}

// Refusal is why nothing is written, with a name that the manual explains.
type Refusal struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Refusals are all reasons against the next write, none where there is no reason. Of a cluster
// that is taken over by half only what makes going on worse is one: going on is what repairs it.
func Refusals(r *Reading, wish Wish) []Refusal {
	var out []Refusal
	say := func(name, message string, args ...any) {
		out = append(out, Refusal{name, fmt.Sprintf(message, args...)})
	}
	if r.Written != nil {
		refuseWritten(r, wish, say)
		return out
	}
	if r.Saved == nil && len(r.Sets) == 0 {
		say("no-such-cluster", "namespace %s has no StatefulSet of a CrateDB cluster %s: check the name and the namespace (-n); for a StatefulSet that a person or a chart wrote, give --definition", r.Namespace, r.Cluster)
		return out
	}
	if r.Saved == nil && r.Object == nil && !wish.Back {
		if r.Expected == Acting {
			say("looked-after", "a daemon looks after this cluster already, and there is no CrateDB object: nothing is left to do")
			return out
		}
		say("no-crate-object", "there is no CrateDB object %s in namespace %s: only clusters that crate-operator looks after are adopted so; for a StatefulSet that a person or a chart wrote, give --definition", r.Cluster, r.Namespace)
		return out
	}
	for _, u := range r.Unread {
		if u.Needed {
			say("not-readable", "%s cannot be listed (%s): get the right to list them; one that has the CrateDB object as its owner would be deleted together with that object", u.Resource, u.Why)
		}
	}
	if len(r.Missing) > 0 {
		say("rights-missing", "you lack rights that a later step needs: %s; get them first (docs/moving-in.md, rights), since nothing is done by half", strings.Join(r.Missing, ", "))
	}
	operator(r, wish, say)
	if r.Object != nil && r.Object.AppliedBy != "" && !wish.Back {
		say("applied-by-another", "%s still applies the CrateDB object: first take the object out of the source of that tool, without pruning it; then take the marks of that tool off the object (docs/moving-in.md, the order of work)", r.Object.AppliedBy)
	}
	switch {
	case wish.Back:
		back(r, say)
	case r.Saved == nil:
		begin(r, wish, say)
	case r.Object != nil && r.Object.UID != r.Saved.UID:
		say("another-object", "the CrateDB object %s was recreated since the adoption began: if you know what happened, delete the ConfigMap stevedore-%s-adoption, and begin again", r.Cluster, r.Cluster)
	case r.Object != nil && !r.Saved.Adopted() && !r.away():
		busy(r.Object, say) // it was started again in between
	}
	return out
}

// busy refuses while crate-operator has begun something and not ended it: nothing would end it.
func busy(o *Object, say func(string, string, ...any)) {
	if doing := slices.Concat(o.Unfinished, o.Pending); len(doing) > 0 {
		say("operator-busy", "crate-operator was stopped in the middle of something (%s): start it, let it end, and stop it again", strings.Join(doing, ", "))
	}
	if o.Restores != "" {
		say("operator-busy", "the snapshot %s is being restored (spec.cluster.restoreSnapshot): let it end first", o.Restores)
	}
}

// operator refuses while crate-operator runs, or may run: two controllers would revert each
// other's changes, and its hooks give back allocation locks that are not its own.
func operator(r *Reading, wish Wish, say func(string, string, ...any)) {
	switch {
	case len(r.Operator.Running) > 0:
		say("operator-running", "crate-operator runs (%s): scale its Deployment to 0 first, and never uninstall it before the last step: helm uninstall deletes the CRD, and with it every cluster and its volumes", strings.Join(r.Operator.Running, ", "))
	case !r.Operator.Known && !wish.Stopped:
		say("operator-unknown", "whether crate-operator runs cannot be seen (%s): stop it, and say so with --operator-stopped", r.Operator.Why)
	}
}

// begin asks what has to be so before the first write.
func begin(r *Reading, wish Wish, say func(string, string, ...any)) {
	o := r.Object
	if o.Deleting {
		say("being-deleted", "the CrateDB object is being deleted, and only its finalizer keeps the cluster: leave the finalizer on it (docs/moving-in.md, if somebody deletes the CrateDB object)")
	}
	busy(o, say)
	expected(r, wish, "push one (`stevedore import` writes it) with spec.operations.adoption: always", say)
	compared(&r.Compared, say)
	for s := range model.Each(r.Sets) {
		whole(s, say)
	}
	for d := range model.Each(r.Dependents) {
		if d.Deleting && d.Owned {
			say("being-deleted", "%s is being deleted", d)
		}
	}
	podsReady(r, say)
	database(r, wish, say)
}

func podsReady(r *Reading, say func(string, string, ...any)) {
	for p := range model.Each(r.Pods) {
		if !p.Ready || p.Deleting {
			say("not-whole", "pod %s is not ready, or is being deleted", p.Name)
		}
	}
}

// expected refuses while no daemon waits with a definition that it would carry out; push says how one is made.
func expected(r *Reading, wish Wish, push string, say func(string, string, ...any)) {
	if r.Expected == Nobody && !wish.Unattended {
		say("no-definition", "no daemon has a definition of this cluster, so nobody would look after it: %s, wait until `stevedore status` shows it as refused (object-not-ours), or give --unattended", push)
	}
	for _, objection := range r.Objections {
		say("definition-refused", "the daemon refuses the definition, and would after the adoption: %s", objection)
	}
	if r.Expected == Acting {
		say("looked-after", "a daemon looks after this cluster already")
	}
}

// compared refuses a definition that what runs can never become: the daemon would refuse it, and
// nobody would look after the cluster.
func compared(c *Comparison, say func(string, string, ...any)) {
	const few = 5
	switch {
	case c.Definition == "":
	case len(c.Never) > 0:
		say("differs-for-ever", "%s asks for what can never be changed in what runs, and the daemon would refuse it after the adoption: %s; write what is live, as `stevedore import` does",
			c.Definition, strings.Join(c.Never[:min(few, len(c.Never))], "; "))
	case c.Unknown != "":
		say("not-compared", "what %s changes in what runs is not known: %s", c.Definition, c.Unknown)
	}
}

// atRest refuses a StatefulSet that is going, whose pods are not all ready, or whose last change its
// controller has not observed.
func atRest(s *Set, say func(string, string, ...any)) {
	switch {
	case s.Deleting:
		say("being-deleted", "StatefulSet %s is being deleted", s.Name)
	case s.Ready != s.Replicas || s.Current != s.Replicas:
		say("not-whole", "StatefulSet %s has %d ready pods of %d", s.Name, s.Ready, s.Replicas)
	case !s.Observed:
		say("not-whole", "the controller of StatefulSet %s has not observed its last change", s.Name)
	}
}

func whole(s *Set, say func(string, string, ...any)) {
	atRest(s, say)
	if s.Strategy != OnDelete {
		say("rolling-update", "StatefulSet %s has the update strategy %s, crate-operator's have OnDelete: its pods would be restarted by their controller", s.Name, s.Strategy)
	}
	if s.Routing != "" {
		say("operator-busy", "a hook of crate-operator's holds the allocation (label dc-util-routing-owner on StatefulSet %s): wait until the restart has ended", s.Name)
	}
}

// database asks for a cluster that is whole. Of a suspended one nothing can be asked.
func database(r *Reading, wish Wish, say func(string, string, ...any)) {
	db := &r.Database
	nodes := 0
	for i := range r.Sets {
		nodes += r.Sets[i].Replicas
	}
	switch {
	case r.Suspended():
		say("suspended", "the cluster is suspended: its id and its health cannot be read. Start its nodes while crate-operator stays stopped (%s; `stevedore import` says how many there were), wait until it is green, and adopt it then: where the definition says replicas: 0, the daemon suspends it again",
			strings.Join(model.Texts(r.Sets, func(s *Set) string { // its dedicated masters first
				return fmt.Sprintf("`kubectl -n %s scale statefulset %s --replicas=N`", r.Namespace, s.Name)
			}), ", "))
	case !db.Known:
		say("database-unknown", "CrateDB cannot be read (%s): whether the cluster is whole is not known", db.Why)
	case db.Health != "green":
		say("not-green", "the cluster is %s: let it become green first", db.Health)
	case len(db.Nodes) != nodes:
		say("not-whole", "%d nodes have joined and the StatefulSets have %d", len(db.Nodes), nodes)
	case len(db.Left) > 0 && !wish.Reset:
		say("settings-left", "crate-operator has left cluster settings behind (%s): nodes that come later stay empty, or shards stay unassigned; give --reset-settings to take them off", settings(db.Left))
	}
}

func settings(all []Setting) string {
	return strings.Join(model.Texts(all, func(s *Setting) string { return fmt.Sprintf("%s = '%s'", s.Name, s.Value) }), ", ")
}

// back asks what has to be so before a cluster goes back.
func back(r *Reading, say func(string, string, ...any)) {
	switch {
	case r.Saved == nil:
		say("not-adopted", "nothing is kept of an adoption of this cluster: there is nothing to give back")
		return
	case r.Object == nil:
		say("last-step-taken", "the CrateDB object is gone: the last step was taken, and there is no way back")
	case r.Object.UID != r.Saved.UID:
		say("another-object", "the CrateDB object %s was recreated since the adoption: it is not the one that the objects belonged to", r.Cluster)
	case r.Object.Deleting:
		say("last-step-taken", "the CrateDB object is being deleted: the last step was taken, and there is no way back")
	}
	if r.Adopted() && !r.Released && r.Expected == Acting {
		say("not-released", "the daemon still looks after the cluster: run `stevedore release %s/%s --wait`, and then this command again", r.Namespace, r.Cluster)
	}
	for s := range model.Each(r.Sets) {
		if s.Remade {
			say("pods-remade", "the pod template of StatefulSet %s is stevedore's since a restart: crate-operator would not find its pods", s.Name)
		}
	}
	for p := range model.Each(r.Pods) {
		if !p.Theirs {
			say("pods-remade", "pod %s has not crate-operator's label: it was restarted on stevedore's template, and crate-operator would not find it", p.Name)
		}
	}
}
