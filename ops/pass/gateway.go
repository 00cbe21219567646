package pass

import (
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// GatewayWaits is a pod that may be master and that waits, after a full outage, for
// more data nodes than there are: the cluster was made smaller, and it went down before
// its masters were restarted for that. It never recovers by itself. Every pod is ready
// then, or has run for long, each login of `system` is refused, and nobody has changed the Secret, as far as that
// is known: with the record lost it is set beside, where it can be. What the node itself says
// is asked right before anything is done. nil where it is not so.
func (t *Pass) GatewayWaits() *model.Pod {
	if view.Bootstrapping(&t.View) {
		return view.MadeGatewayWaits(&t.View)
	}
	db, c := &t.Observed.Database, &t.Record.Bootstrap.SystemChange
	if t.Contact() || db.Contact != model.No || db.SystemLogin != model.LoginRefused || !t.Record.Bootstrap.Done || t.Record.ClusterID == "" {
		return nil
	}
	secret, known := t.Secret(t.SystemSecret()), t.Record.Bootstrap.System != model.SecretVersion{}
	if known && secret.Version != t.Record.Bootstrap.System || c.Refused != secret.Version || t.Elapsed(c.Since) < SystemRefusedLong {
		return nil
	}
	if n := t.NodesWith(t.Record.Sets, func(p *model.Pod) bool { return view.UpLong(&t.View, p) }); n.Ready < n.Wanted {
		return nil
	}
	return view.WaitsForMore(&t.View, view.GatewayNodes(&t.View))
}

// GatewayCounts is how many nodes the templates of those that may be master are to count,
// whatever else of what is wanted they may have: those that there are while a pod waits for
// more, and in a cluster that is being made those of them that are wanted still. 0 for what
// the templates say.
func (t *Pass) GatewayCounts() int {
	if t.GatewayWaits() != nil || view.Bootstrapping(&t.View) && !t.Rejected && view.Unequal(&t.View) && t.Record.ClusterID == "" {
		return view.GatewayNodes(&t.View)
	}
	return 0
}

// RecoverPod makes such a pod anew once its set's template asks for no more nodes than
// there are; one at a time.
func (t *Pass) RecoverPod() {
	p := t.GatewayWaits()
	if p == nil || t.Decision.Disruptive != nil {
		return
	}
	if live := t.Live(p.Set); live != nil && live.ObservedGeneration == live.Generation && view.WaitsForTooMany(&t.View, p) && !view.WouldGoBack(&t.View, p, live) {
		t.Decision.Disruptive = &model.Action{Kind: model.ActionRecoverPod, Pod: p.Name, PodUID: p.UID, User: names.SystemUser, Unready: !p.Ready}
	}
}

const (
	// SystemRefusedLong is when a refusal with a Secret that did not change is told.
	SystemRefusedLong = time.Minute
)
