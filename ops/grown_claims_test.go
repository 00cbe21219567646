package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// A grow to five nodes is taken back before their claims have said whose they are.
func TestAGrowThatIsTakenBackLeavesNoClaimWithoutAnOwner(t *testing.T) {
	newClaim := func(ordinal int, id string) model.Claim {
		return model.Claim{Name: "data0-" + hot + "-" + string(rune('0'+ordinal)), Set: hot, Ordinal: ordinal, ClusterID: id}
	}
	for _, c := range []struct {
		name    string
		live    int
		claims  []model.Claim
		after   time.Duration
		waits   bool
		written []string
	}{
		{"nothing was written yet", 3, nil, time.Second, false, nil},
		{"the claims are not seen yet", 5, nil, time.Second, true, nil},
		{"one has no owner, the other is not seen yet", 5, []model.Claim{newClaim(3, "")}, time.Second, true, []string{"data0-" + hot + "-3"}},
		{"one has said so, the other has not", 5, []model.Claim{newClaim(3, "id-1"), newClaim(4, "")}, time.Second, true, []string{"data0-" + hot + "-4"}},
		{"both have said so", 5, []model.Claim{newClaim(3, "id-1"), newClaim(4, "id-1")}, time.Second, false, nil},
		{"a claim is never made", 5, nil, time.Hour, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Revision, s.d.Sets[0].Replicas = "rev-5", 5
			s.r = s.decide().Record
			require.Equal(t, model.OperationGrow, s.r.Operation.Kind)
			s.d.Revision, s.d.Sets[0].Replicas = "rev-3", 3
			s.o.Sets = slices.Clone(s.o.Sets)
			s.o.Sets[0].Replicas = c.live
			s.o.Claims = append(s.o.Claims, c.claims...)
			s.o.At = s.o.At.Add(c.after)
			s.o.Database.At = s.o.At
			d := s.decide()
			assert.Equal(t, c.waits, d.Record.Operation != nil)
			var written []string
			for _, a := range d.Harmless {
				if a.Kind == model.ActionAnnotateClaim {
					written = append(written, a.Claim)
					assert.Equal(t, "id-1", a.ClusterID)
				}
			}
			assert.Equal(t, c.written, written)
		})
	}
}

// The record that knew of the grow is lost: whose the claim is of a node that never joined
// is said when the node is to leave again, else it would be waited for.
func TestAClaimWhoseGrowIsForgottenSaysWhoseItIsBeforeItsNodeLeaves(t *testing.T) {
	claim := "data0-" + hot + "-3"
	further := func(after time.Duration) func(*situation, *model.Pod, *model.Claim) {
		return func(_ *situation, p *model.Pod, c *model.Claim) {
			p.Ready, p.Volumes = true, "data0"
			c.Template, c.Made = "data1", p.Created.Add(after)
		}
	}
	for _, c := range []struct {
		name    string
		change  func(*situation, *model.Pod, *model.Claim)
		written []string
	}{
		{"its pod has hung for an hour", func(*situation, *model.Pod, *model.Claim) {}, []string{claim}},
		{"its pod has just been made", func(s *situation, p *model.Pod, _ *model.Claim) { p.Created = s.o.At }, nil},
		{"its pod is ready", func(_ *situation, p *model.Pod, _ *model.Claim) { p.Ready = true }, nil},
		{"its node is a member", func(s *situation, p *model.Pod, _ *model.Claim) {
			s.o.Database.Nodes = append(slices.Clone(s.o.Database.Nodes), model.Node{Name: p.NodeName, ID: "n-3"})
		}, nil},
		{"it is another cluster's", func(_ *situation, _ *model.Pod, c *model.Claim) { c.ClusterID = "id-2" }, nil},
		{"a version has written to it", func(_ *situation, _ *model.Pod, c *model.Claim) { c.Version = "6.4.3" }, nil},
		{"it is of a further disk, and was made for a pod that has not restarted", further(time.Minute), []string{claim}},
		{"it is of a further disk, and was there before the pod", further(-time.Minute), nil},
		{"its pod has it", func(s *situation, p *model.Pod, c *model.Claim) {
			further(time.Minute)(s, p, c)
			p.Volumes = "data0,data1"
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Sets, s.o.Pods = slices.Clone(s.o.Sets), slices.Clone(s.o.Pods)
			s.o.Sets[0].Replicas, s.r.Sets[0].Replicas = 4, 4
			s.later(time.Hour)
			s.o.Database.At = s.o.At
			s.o.Pods = append(s.o.Pods, model.Pod{Name: hot + "-3", NodeName: "data-hot-3", Set: hot, Ordinal: 3, UID: "u3", Template: s.o.Pods[0].Template, Created: s.o.At.Add(-time.Hour), Started: s.o.At.Add(-time.Hour)})
			s.o.Claims = append(slices.Clone(s.o.Claims), model.Claim{Name: claim, Set: hot, Ordinal: 3, Phase: "Bound"})
			c.change(s, &s.o.Pods[len(s.o.Pods)-1], &s.o.Claims[len(s.o.Claims)-1])
			var written []string
			for _, a := range s.decide().Harmless {
				if a.Kind == model.ActionAnnotateClaim {
					written = append(written, a.Claim)
					assert.Equal(t, "id-1", a.ClusterID)
				}
			}
			assert.Equal(t, c.written, written)
		})
	}
}

