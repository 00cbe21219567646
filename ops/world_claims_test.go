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
			ClusterID: "id-1", Terminating: true, Replace: agreed, Deleted: s.o.At,
		})
	}
}

// claimOf is that of a pod of the group warm, of which the user `system` sees all tables.
func claimOf(pod string, agreed bool, change func(*situation)) func(*situation) {
	return func(s *situation) {
		s.o.Claims = append(slices.Clone(s.o.Claims), model.Claim{
			Name: "data0-" + pod, Set: warm, Phase: "Bound", Template: "data0", ClusterID: s.r.ClusterID, Terminating: true, Replace: agreed, Deleted: s.o.At,
		})
		if change != nil {
			change(s)
		}
	}
}

// deletesClaim has somebody delete the claim of a pod.
func (w *world) deletesClaim(pod string) {
	w.changesClaim(pod, func(c *model.Claim) { c.Terminating, c.Deleted = true, w.now })
}

// agrees: a person says that the volume of a pod may go.
func (w *world) agrees(pod string) { w.changesClaim(pod, func(c *model.Claim) { c.Replace = true }) }

func (w *world) changesClaim(pod string, change func(*model.Claim)) {
	i := slices.IndexFunc(w.Claims, func(c model.Claim) bool { return c.Of(pod) })
	require.GreaterOrEqual(w.t, i, 0, pod)
	change(&w.Claims[i])
}

// takesClaims: with the pod goes what somebody has deleted, and the next one gets an empty volume.
func (w *world) takesClaims(pod string) {
	for _, c := range w.Claims {
		require.True(w.t, c.Replace || !c.Terminating || !c.Of(pod), "D: %s goes with its volume, and nobody has agreed", pod)
	}
	w.RenewClaims(pod, w.now, func(c *model.Claim, _ int64) { w.emptied(c.Set + "/" + lastOf(pod)) })
}

// DeletedClaims are those that somebody has deleted.
func (w *world) DeletedClaims(context.Context) ([]model.Claim, error) {
	return slices.DeleteFunc(slices.Clone(w.Claims), func(c model.Claim) bool { return !c.Terminating }), nil
}

// emptied: the node of a pod comes on an empty volume, with another id and without its shards.
func (w *world) emptied(node string) {
	id := w.nodeID(node)
	for _, s := range w.shards {
		elsewhere := slices.ContainsFunc(w.shards, func(o model.Shard) bool { return o.Table == s.Table && o.ID == s.ID && o.Node != id })
		require.True(w.t, s.Node != id || elsewhere, "A: %s goes with the only copy of a shard of %s", node, s.Table)
	}
	if !slices.Contains(w.excluded(), id) {
		w.undrained++
	}
	w.shards = slices.DeleteFunc(w.shards, func(s model.Shard) bool { return s.Node == id })
	if w.renamed == nil {
		w.renamed = map[string]string{}
	}
	w.renamed[node] = node + "#" + w.next()
}

// DeleteClaim asserts that the node was drained.
func (w *world) DeleteClaim(_ context.Context, name, uid string) error {
	i := slices.IndexFunc(w.Claims, func(c model.Claim) bool { return c.Name == name && c.UID == uid })
	if i < 0 {
		return nil
	}
	c := &w.Claims[i]
	id := w.nodeID(fmt.Sprintf("%s/%d", c.Set, c.Ordinal))
	if !c.Terminating {
		w.write(func() {
			require.False(w.t, slices.ContainsFunc(w.shards, func(s model.Shard) bool { return s.Node == id }), "A: %s has shards", id)
			require.Contains(w.t, w.excluded(), id)
			c.Terminating, c.Deleted = true, w.now
		})
	}
	w.write(func() { c.Replace = true })
	return nil
}
