package ops

import (
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

// gatewayWaits is a pod that may be master and that waits, after a full outage, for
// more data nodes than there are: the cluster was made smaller, and it went down before
// its masters were restarted for that. It never recovers by itself. Every pod is ready
// then, or has run for long, each login of `system` is refused, and nobody has changed the Secret, as far as that
// is known: with the record lost it is set beside, where it can be. What the node itself says
// is asked right before anything is done. nil where it is not so.
func (t *turn) gatewayWaits() *Pod {
	if t.bootstrapping() {
		return t.madeGatewayWaits()
	}
	db, c := &t.o.Database, &t.r.Bootstrap.SystemChange
	if t.contact() || db.Contact != No || db.SystemLogin != LoginRefused || !t.r.Bootstrap.Done || t.r.ClusterID == "" {
		return nil
	}
	secret, known := t.secret(t.systemSecret()), t.r.Bootstrap.System != SecretVersion{}
	if known && secret.Version != t.r.Bootstrap.System || c.Refused != secret.Version || t.elapsed(c.Since) < systemRefusedLong {
		return nil
	}
	if n := t.nodesWith(t.r.Sets, t.upLong); n.ready < n.wanted {
		return nil
	}
	return t.waitsForMore(t.gatewayNodes())
}

// madeGatewayWaits is such a pod of a cluster that is being made: a group went out of its
// definition, or became smaller, before its nodes had come up. Nothing was ever in it, and
// its gateway has not recovered: so many data nodes have never been ready as it waits for.
func (t *turn) madeGatewayWaits() *Pod {
	if t.contact() || t.blocked || t.r.ClusterID != "" || t.r.Bootstrap.System != (SecretVersion{}) {
		return nil
	}
	if p := t.waitsForMore(max(t.gatewayReady(), t.gatewayNodes())); p != nil && p.Ready && t.elapsed(p.Created) > t.podLimit() {
		return p
	}
	return nil
}

// gatewayReady is how many pods are ready of those that a gateway waits for.
func (t *turn) gatewayReady() int {
	ready := 0
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Ready && t.countsForGateway(p.Set) {
			ready++
		}
	}
	return ready
}

// waitsForMore is a pod that may be master and waits for more data nodes than so many.
func (t *turn) waitsForMore(nodes int) *Pod {
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

// gatewayCounts is how many nodes the templates of those that may be master are to count,
// whatever else of what is wanted they may have: those that there are while a pod waits for
// more, and in a cluster that is being made those of them that are wanted still. 0 for what
// the templates say.
func (t *turn) gatewayCounts() int {
	if t.gatewayWaits() != nil || t.bootstrapping() && !t.blocked && t.unequal() && t.r.ClusterID == "" {
		return t.gatewayNodes()
	}
	return 0
}

// recoverPod makes such a pod anew once its set's template asks for no more nodes than
// there are; one at a time.
func (t *turn) recoverPod() {
	p := t.gatewayWaits()
	if p == nil || t.d2.Disruptive != nil {
		return
	}
	if live := t.live(p.Set); live != nil && live.ObservedGeneration == live.Generation && t.waitsForTooMany(p) && !t.wouldGoBack(p, live) {
		t.d2.Disruptive = &Action{Kind: ActionRecoverPod, Pod: p.Name, PodUID: p.UID, User: names.SystemUser, Unready: !p.Ready}
	}
}

// gatewayReason says it.
func (t *turn) gatewayReason(p *Pod) Reason {
	return gates.GatewayWaits(p.Name, p.RecoverAfter, t.gatewayNodes())
}
