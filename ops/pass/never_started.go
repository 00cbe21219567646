package pass

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// MarkClaims writes the id of the cluster on claims of nodes that are to leave and have never
// joined: the record of the grow that made them was lost before they joined, or it was reverted
// before they started. They are this cluster's, for a grow does not begin on another's claims.
// It does so on a claim of a further disk too that was made for a pod which did not restart for it.
func (t *Pass) MarkClaims(s model.RecordedSet) {
	if !t.Contact() || t.Record.ClusterID == "" {
		return
	}
	for c := range model.Each(t.Observed.Claims) {
		leaves := c.Set == s.Name && c.Ordinal >= view.Target(&t.View, s.Name) && c.Ordinal < s.Replicas
		if !leaves || c.ClusterID != "" || c.Version != "" {
			continue
		}
		p := t.Pod(c.Set, c.Ordinal)
		if p == nil {
			continue
		}
		further := !p.Has(c.Template) && c.Made.After(p.Created)
		if further || view.NeverJoined(&t.View, p) || view.NeverStarted(&t.View, p) {
			t.Harmless(model.Action{Kind: model.ActionAnnotateClaim, Claim: c.Name, ClusterID: t.Record.ClusterID})
		}
	}
}