// Seed 6300015222: a node came with a grow and left at once, and the watch of claims showed nothing of its claim. Nobody could
// say later whose that is, and the group grew no more.
func TestAClaimThatIsNotSeenSaysWhoseItIsBeforeItsNodeLeaves(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*situation, *model.Pod)
		written []string
	}{
		{"its node leaves", func(*situation, *model.Pod) {}, []string{"data0-" + hot + "-2", "data1-" + hot + "-2"}},
		{"its node does not use one of them", func(_ *situation, p *model.Pod) { p.Unused = "data1" }, []string{"data0-" + hot + "-2"}},
		{"one is seen", func(s *situation, p *model.Pod) {
			s.o.Claims = append(s.o.Claims, model.Claim{Name: "data1-" + p.Name, Set: hot, Ordinal: 2, ClusterID: "id-1", Version: s.d.Version})
		}, []string{"data0-" + hot + "-2"}},
		{"its node stays", func(s *situation, _ *model.Pod) { s.d.Sets[0].Replicas = 3 }, nil},
		{"its pod is not ready, and its node is a member", func(_ *situation, p *model.Pod) { p.Ready = false }, []string{"data0-" + hot + "-2", "data1-" + hot + "-2"}},
		{"its node is no member", func(s *situation, p *model.Pod) { s.away(p.Name) }, nil},
		{"its node is another cluster's", func(s *situation, _ *model.Pod) { s.o.Database.Pods[2].ClusterID = "id-2" }, nil},
		{"nobody knows what it mounts", func(_ *situation, p *model.Pod) { p.Volumes = "" }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Pods, s.o.Database.Pods, s.d.Sets = slices.Clone(s.o.Pods), slices.Clone(s.o.Database.Pods), slices.Clone(s.d.Sets)
			s.o.Claims = slices.DeleteFunc(slices.Clone(s.o.Claims), func(c model.Claim) bool { return c.Set == hot && c.Ordinal == 2 })
			s.d.Sets[0].Replicas, s.d.Revision = 2, "rev-2"
			p := s.podOf(hot + "-2")
			p.Volumes = "data0,data1"
			c.change(s, p)
			var written []string
			for _, a := range s.decide().Harmless {
				if a.Kind == model.ActionAnnotateClaim {
					written = append(written, a.Claim)
					assert.Equal(t, []string{"id-1", s.d.Version}, []string{a.ClusterID, a.Version})
				}
			}
			assert.Equal(t, c.written, written)
		})
	}
}

// A member whose pod is never ready says whose its claim is as any other: it may leave without ever being ready.
func TestAClaimSaysWhoseItIsOnceItsNodeIsAMember(t *testing.T) {
	claim := "data0-" + hot + "-2"
	for _, c := range []struct {
		name    string
		change  func(*situation, *model.Pod)
		written []string
	}{
		{"its pod is ready", func(*situation, *model.Pod) {}, []string{claim}},
		{"its pod is not ready", func(_ *situation, p *model.Pod) { p.Ready = false }, []string{claim}},
		{"its node is no member, and its pod is not ready", func(s *situation, p *model.Pod) {
			p.Ready = false
			s.o.Database.Nodes = slices.Clone(s.o.Database.Nodes)[:2]
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Pods = slices.Clone(s.o.Pods)
			s.o.Claims = slices.DeleteFunc(slices.Clone(s.o.Claims), func(c model.Claim) bool { return c.Set == hot && c.Ordinal == 2 })
			s.o.Claims = append(s.o.Claims, model.Claim{Name: claim, Set: hot, Ordinal: 2, Phase: "Bound"})
			p := s.podOf(hot + "-2")
			p.Started = s.o.Database.At.Add(-time.Minute)
			c.change(s, p)
			var written []string
			for _, a := range s.decide().Harmless {
				if a.Kind == model.ActionAnnotateClaim {
					written = append(written, a.Claim)
				}
			}
			assert.Equal(t, c.written, written)
		})
	}
}
