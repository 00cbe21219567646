package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
)

// A grow to five nodes is taken back before their claims have said whose they are.
func TestAGrowThatIsTakenBackLeavesNoClaimWithoutAnOwner(t *testing.T) {
	newClaim := func(ordinal int, id string) ops.Claim {
		return ops.Claim{Name: "data0-" + hot + "-" + string(rune('0'+ordinal)), Set: hot, Ordinal: ordinal, ClusterID: id}
	}
	for _, c := range []struct {
		name    string
		live    int
		claims  []ops.Claim
		after   time.Duration
		waits   bool
		written []string
	}{
		{"nothing was written yet", 3, nil, time.Second, false, nil},
		{"the claims are not seen yet", 5, nil, time.Second, true, nil},
		{"one has no owner, the other is not seen yet", 5, []ops.Claim{newClaim(3, "")}, time.Second, true, []string{"data0-" + hot + "-3"}},
		{"one has said so, the other has not", 5, []ops.Claim{newClaim(3, "id-1"), newClaim(4, "")}, time.Second, true, []string{"data0-" + hot + "-4"}},
		{"both have said so", 5, []ops.Claim{newClaim(3, "id-1"), newClaim(4, "id-1")}, time.Second, false, nil},
		{"a claim is never made", 5, nil, time.Hour, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Revision, s.d.Sets[0].Replicas = "rev-5", 5
			s.r = s.decide().Record
			require.Equal(t, ops.OperationGrow, s.r.Operation.Kind)
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
				if a.Kind == ops.ActionAnnotateClaim {
					written = append(written, a.Claim)
					assert.Equal(t, "id-1", a.ClusterID)
				}
			}
			assert.Equal(t, c.written, written)
		})
	}
}
