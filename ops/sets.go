package ops

import (
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/scale"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/ops/volume"
)

// create makes the desired sets effective when none was before.
func create(t *pass.Pass) {
	if t.Rejected {
		return
	}
	if len(t.Record.Sets) == 0 {
		t.Record.Sets = make([]model.RecordedSet, len(t.Desired.Sets))
		for i, w := range t.Desired.Sets {
			// Pods that a StatefulSet has left are taken in; those that are too many leave in order.
			t.Record.Sets[i] = model.RecordedSet{Name: w.Name, Group: w.Group, Replicas: max(w.Replicas, aim.Orphans(&t.View, w.Name))}
		}
	}
	if view.Founding(&t.View) {
		for _, s := range t.Record.Sets {
			if s.Replicas == 0 {
				// The record was lost while none was desired, and no node of it is there.
				aim.SetReplicas(t, s.Name, view.Target(&t.View, s.Name))
			}
		}
	}
	if !view.Unequal(&t.View) && !t.Suspending {
		t.Record.ClusterName, t.Record.TLS = t.Desired.ClusterName, t.Desired.TLS
		if t.Record.Version == "" || aim.Unstarted(&t.View) {
			t.Record.Version = t.Desired.Version // any other is the end of an upgrade
		}
	}
}

// startBootstrap records the bootstrap of a new cluster, with the time that bounds it.
func startBootstrap(t *pass.Pass) {
	if op := t.Record.Operation; op != nil && op.Started.After(t.Now) {
		model.Own(&t.Record.Operation).Started = t.Now
	}
	if !t.Record.Bootstrap.Done && t.Record.Operation == nil && len(t.Record.Sets) > 0 {
		t.Record.Operation = &model.Operation{Kind: model.OperationBootstrap, Started: t.Now, Revision: t.Desired.Revision}
	}
}

// keep holds the cluster to what it was, for a pass in which nothing is done.
func keep(t *pass.Pass) {
	for _, s := range t.Record.Sets {
		e := held(&t.View, s, setting.SettingsAnnotation(&t.View))
		e.Template = model.TemplateKept
		volume.KeepClaimTemplates(&t.View, &e)
		t.Decision.Effective.Sets = append(t.Decision.Effective.Sets, e)
	}
	t.Decision.Effective.Budgets = t.Record.Budgets
}

// held is what a set is held to whatever its template. The template that is remembered stays so after a pause.
func held(v *view.View, s model.RecordedSet, settings string) model.EffectiveSet {
	return model.EffectiveSet{
		Name: s.Name, Replicas: aim.Replicas(v, s), Live: v.LiveTemplate(s.Name), InitialMasters: initialMasters(v, s.Name), Remember: restarted(v, s.Name),
		Suspended: lifecycle.SuspendedNote(v, s.Name), Settings: settings, Hold: setting.Annotation(v, s.Name), Adopted: aim.AdoptedNote(v, s.Name),
	}
}

// initialMasters is true until the id of the cluster is recorded. A live template that has lost
// the setting never gets it back, even with a lost record: an empty node that finds only itself
// on the list founds a second cluster.
func initialMasters(v *view.View, set string) bool {
	if v.Record.ClusterID != "" {
		return false
	}
	if live := v.Live(set); live != nil {
		return live.InitialMasters
	}
	if aim.Orphans(v, set) > 0 {
		return false // a StatefulSet is recreated only once there is a cluster
	}
	return !model.Any(v.Observed.Claims, func(c *model.Claim) bool { return c.Set != "" && c.ClusterID != "" })
}

