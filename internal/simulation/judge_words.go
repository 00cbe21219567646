package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// tells: whoever looks at a cluster that waits is told for what (`stevedore status` and the
// metrics name the gate, docs/gates.md), by the name of what really holds: each has its own
// remedy. It is asked after a pass that wrote nothing and did nothing, of what that pass was shown by its watches
// and its reading.
func (j *judge) tells(w *world, d *daemon) {
	silent := d.calm && len(d.decision.Waits)+len(d.decision.Refusals) == 0
	if !silent {
		d.silent = 0
	} else if d.silent == 0 {
		d.silent = w.now
	}
	if !d.calm {
		return
	}
	c, rec, db := &w.commits[d.want], &d.decision.Record, &d.observed.Database
	by := w.commanded(d)
	by.FetchAt, by.BackupAt = "", "" // who asks for tables or a snapshot stops nothing else
	if c.paused || c.released || by != (model.Commands{}) || rec.Revision != c.desired.Revision {
		return
	}
	if w.commandedAt >= d.began {
		return // what is told is of the command before
	}
	op := rec.Operation
	lacks := func(rule gates.Rule, what string) {
		if !d.says(rule) {
			w.violate("F", "%s, and the status does not say so: %s is not among what the daemon waits for (%s)", what, rule.Name, d.reasons())
		}
	}
	switch since := w.now - max(d.silent, c.visible, w.commandedAt); {
	case !silent:
	case op != nil && since > 0:
		w.violate("F", "nothing is done of a %s for %d ms, and nobody is told why", op.Kind, since)
	case since >= silentLong && rec.Stage != model.StageVerified && !c.stands():
		w.violate("F", "nothing is done of %s for %d ms, which is not verified, and nobody is told why", rec.Revision, since)
	}
	if len(d.observed.ApplyErrors) > 0 {
		lacks(gates.AppliedRule, "objects could not be applied")
	}
	if w.inGap() || d.seesGap() || op != nil && op.Recreation != nil && !d.seesTaken(op.Recreation.Set) {
		return // that is what it waits for, and nothing else is decided meanwhile
	}
	if c.stands() {
		if !rec.Bootstrap.Done && w.schedule.Start.Leave && d.applied.Revision != "" {
			lacks(gates.SuspendEarlyRule, "a cluster is to stand still that is being made")
		}
		if len(rec.Suspended) > 0 && op == nil && w.suspended() && d.differs(c) {
			lacks(gates.SuspendedRule, "a suspended cluster is desired on another template")
		}
		return
	}
	if op != nil && op.Kind == model.OperationBootstrap {
		if !d.eligibleReady() && w.secret(systemSecret).exists && d.view.stalled[kindSecrets] <= w.now {
			lacks(gates.MasterReadyRule, "no pod that may become master is ready")
		}
		for _, s := range rec.Sets {
			if i := w.setIndex(s.Name); len(d.decision.Refusals) == 0 && c.wants(w.setKind(&w.sets[i])) && s.Replicas < c.replicas[w.setKind(&w.sets[i])] {
				lacks(gates.BootstrapFirstRule, "a group is to grow while its cluster is being made")
			}
		}
	}
	if rec.Bootstrap.Done && db.Contact != model.Yes && len(rec.Suspended) == 0 && !db.At.IsZero() {
		lacks(gates.ContactRule, "nobody answers")
	}
	if node := d.absent(); node != "" && db.NodesKnown && rec.Bootstrap.Done && op == nil && len(rec.Suspended) == 0 && db.Contact == model.Yes && !d.unready() && len(d.decision.Refusals) == 0 {
		lacks(gates.JoinedRule, node+" is not a member, and its pod is ready")
	}
	if node := d.leavingAway(); node != "" && db.NodesKnown && db.Contact == model.Yes && len(d.decision.Refusals) == 0 {
		lacks(gates.LeavingNodeRule, node+" is being drained and is not a member")
	}
	if op != nil && op.Shrink != nil && op.Step == model.StepDrain && len(d.reasons()) == 0 && !w.lags() {
		w.violate("F", "nodes are being drained, and nothing is told of it")
	}
	j.shows(w, d, c)
	for _, e := range rec.Settings {
		if shown := db.Effective[e.Name]; e.Done && !e.Reset && e.Value == c.jobsLog && db.Contact == model.Yes && len(d.decision.Refusals) == 0 && manifest.SameSetting(shown, e.Value) == model.No {
			lacks(gates.SettingChangedRule, "a setting was set for the definition and shows another value")
		}
	}
	if d.says(gates.DetailKnownRule) && db.MasterNode == "" {
		lacks(gates.RecoveredRule, "no table can be read for there is no master")
	}
	if op == nil && rec.Bootstrap.Done && len(d.decision.Refusals) == 0 && d.unready() {
		lacks(gates.PodsReadyRule, "a pod is not ready")
	} else if op == nil && rec.Bootstrap.Done && len(d.decision.Refusals) == 0 && len(rec.Suspended) == 0 && slices.ContainsFunc(rec.Budgets, func(b model.Budget) bool { return b.MaxUnavailable == 0 }) {
		lacks(gates.BudgetClosedRule, "no pod may be evicted though all are ready")
	}
	if shown := db.Effective[jobsLogSize]; rec.Bootstrap.Done && op == nil && len(d.decision.Refusals)+len(d.decision.Actions()) == 0 && db.MasterNode != "" && shown != "" && c.jobsLog != "" && shown != c.jobsLog &&
		silentLong < w.now-max(c.visible, w.jobsLog.theirAt) && len(d.observed.ApplyErrors) == 0 && !d.says(gates.SettingChangedRule) && !d.says(gates.JoinedRule) && !d.unready() {
		lacks(gates.SettingNotEffectiveRule, "a setting of the definition has another value")
	}
}

