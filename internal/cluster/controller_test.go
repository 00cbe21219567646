package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/cluster"
)

// Each round is as pkg/controller/statefulset of Kubernetes 1.36 writes it for these pods. A pod is said by letters: r ready,
// u not ready, p Pending, f Failed, "-" none; then t terminating, o of the old revision, x of another StatefulSet, n of nobody,
// l without a volume, c with a claim that is being deleted.
func TestARoundOfTheStatefulSetController(t *testing.T) {
	all := cluster.StatefulSet{}
	ordered, rolling, both := all, all, all
	ordered.OrderedReady, rolling.RollingUpdate, both.OrderedReady, both.RollingUpdate = true, true, true, true
	partition, stale, terminating := rolling, all, all
	partition.Partition, stale.Stale, terminating.Terminating = 2, true, true
	for _, c := range []struct {
		name     string
		set      cluster.StatefulSet
		replicas int
		pods     string
		steps    string
	}{
		{"all pods at once", all, 3, "", "make 0, make 1, make 2"},
		{"one after the other", ordered, 3, "r u", ""},
		{"the next one once those before are ready", ordered, 3, "r r", "make 2"},
		{"a terminating pod is made again once it is gone", all, 2, "r rt", ""},
		{"one that has ended is deleted first", all, 2, "f r", "delete 0"},
		{"the others end at once, whatever they are", all, 1, "r u rt r", "delete 1, delete 3"},
		{"one after the other, from the last one", ordered, 1, "r r r", "delete 2"},
		{"which is to be ready", ordered, 1, "r u u", ""},
		{"or the lowest that is not", ordered, 1, "r r u", "delete 2"},
		{"and none while another goes", ordered, 1, "r r rt", ""},
		{"OnDelete lets pods of an old revision be", all, 2, "ro ro", ""},
		{"RollingUpdate deletes the last of them", rolling, 3, "ro ro r", "delete 1"},
		{"once those after it are ready", rolling, 3, "ro ro u", ""},
		{"below the partition they stay", partition, 3, "ro ro r", ""},
		{"and are made from the old revision", partition, 3, "", "make 0 of before, make 1 of before, make 2"},
		{"no update before all are ready", both, 3, "u ro r", ""},
		{"pods of nobody are adopted", all, 2, "rn r", "adopt 0"},
		{"but for terminating ones, whose name is taken", all, 2, "rtn -", "claims 0"},
		{"and a pod of another StatefulSet has its name too", all, 4, "r rx r -", "claims 1"},
		{"the API server has the StatefulSet no more, and pods to adopt", stale, 2, "rn -", ""},
		{"the same without such pods", stale, 2, "r -", "make 1"},
		{"one that is being deleted", terminating, 3, "rn -", ""},
		{"a pod lacks a volume, which nobody can give it", all, 5, "r rl - - -", "claims 1, make 2"},
		{"and none ends then", all, 1, "rl r", "claims 0"},
		{"a claim is being deleted: the pod is not made", all, 2, "-c -", "claims 0"},
		{"a Pending pod gets its claims", all, 2, "p -", "claims 0, make 1"},
		{"but not that which is being deleted", all, 3, "pc - -", "claims 0"},
		{"whose pod runs already", all, 2, "rc -", "make 1"},
	} {
		var pods []cluster.Pod
		for _, said := range strings.Fields(c.pods) {
			has := func(letters string) bool { return strings.ContainsAny(said, letters) }
			p := cluster.Pod{
				Exists: !has("-"), Owner: "own", Revision: "new", Ready: has("r"), Pending: has("p"), Ended: has("f"),
				Terminating: has("t"), Lacks: has("l"), ClaimDeleted: has("c"),
			}
			if has("x") {
				p.Owner = "other"
			}
			if has("n") {
				p.Owner = ""
			}
			if has("o") {
				p.Revision = "old"
			}
			pods = append(pods, p)
		}
		c.set.UID, c.set.Update, c.set.Replicas = "own", "new", c.replicas
		var steps []string
		for _, s := range c.set.Next(pods, nil) {
			words := map[cluster.Write]string{cluster.AdoptPod: "adopt", cluster.MakeClaims: "claims", cluster.MakePod: "make", cluster.DeletePod: "delete"}
			step := fmt.Sprint(words[s.Write], " ", s.Ordinal)
			if s.Before {
				step += " of before"
			}
			steps = append(steps, step)
		}
		assert.Equal(t, c.steps, strings.Join(steps, ", "), c.name)
	}
}

// A pod that terminates counts, and as ready while it is: readyReplicas asks no deletion timestamp.
func TestTheStatusCountsThePodsOfAStatefulSet(t *testing.T) {
	s := cluster.StatefulSet{UID: "own"}
	current, ready := s.Status([]cluster.Pod{{}, {Exists: true, Owner: "own", Ready: true, Terminating: true}, {Exists: true, Owner: "own"}, {Exists: true, Owner: "other", Ready: true}})
	assert.Equal(t, []int{2, 1}, []int{current, ready})
}
