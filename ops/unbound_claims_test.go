package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// A grow and another change in one commit: each new pod is unschedulable for a moment,
// and the change went in with the grow, as if the old template did not run.
func TestANewPodWhoseVolumesAreNotBoundYetIsNotStuck(t *testing.T) {
	const claims = "0/12 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
	for _, c := range []struct {
		name, waiting, message string
		age                    time.Duration
		corrected              bool
	}{
		{"its claims are not bound yet", "Unschedulable", claims, time.Second, false},
		{"the scheduler has not seen them yet", "Unschedulable", `0/12 nodes are available: persistentvolumeclaim "data0-crate-data-warm-c-0" not found.`, time.Second, false},
		{"they are not bound for longer than a pod has", "Unschedulable", claims, time.Hour, true},
		{"no node has room for it", "Unschedulable", "0/12 nodes are available: 12 Insufficient memory.", time.Second, true},
		{"its process does not stay", "CrashLoopBackOff", claims, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.d.Revision = "rev-next"
			s.pending(model.ChangeRestart)
			p := s.podOf(warm + "-0")
			p.Ready, p.Waiting, p.Message, p.Created = false, c.waiting, c.message, s.o.At.Add(-c.age)
			if c.waiting == "Unschedulable" {
				p.Started = time.Time{}
			}
			s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == p.NodeName })
			from, to := slices.Clone(s.r.Sets), slices.Clone(s.r.Sets)
			from[1].Replicas = 0
			s.r.Operation = &model.Operation{Kind: model.OperationGrow, Step: model.StepReplicas, Started: s.o.At, From: from, To: to}
			s.r = s.decide().Record
			want := model.TemplateKept
			if c.corrected {
				want = model.TemplateDesired
			}
			assert.Equal(t, want, effective(t, s.decide(), warm).Template)
		})
	}
}
