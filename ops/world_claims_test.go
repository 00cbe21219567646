package ops_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// claimDeleted has somebody delete the claim of a pod of the group hot; agreed: and say that its
// volume may go.
func claimDeleted(ordinal int, agreed bool) func(*situation) {
	return func(s *situation) {
		s.o.Claims = append(slices.Clone(s.o.Claims), model.Claim{
			Name: fmt.Sprintf("data0-%s-%d", hot, ordinal), Set: hot, Ordinal: ordinal, Phase: "Bound", Template: "data0",
			ClusterID: "id-1", Terminating: true, Replace: agreed,
		})
	}
}

// claimOf is that of a pod of the group warm, of which the user `system` sees all tables.
func claimOf(pod string, agreed bool, change func(*situation)) func(*situation) {
	return func(s *situation) {
		s.o.Claims = append(slices.Clone(s.o.Claims), model.Claim{
			Name: "data0-" + pod, Set: warm, Phase: "Bound", Template: "data0", ClusterID: s.r.ClusterID, Terminating: true, Replace: agreed,
		})
		if change != nil {
			change(s)
		}
	}
}

// deletesClaim has somebody delete the claim of a pod.
func (w *world) deletesClaim(pod string) {
	w.changesClaim(pod, func(c *model.Claim) { c.Terminating = true })
}

// agrees: a person says that the volume of a pod may go.
func (w *world) agrees(pod string) { w.changesClaim(pod, func(c *model.Claim) { c.Replace = true }) }

func (w *world) changesClaim(pod string, change func(*model.Claim)) {
	i := slices.IndexFunc(w.claims, func(c model.Claim) bool { return c.Of(pod) })
	require.GreaterOrEqual(w.t, i, 0, pod)
	change(&w.claims[i])
}

// takesClaims: with the pod goes what somebody has deleted, and the next one gets an empty volume.
func (w *world) takesClaims(pod string) {
	for i := range w.claims {
		if c := &w.claims[i]; c.Of(pod) && c.Terminating {
			require.True(w.t, c.Replace, "D: %s goes with its volume, and nobody has agreed", pod)
			was := *c
			*c = w.newClaim(was.Name, was.Set, was.Ordinal)
			c.UID += "-again"
		}
	}
}

// DeletedClaims are those that somebody has deleted.
func (w *world) DeletedClaims(context.Context) ([]model.Claim, error) {
	return slices.DeleteFunc(slices.Clone(w.claims), func(c model.Claim) bool { return !c.Terminating }), nil
}