// effective says what the cluster is held to.
func effective(t *pass.Pass) {
	// An upgrade is made at the present size.
	present := view.Restarting(&t.View) && view.Unequal(&t.View)
	resized := t.Record.Operation.Is(model.OperationGrow) || aim.Shrinking(&t.View) || view.Unequal(&t.View) && !present
	kept := t.Rejected || t.Suspending || resized || setting.SettingsFirst(&t.View)
	aim.NoteVerified(t)
	aim.NoteTrial(t, "") // what an external change has put on trial since counts for the next one
	forward, settings, gateway := "", setting.SettingsAnnotation(&t.View), t.GatewayCounts()
	if t.RollBack == "" { // a template that is on no pod yet goes back before another set gets one
		forward = aim.RollForward(&t.View)
	}
	aim.NoteTrial(t, forward)
	var some [6]model.EffectiveSet // of most clusters
	sets := some[:0]
	for _, s := range t.Record.Sets {
		e := held(&t.View, s, settings)
		e.Gap = unread(&t.View, s.Name)
		restarted := e.Remember
		if restarted {
			aim.Remember(t, &e)
		}
		switch {
		case restarted && t.Record.Operation.Step == model.StepStopped && aim.MayRollBack(&t.View, s.Name):
			e.Template = model.TemplateBefore
		case restarted && (scale.RollsBack(&t.View, s.Name) || s.Name == t.RollBack):
			e.Template = model.TemplateBefore
		case isNewGroup(&t.View, s.Name):
		case s.Name == forward:
			e.KeepGateway = kept || present
		case kept || t.DesiredSet(s.Name) == nil || templateWaits(&t.View, s.Name, restarted, forward):
			e.Template = model.TemplateKept
		default:
			e.KeepGateway = present
		}
		e.Resized = !view.ResizesByRestart(&t.View)
		volume.KeepClaimTemplates(&t.View, &e)
		if view.Votes(&t.View, s.Name) {
			e.Gateway = gateway
		}
		if !kept && !present && view.KeepsAdopted(&t.View, s.Name) {
			e.Gateway = view.GatewayNodes(&t.View) // no template that is desired brings them
		}
		sets = append(sets, e)
	}
	for _, w := range t.Desired.Sets {
		if view.Recorded(t.Record.Sets, w.Name) == nil {
			sets = append(sets, model.EffectiveSet{Name: w.Name, Absent: true})
		}
	}
	if was := t.Observed.Applied.Effective.Sets; slices.Equal(sets, was) {
		t.Decision.Effective.Sets = was // as in most passes
	} else {
		t.Decision.Effective.Sets = slices.Clone(sets)
	}
	budget.Budgets(t)
	volume.Guard(t)
	volume.Unchanged(t)
	t.Decision.Effective.Budgets = t.Record.Budgets
}

// unread reports whether nothing says yet what a live set has: it was not recorded before this pass, which leaves it as it is.
func unread(v *view.View, set string) bool {
	return v.Live(set) != nil && view.Changes(v, set, model.ChangeNewSet)
}

func restarted(v *view.View, set string) bool {
	return view.Restarting(v) && v.Record.Operation.Restart.Set == set
}

// isNewGroup reports whether a set is of a new group, which has no template to keep. If the record was lost it may
// have come while the cluster is being made.
func isNewGroup(v *view.View, set string) bool {
	if v.DesiredSet(set) == nil || v.Live(set) != nil {
		return false
	}
	return aim.Added(v, set) || view.Founding(v) && !v.Rejected
}

// templateWaits reports whether the desired template of a set needs a restart, and it is not the
// set's turn, or another operation or set comes first. A set that is up while nobody answers gets
// it only where nothing else rolls forward and no node can be reached.
func templateWaits(v *view.View, set string, restarted bool, forward string) bool {
	if view.KeepsAdopted(v, set) {
		return true
	}
	if !view.PendingRestart(v, set) || aim.Unstarted(v) {
		return false
	}
	if !restarted || aim.UpgradeDue(v) && !v.Record.Operation.Is(model.OperationUpgrade) || aim.OtherTrialFirst(v, set) {
		return true
	}
	return aim.ReadyUnasked(v, set) && (forward != "" || !view.Unreachable(v))
}
