package ops

import (
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

// gatewayWaits is a pod that may be master and that waits, after a full outage, for
// more data nodes than there are: the cluster was made smaller, and it went down before
// its masters were restarted for that. It never recovers by itself. Every pod is ready
// then, each login of `system` is refused, and nobody has changed the Secret; what the
// node itself says is asked right before anything is done. nil where it is not so.
func (t *turn) gatewayWaits() *Pod {
	db, c := &t.o.Database, &t.r.Bootstrap.SystemChange
	if t.contact() || db.Contact != No || db.SystemLogin != LoginRefused || !t.r.Bootstrap.Done || t.r.ClusterID == "" {
		return nil
	}
	secret := t.secret(t.systemSecret())
	if secret.Version != t.r.Bootstrap.System || c.Refused != secret.Version || t.elapsed(c.Since) < systemRefusedLong {
		return nil
	}
	if n := t.nodes(t.r.Sets); n.ready < n.wanted {
		return nil
	}
	nodes := t.gatewayNodes()
	for _, s := range t.r.Sets {
		if !t.votes(s.Name) {
			continue
		}
		for ordinal := range s.Replicas {
			if p := t.pod(s.Name, ordinal); p != nil && p.RecoverAfter > nodes {
				return p
			}
		}
	}
	return nil
}

// recoverPod makes such a pod anew once its set's template asks for no more nodes than
// there are; one at a time.
func (t *turn) recoverPod() {
	p := t.gatewayWaits()
	if p == nil || t.d2.Disruptive != nil {
		return
	}
	if live := t.live(p.Set); live != nil && live.ObservedGeneration == live.Generation && t.waitsForTooMany(p) && !t.wouldGoBack(p, live) {
		t.d2.Disruptive = &Action{Kind: ActionRecoverPod, Pod: p.Name, PodUID: p.UID, User: names.SystemUser}
	}
}

// gatewayReason says it.
func (t *turn) gatewayReason(p *Pod) Reason {
	return gates.GatewayWaits(p.Name, p.RecoverAfter, t.gatewayNodes())
}
