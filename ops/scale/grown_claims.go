package scale

import (
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// claimLimit bounds how long a grow that is taken back waits for the claims that
// it has brought about; a claim that is never made holds nothing up.
const claimLimit = 2 * time.Minute

// claimsUnmarked writes the id of the cluster on the claims of nodes that came with a grow and
// leave before they have answered; true while a claim lacks it. Without it the next grow would
// be refused for want of an owner. A claim that was there before the grow began had to carry
// it, so no other cluster's is among them.
func claimsUnmarked(t *pass.Pass, op *model.Operation) bool {
	unmarked := false
	for _, to := range op.To {
		first := 0
		if from := view.Recorded(op.From, to.Name); from != nil {
			first = from.Replicas
		}
		for ordinal := first; ordinal < min(to.Replicas, aim.LiveReplicas(&t.View, to.Name)); ordinal++ {
			seen := false
			for c := range view.ClaimsOf(&t.View, to.Name, ordinal) {
				seen = true
				if c.ClusterID != "" || t.Answer(view.PodName(to.Name, ordinal)) != nil {
					continue // it has said so, or its node is asked
				}
				unmarked = true
				t.Harmless(model.Action{Kind: model.ActionAnnotateClaim, Claim: c.Name, ClusterID: t.Record.ClusterID})
			}
			unmarked = unmarked || !seen && t.Elapsed(op.Started) < claimLimit
		}
	}
	return unmarked
}

// newOnTrial waits where a new group would get the desired template while another set is on
// trial.
func newOnTrial(t *pass.Pass) bool {
	for _, w := range t.Desired.Sets {
		if view.Recorded(t.Record.Sets, w.Name) != nil {
			continue
		}
		for _, s := range t.Record.Sets {
			if s.Replicas == 0 || !aim.TrialPods(&t.View, s.Name) {
				continue
			}
			c := t.Nodes([]model.RecordedSet{s})
			t.Wait(gates.OtherPodDown(c.NotJoined, c.NotJoinedWhy))
			return true
		}
	}
	return false
}
