package ops

import (
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// claimLimit bounds how long a grow that is taken back waits for the claims that
// it has brought about; a claim that is never made holds nothing up.
const claimLimit = 2 * time.Minute

// claimsUnsaid writes on the claims of nodes that came with a grow, and that leave
// before they have answered, that they are this cluster's; it is true while one has
// not said so. A claim that was there before the grow began had to say it, so
// nobody else's is among them. Without it the next grow would be refused for want
// of an owner.
func (t *turn) claimsUnsaid(op *Operation) bool {
	unsaid := false
	for _, to := range op.To {
		from, live := recorded(op.From, to.Name), t.live(to.Name)
		if live == nil || t.r.ClusterID == "" {
			continue
		}
		first := 0
		if from != nil {
			first = from.Replicas
		}
		for ordinal := first; ordinal < min(to.Replicas, live.Replicas); ordinal++ {
			seen := false
			for i := range t.o.Claims {
				c := &t.o.Claims[i]
				if c.Set != to.Name || c.Ordinal != ordinal {
					continue
				}
				seen = true
				if c.ClusterID != "" || t.answer(podName(to.Name, ordinal)) != nil {
					continue // it has said so, or its node is asked
				}
				unsaid = true
				t.harmless(Action{Kind: ActionAnnotateClaim, Claim: c.Name, ClusterID: t.r.ClusterID})
			}
			unsaid = unsaid || !seen && t.elapsed(op.Started) < claimLimit
		}
	}
	return unsaid
}

// newOnUnproven: a new group would be made on the wanted template, and another set
// has pods on it of which none has joined yet.
func (t *turn) newOnUnproven() bool {
	for _, w := range t.d.Sets {
		if recorded(t.r.Sets, w.Name) != nil {
			continue
		}
		for _, s := range t.r.Sets {
			if s.Replicas == 0 || !t.unprovenPods(s.Name) {
				continue
			}
			c := t.nodes([]RecordedSet{s})
			t.wait(gates.OtherPodDown(c.notJoined, c.notJoinedWhy))
			return true
		}
	}
	return false
}
