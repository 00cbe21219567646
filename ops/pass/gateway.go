package pass

import (
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// PodAwaitsGateway is a master-eligible pod that waits, after a full outage, for more data nodes
// than there are; nil where there is none. The cluster was made smaller and went down before
// its masters were restarted for that: it never recovers by itself. Then every pod is ready or
// has run for long, and each login of `system` is refused although nobody is known to have
// changed its Secret. With a lost record that is not known, and its password is set too, where
// it can be. The executor asks the node itself right before it does anything.
func (t *Pass) PodAwaitsGateway() *model.Pod {
	if view.Bootstrapping(&t.View) {
		return view.BootstrapGatewayWaits(&t.View)
	}
	db, c := &t.Observed.Database, &t.Record.Bootstrap.SystemChange
	if db.Contact != model.No || db.SystemLogin != model.LoginRefused || !t.Record.Bootstrap.Done || t.Record.ClusterID == "" {
		return nil
	}
	secret, known := t.Secret(t.SystemSecret()), t.Record.Bootstrap.System != model.SecretVersion{}
	if known && secret.Version != t.Record.Bootstrap.System || c.Refused != secret.Version || t.Elapsed(c.Since) < SystemRefusedLong {
		return nil
	}
	if n := t.NodesWith(t.Record.Sets, func(p *model.Pod) bool { return view.RunsLong(&t.View, p) }); n.Ready < n.Expected {
		return nil
	}
	return view.WaitsForMore(&t.View, view.GatewayNodes(&t.View))
}

// GatewayCounts is the number of data nodes for which the gateway counts in the templates of
// master-eligible sets are made: those that there are while a pod waits for more, and in a
// cluster that is being made those that are still desired. 0 leaves the counts as they are in
// the template.
func (t *Pass) GatewayCounts() int {
	if t.PodAwaitsGateway() != nil || view.Founding(&t.View) && !t.Rejected && view.Unequal(&t.View) {
		return view.GatewayNodes(&t.View)
	}
	return 0
}

// RecoverPod replaces such a pod once its set's template asks for no more nodes than there are.
func (t *Pass) RecoverPod() {
	p := t.PodAwaitsGateway()
	if p == nil || t.Decision.Disruptive != nil {
		return
	}
	if c := view.DeletedClaim(&t.View, p); c != nil {
		t.Wait(gates.ClaimBeingDeleted(c.Name, p.Name, gates.NotProven))
		return
	}
	if live := t.Live(p.Set); live != nil && live.ObservedGeneration == live.Generation && view.WaitsForTooMany(&t.View, p) && !view.WouldDowngrade(&t.View, p, live) {
		t.Decision.Disruptive = &model.Action{Kind: model.ActionRecoverPod, Pod: p.Name, PodUID: p.UID, User: names.SystemUser, Unready: !p.Ready}
	}
}

const (
	// SystemRefusedLong is after what time a refusal with an unchanged Secret is reported.
	SystemRefusedLong = time.Minute
)