// seesTaken: a StatefulSet that was recreated is there, and its controller has seen it, as its watch shows it. Before that
// nobody expects a pod of it that is missing.
func (d *daemon) seesTaken(name string) bool {
	return slices.ContainsFunc(d.view.sets, func(s model.ObservedSet) bool { return s.Name == name && s.ObservedGeneration >= s.Generation })
}

// differs: a StatefulSet is on another template than a commit wants, as its watch shows it.
func (d *daemon) differs(c *commit) bool {
	for i := range d.view.sets {
		if s := d.view.state[d.w.setIndex(d.view.sets[i].Name)]; !d.w.templates[s.template].same(&d.w.templates[c.tmpl]) {
			return true
		}
	}
	return false
}

// absent is the node of a wanted pod that is no member by the reading; "" for none.
func (d *daemon) absent() string {
	for _, s := range d.decision.Record.Sets {
		for i := range d.view.pods {
			if p := &d.view.pods[i]; p.Set == s.Name && p.Ordinal < s.Replicas && !d.lists(p.NodeName) {
				return p.NodeName
			}
		}
	}
	return ""
}

// leavingAway is a node that is being drained, and that is no member by the reading; ""
// for none.
func (d *daemon) leavingAway() string {
	op := d.decision.Record.Operation
	if op == nil || op.Shrink == nil || op.Step != model.StepDrain {
		return ""
	}
	for _, n := range op.Shrink.Leaving {
		if n.ID != "" && !d.lists(n.Name) {
			return n.Name
		}
	}
	return ""
}

// eligibleReady: a pod that may become master is ready, as its watch shows it.
func (d *daemon) eligibleReady() bool {
	for i := range d.view.pods {
		if p := &d.view.pods[i]; d.w.sets[d.w.setIndex(p.Set)].eligible && p.Ready && !p.Terminating {
			return true
		}
	}
	return false
}

// silentLong is for how long nothing has to be reported between two steps. While an operation is under way, of two
// passes in a row one does something or says what it waits for.
const silentLong = 12 * second

// lags: a StatefulSet's controller has not seen what was written last, which a daemon
// waits for without a word.
func (w *world) lags() bool {
	for i := range w.sets {
		if s := &w.sets[i]; s.exists && s.observedGeneration != s.generation {
			return true
		}
	}
	return false
}

// unready: a pod that is desired is not ready, as its watch shows it.
func (d *daemon) unready() bool {
	for _, s := range d.decision.Record.Sets {
		ready := 0
		for i := range d.view.pods {
			if p := &d.view.pods[i]; p.Set == s.Name && p.Ordinal < s.Replicas && p.Ready && !p.Terminating {
				ready++
			}
		}
		if ready < s.Replicas {
			return true
		}
	}
	return false
}

// reasons are those of the last decision, for a story.
func (d *daemon) reasons() (names []string) {
	for _, r := range slices.Concat(d.decision.Waits, d.decision.Refusals) {
		names = append(names, r.Name)
	}
	return names
}

// begins: a daemon records that an operation begins. What a person has commanded to abort
// does not, and one that stops every node at once is not begun without knowing what runs.
func (j *judge) begins(w *world, d *daemon, before, next *model.Record) {
	if before.Operation != nil || next.Operation == nil {
		return
	}
	kind := next.Operation.Kind
	switch kind {
	case model.OperationRestart, model.OperationUpgrade, model.OperationShrink, model.OperationSuspend, model.OperationRemoveDisks, model.OperationReplace:
	default:
		return
	}
	if w.commanded(d).Abort == "true" {
		w.violate("H", "a %s begins, and somebody has commanded to abort", kind)
	}
	// What was read counts until the decision.
	if led, unchanged := w.now-d.hadMasterAt, w.now-d.readState; kind == model.OperationShrink && led+second < millis(policy.MasterStableFor.Milliseconds()) && unchanged < millis(policy.TrialFor.Milliseconds()) {
		w.violate("B", "a shrink begins, and the master is another one for %d ms only, the cluster state for %d ms", led, unchanged)
	}
	if kind != model.OperationSuspend || j.stopped != [3]bool{} {
		return
	}
	switch db := &d.observed.Database; {
	case db.Contact != model.Yes || db.MasterNode == "":
		w.violate("B", "a suspension begins, and nobody answers")
	case !db.TablesKnown || !db.SnapshotsKnown:
		w.violate("B", "a suspension begins, and the daemon knows neither tables nor snapshots")
	case db.Snapshots > 0:
		w.violate("snapshot", "a suspension begins while a snapshot runs, which becomes a partial one")
	case db.Relocating+db.Initializing > 0:
		w.violate("B", "a suspension begins, and %d copies were on their way when the daemon looked", db.Relocating+db.Initializing)
	}
}

// ends: what an operation's success says is so by what the daemon was shown.
func (j *judge) ends(w *world, d *daemon, r *model.Report) {
	switch r.Reason {
	case "SuspendSucceeded":
		if len(d.view.pods) > 0 {
			w.violate("F", "%s is reported, and %s is still there", r.Reason, d.view.pods[0].Name)
		}
	case "GrowSucceeded", "ShrinkSucceeded":
		db := &d.observed.Database
		open := slices.ContainsFunc(db.NodeChecks, func(c model.NodeCheck) bool { return !c.Acknowledged })
		if !db.ChecksKnown || open {
			w.violate("F", "%s is reported, and node checks are open", r.Reason)
		}
	}
}
