package pass

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// SayWhose writes on claims of nodes that are to leave and have never joined that they are
// this cluster's: the record of the grow that made them was lost before they had joined. A grow
// begins on no claim of anybody else's.
func (t *Pass) SayWhose(s model.RecordedSet) {
	if !t.Contact() || t.Record.ClusterID == "" {
		return
	}
	for i := range t.Observed.Claims {
		c := &t.Observed.Claims[i]
		leaves := c.Set == s.Name && c.Ordinal >= view.Target(&t.View, s.Name) && c.Ordinal < s.Replicas
		if !leaves || c.ClusterID != "" || c.Version != "" {
			continue
		}
		if p := t.Pod(c.Set, c.Ordinal); p != nil && view.NeverJoined(&t.View, p) {
			t.Harmless(model.Action{Kind: model.ActionAnnotateClaim, Claim: c.Name, ClusterID: t.Record.ClusterID})
		}
	}
}
