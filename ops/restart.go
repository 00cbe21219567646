package ops

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

func (t *turn) restarting() bool {
	return t.r.Operation != nil && t.r.Operation.Restart != nil
}

// pendingRestart is true while a set is wanted with a template that needs a
// restart and that was not applied yet.
func (t *turn) pendingRestart(set string) bool {
	for i := range t.d.Changes {
		if c := &t.d.Changes[i]; c.Set == set && (c.Class == ChangeRestart || c.Class == ChangeImage) {
			return true
		}
	}
	return false
}

// outdated pods run another template than their set has, or were made before the
// time that a restart was asked for.
func (t *turn) outdated(p *Pod) bool {
	live := t.live(p.Set)
	if live == nil || !live.Ours || t.wouldGoBack(p, live) {
		return false
	}
	begun := false
	if t.restarting() {
		r := t.r.Operation.Restart
		// A group that is to go is left: put back on its old version, it would take no
		// copy from the nodes that are newer by then, and could not be drained.
		if !r.Before.IsZero() && p.Created.Before(r.Before) && !slices.Contains(r.Done, p.UID) && t.wanted(p.Set) != nil {
			return true
		}
		begun = t.r.Operation.Step != ""
	}
	if t.r.RecoverDue && t.waitsForTooMany(p) {
		return true
	}
	if p.Template == "" && !begun {
		// Made before templates were marked: nothing restarts for the mark alone.
		return false
	}
	return live.Template != "" && p.Template != live.Template
}

// firstOutdated is the pod of the lowest ordinal.
func (t *turn) firstOutdated(set string) *Pod {
	var found *Pod
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Set == set && (found == nil || p.Ordinal < found.Ordinal) && t.outdated(p) {
			found = p
		}
	}
	return found
}

// nextSet is the first that a restart is due for, masters first. One with a pod
// that cannot run goes before, for its new template may be the cure, unless another
// set is on a template that no pod has joined on.
func (t *turn) nextSet() string {
	first := ""
	for _, s := range t.r.Sets {
		if !t.pendingRestart(s.Name) && t.firstOutdated(s.Name) == nil {
			continue
		}
		if first == "" {
			first = s.Name
		}
		for i := range t.o.Pods {
			if p := &t.o.Pods[i]; p.Set == s.Name && !p.Ready && !p.Terminating && fails(p) && !t.othersFirst(s.Name) {
				return s.Name
			}
		}
	}
	return first
}

// asked is which pods a person wants restarted: those made before the time of
// the annotation or the command. A time in the future counts as now, and so does
// a text that is no time.
func (t *turn) asked() (before time.Time, at, by string) {
	at, by = t.d.RestartedAt, t.commanded.RestartedAt
	doneAt, doneBy := t.r.RestartedAt, t.r.RestartedBy
	if t.restarting() {
		doneAt, doneBy = t.r.Operation.Restart.At, t.r.Operation.Restart.By
	}
	for _, wish := range []struct{ text, done string }{{at, doneAt}, {by, doneBy}} {
		if wish.text == "" || wish.text == wish.done {
			continue
		}
		when, err := time.Parse(time.RFC3339, wish.text)
		if err != nil || when.After(t.now) {
			when = t.now
		}
		if when.After(before) {
			before = when
		}
	}
	return before.Truncate(time.Second), at, by
}

// rebuildAsked takes a text that is no time for done, in a cluster that is new
// or whose record was lost: nothing says since when it stands there. A time is
// compared with the pods.
func (t *turn) rebuildAsked() {
	if _, err := time.Parse(time.RFC3339, t.d.RestartedAt); err != nil {
		t.r.RestartedAt = t.d.RestartedAt
	}
}

func (t *turn) aborted() bool {
	return t.commanded.Abort == "true" || t.d.Abort && t.commanded.Abort != "false"
}

// startRestart begins a restart where one is due, and says whether one is.
func (t *turn) startRestart() bool {
	if t.unequal() {
		return false
	}
	before, at, by := t.asked()
	if before.IsZero() && t.nextSet() == "" {
		// As in most turns.
		t.r.RestartedAt, t.r.RestartedBy, t.r.Compute = at, by, t.d.Compute
		return false
	}
	op := &Operation{
		Kind: OperationRestart, Started: t.now, Revision: t.d.Revision,
		Restart: &Restart{Before: before, At: at, By: by, Since: t.now},
	}
	t.r.Operation = op
	if t.nextSet() == "" {
		t.r.Operation, t.r.RestartedAt, t.r.RestartedBy = nil, at, by
		t.r.Compute = t.d.Compute
		return false
	}
	if reason, waits := gates.DisruptedClusters(t.o.Disrupted, max(t.p.MaxDisruptedClusters, 1)); waits {
		t.r.Operation = nil
		t.wait(reason)
		return true
	}
	if t.aborted() {
		left := 0
		for i := range t.o.Pods {
			if p := &t.o.Pods[i]; t.outdated(p) || t.pendingRestart(p.Set) {
				left++
			}
		}
		t.r.Operation = nil
		t.refusal(gates.Aborted(left))
		return true
	}
	op.Step = StepNext
	t.report(Report{
		Event: EventFeedback, Operation: "update", Action: "change_compute", Reason: "RestartStarted", Status: StatusInProgress,
		Message: "a rolling restart has begun" + t.soleWords(),
	})
	t.computeBegins()
	return true
}

// soleWords names beforehand the tables that a restart makes unreadable for a
// while.
func (t *turn) soleWords() string {
	var tables []string
	for i := range t.o.Database.Nodes {
		tables = append(tables, t.o.Database.Nodes[i].Sole...)
	}
	if len(tables) == 0 {
		return ""
	}
	slices.Sort(tables)
	tables = slices.Compact(tables)
	return fmt.Sprintf("; %d table(s) have shards without a second copy and are not whole while their node is away: %s", len(tables), strings.Join(tables[:min(len(tables), 20)], ", "))
}

// restart takes one that has begun a step further, and gives back what a restart
// held that is known no more.
func (t *turn) restart() {
	if !t.restarting() {
		t.giveBack()
		if t.r.Bootstrap.Done {
			t.unexplained()
		}
		return
	}
	op, restart := *t.r.Operation, *t.r.Operation.Restart
	op.Restart = &restart
	before, at, by := t.asked()
	if before.After(restart.Before) {
		restart.Before = before
	}
	restart.At, restart.By = at, by
	t.aim(&op)
	if op.Revision != t.d.Revision && op.Step == StepNext && t.unapplied(&restart) {
		op.Revision, t.undo = t.d.Revision, restart.Set
		t.r.Operation = &op
		return
	}
	// One that is refused changes nothing of a restart that has stopped.
	if op.Revision != t.d.Revision && !(t.blocked && op.Step == StepStopped) {
		op.Revision = t.d.Revision
		if op.Step == StepStopped || op.Step == StepDown {
			// Another definition: the pod that did not come up is made anew on it, and
			// has its whole time.
			op.Step, restart.Since = StepDown, t.now
		}
	}
	t.r.Operation = &op
	if t.aborted() {
		if op.Kind == OperationUpgrade {
			t.refusal(t.upgradeAborted(op.Upgrade.OldVersion, op.Upgrade.NewVersion))
		} else {
			t.refusal(gates.Aborted(t.left()))
		}
		if t.giveBack(); t.r.Hold == nil {
			t.r.Operation = nil
		}
		return
	}
	if restart.Set != "" && t.wanted(restart.Set) == nil && (op.Step == StepDown || op.Step == StepStopped) {
		// Its group is to go: whether its pod comes up again is nobody's concern.
		t.giveBack()
		if t.r.Hold == nil {
			t.r.Operation = nil
		}
		return
	}
	switch op.Step {
	case StepHold:
		t.holdStep(&op)
	case StepDown:
		t.downStep(&op)
	case StepReturn:
		if t.giveBack(); t.r.Hold == nil {
			op.Step, restart.Since = StepStable, t.now
		}
	case StepStable:
		t.stableStep(&op)
	case StepStopped:
		t.stoppedStep(&op)
	default:
		t.nextStep(&op)
	}
	t.restartTimeout()
	t.restartProgress()
}

func (t *turn) left() int {
	left := 0
	for i := range t.o.Pods {
		if t.outdated(&t.o.Pods[i]) {
			left++
		}
	}
	return left
}

// nextStep chooses the set and the pod, and looks at every gate.
func (t *turn) nextStep(op *Operation) {
	r := op.Restart
	r.Pod, r.PodUID, r.Template, r.Zone, r.Pods = "", "", "", "", nil
	if t.upgradeCures(op) && slices.ContainsFunc(t.r.Sets, func(s RecordedSet) bool { return t.hangsOnLive(s.Name) && !t.joinedOnLive(s.Name) }) {
		t.r.Operation = nil
		return
	}
	if t.r.Hold != nil {
		t.giveBack() // a lost record's
		if set := t.soleVoter(); !t.contact() && !t.blocked && t.pendingRestart(set) {
			if op.Kind == OperationRestart && t.upgradeDue() {
				t.r.Operation = nil // an upgrade brings it
				return
			}
			r.Set, r.Remembered = set, "" // its new template may be what brings the contact back
		}
		return
	}
	if op.Kind == OperationRestart && (t.unequal() || t.upgradeDue()) && !t.blocked && !(t.contact() && t.unprovenPods(r.Set)) {
		// Each needs an operation of its own; what is left is restarted after it.
		if !t.backFirst(r) {
			t.r.Operation = nil
		}
		return
	}
	if t.letsIn() {
		if !t.backFirst(r) {
			t.r.Operation = nil
		}
		return
	}
	set := t.nextSet()
	first := t.onItsWay(op)
	if set != "" && first != nil {
		set = first.Set
	}
	if outdated := r.Set != "" && t.firstOutdated(r.Set) != nil; op.Kind == OperationUpgrade && outdated || t.unprovenPods(r.Set) ||
		outdated && !t.joinedOnLive(r.Set) && !t.failing(set) {
		// A new image comes to no second set before the first one is done, and a new
		// template to none before a pod has joined on it.
		set = r.Set
	}
	if r.Set != "" && t.unapplied(r) && !t.pendingRestart(r.Set) && !t.applied() {
		set = r.Set // its template is on its way: to no second set meanwhile
	}
	if set == "" {
		switch {
		case !t.templateApplied(""):
		case t.readingWaits() || t.copiesWait(freeAllocation):
			// A pod that was made anew is not back yet.
		case op.Kind == OperationRestart:
			t.restarted(op)
		case !t.versionWaits():
			t.upgraded(op)
		}
		return
	}
	if t.blocked {
		return // a refusal has said why
	}
	if reason, waits := gates.Contact(t.contact(), t.o.Database.Error); waits && t.pendingRestart(set) && set != t.soleVoter() && (!t.failing(set) || t.othersFirst(set)) {
		// Nobody can say whether the last new template runs.
		t.wait(reason)
		return
	}
	if r.Set != set {
		if t.backFirst(r) {
			return // it came before, and on none of its pods: it has its turn later
		}
		r.Set, r.Remembered = set, ""
	}
	p := t.firstOutdated(set)
	if first != nil && first.Set == set && t.templateApplied(set) {
		op.Step, r.Pod, r.Since = StepDown, first.Name, t.now
		return
	}
	if !t.templateApplied(set) || p == nil || t.unexplained() {
		return
	}
	if q := t.unproven(set); q != nil {
		// With the record lost meanwhile.
		op.Step, r.Pod, r.Since = StepDown, q.Name, t.now
		return
	}
	if !r.Hidden.IsZero() && t.elapsed(r.Hidden) < hiddenRetry {
		t.refusal(gates.HoldHidden())
		return
	}
	if t.podWaits(op, p, freeAllocation) {
		return
	}
	op.Step, r.Pod, r.PodUID, r.Template = StepHold, p.Name, p.UID, p.Template
	r.Zone, r.Pods = t.together(set, p)
	t.r.Hold = &Hold{Set: set, Value: heldAllocation, Before: freeAllocation}
}

// templateApplied is true when what is wanted of a set, or of all with "", is
// live and was seen by the StatefulSet controller.
func (t *turn) templateApplied(set string) bool {
	if !t.applied() {
		return false
	}
	for _, s := range t.r.Sets {
		if set != "" && s.Name != set || t.wanted(s.Name) == nil {
			continue
		}
		live := t.live(s.Name)
		i := slices.IndexFunc(t.o.Applied.Effective.Sets, func(e EffectiveSet) bool { return e.Name == s.Name })
		if live == nil || live.ObservedGeneration != live.Generation || t.pendingRestart(s.Name) || i < 0 {
			return false
		}
		if t.o.Applied.Effective.Sets[i].Template != TemplateWanted {
			return false
		}
	}
	return true
}

func (t *turn) named(pod string) *Pod {
	for i := range t.o.Pods {
		if t.o.Pods[i].Name == pod {
			return &t.o.Pods[i]
		}
	}
	return nil
}

// holdStep: the intent is recorded; it is said on the StatefulSet, then set, then
// read back, and every gate is looked at again.
func (t *turn) holdStep(op *Operation) {
	r, h := op.Restart, t.r.Hold
	if h == nil {
		op.Step = StepNext
		return
	}
	p := t.named(r.Pod)
	live := t.live(h.Set)
	switch {
	case t.blocked || live == nil || p == nil || p.UID != r.PodUID || p.Terminating || !t.outdated(p), !t.zoneStands(r):
		op.Step = StepReturn
	case live.Hold != h.annotation() || t.budgetOpen():
		// It is being applied.
	case t.o.Database.Allocation == h.Before:
		if t.podWaits(op, p, h.Before) {
			op.Step = StepReturn
		} else if pod := t.sqlPod(); pod != "" {
			t.harmless(Action{Kind: ActionHoldAllocation, Pod: pod, SystemSecret: t.systemSecret(), Allocation: h.Value, Before: h.Before})
		}
	case t.podWaits(op, p, h.Value):
		op.Step = StepReturn
	default:
		op.Step, r.Since = StepDown, t.now
		if len(r.Pods) > 0 {
			t.deleteZone(r)
		} else {
			t.deletePod(p)
		}
	}
}

func (t *turn) deletePod(p *Pod) {
	t.d2.Disruptive = &Action{
		Kind: ActionRestartPod, Pod: p.Name, PodUID: p.UID, SystemSecret: t.systemSecret(),
		Allocation: heldAllocation, Value: t.allRecorded(), Green: t.o.Database.Health.Colour == Green,
	}
}

// downStep waits until the pod has gone, is back and has joined.
func (t *turn) downStep(op *Operation) {
	r := op.Restart
	if len(r.Pods) > 0 {
		t.zoneDownStep(op)
		return
	}
	p := t.named(r.Pod)
	if p != nil && p.UID == r.PodUID && !p.Terminating {
		// It was decided and was not done, or is not seen yet.
		if t.blocked || t.r.Hold == nil || t.podWaits(op, p, heldAllocation) {
			op.Step = StepReturn
			return
		}
		t.deletePod(p)
		return
	}
	if p != nil && p.UID != r.PodUID && t.joined(p) {
		r.Done = append(slices.Clone(r.Done), p.UID)
		op.Step = StepReturn
		t.giveBack()
		return
	}
	state := podState(p)
	if state == "" {
		state = "it is ready, and its node has not joined yet"
	}
	t.wait(gates.PodReturns(r.Pod, state))
	// One that is ready has found a master: without contact nobody can say more of it.
	if t.hadItsTime(op, p) && !t.proven(op) && (t.contact() || p == nil || !p.Ready) {
		op.Step = StepStopped
		t.reportStopped(op, p)
		t.stoppedStep(op)
	}
}

// hadItsTime: the pod has not joined on the template that is wanted for as long as one
// may take. What was made on another one, which is live no more or is to be, is made anew
// first; and without a master nobody joins: so are others that hang, for one may be what
// the quorum waits for.
func (t *turn) hadItsTime(op *Operation, p *Pod) bool {
	since, live := op.Restart.Since, t.live(op.Restart.Set)
	if t.pendingRestart(op.Restart.Set) && !t.blocked && !(t.upgradeDue() && !t.upgrading()) {
		return false
	}
	if p != nil && live != nil && p.Template != "" && p.Template != live.Template && !t.wouldGoBack(p, live) {
		return false
	}
	if p != nil && p.Created.After(since) {
		since = p.Created
	}
	if t.elapsed(since) <= t.podLimit() {
		return false
	}
	return t.led() || !slices.ContainsFunc(t.o.Pods, func(q Pod) bool {
		live := t.live(q.Set)
		return q.Name != op.Restart.Pod && !q.Ready && live != nil && q.Template != live.Template && !t.wouldGoBack(&q, live) && t.isCurable(&q)
	})
}

func (t *turn) podLimit() time.Duration {
	return min(first(t.p.PodTimeout, DefaultPodTimeout), t.restartLimit())
}

func (t *turn) restartLimit() time.Duration {
	return first(t.d.Operations.RestartTimeout, t.p.RestartTimeout, DefaultRestartTimeout)
}

// proven: the set's template is the one that the pod ran before, or another pod
// has joined on it.
func (t *turn) proven(op *Operation) bool {
	live := t.live(op.Restart.Set)
	if live == nil || live.Template == op.Restart.Template {
		return true
	}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Name != op.Restart.Pod && p.Set == op.Restart.Set && p.Template == live.Template && t.joined(p) {
			return true
		}
	}
	return false
}

// joined: ready, a member, and of this cluster by its own word.
func (t *turn) joined(p *Pod) bool {
	a, id := t.answer(p.Name), t.expectedID()
	return t.contact() && p.Ready && !p.Terminating && id != "" && a != nil && a.ClusterID == id && t.member(p.NodeName)
}

// stoppedStep: the template has returned to what the other pods run. The pod is
// left as it is, until another definition comes or it joins after all.
func (t *turn) stoppedStep(op *Operation) {
	r := op.Restart
	p := t.named(r.Pod)
	if p != nil && p.UID != r.PodUID && t.joined(p) {
		r.Done = append(slices.Clone(r.Done), p.UID)
		op.Step = StepReturn
		return
	}
	t.giveBack()
	if t.upgradeCures(op) {
		t.r.Operation = nil
		return
	}
	t.refusal(t.stopped(op, p))
}

// stableStep: green with the same nodes for stableFor, counted from when the
// hold was given back.
func (t *turn) stableStep(op *Operation) {
	if t.letsIn() || t.hangsOnLive(op.Restart.Set) && t.upgradeCures(op) {
		t.r.Operation = nil
		return
	}
	if t.readingWaits() || t.copiesWait(freeAllocation) {
		return
	}
	since := t.o.Stable.Since
	if since.Before(op.Restart.Since) {
		since = op.Restart.Since
	}
	stable := t.elapsed(since)
	if t.o.Stable.Since.IsZero() {
		stable = 0
	}
	wanted := first(t.d.Operations.StableFor, t.p.StableFor, DefaultStableFor)
	if reason, waits := gates.StableFor(op.Restart.Pod, stable, wanted); waits {
		t.wait(reason)
		t.endsIn(wanted - stable)
		return
	}
	op.Step = StepNext
}

// restarted ends it.
func (t *turn) restarted(op *Operation) {
	t.r.Operation, t.r.RestartedAt, t.r.RestartedBy = nil, op.Restart.At, op.Restart.By
	t.computeEnds()
	t.outcome(OperationRestart, StatusSuccess, "", Report{
		Event: EventFeedback, Operation: "update", Action: "change_compute", Reason: "RestartSucceeded",
		Message: fmt.Sprintf("the rolling restart has ended: %d pod(s) were restarted one after the other, and the cluster is green", len(op.Restart.Done)),
	})
}

// restartTimeout reports once that it takes too long; work goes on.
func (t *turn) restartTimeout() {
	op := t.r.Operation
	if !t.restarting() || op.TimedOut || t.elapsed(op.Started) <= t.restartLimit() {
		return
	}
	next := *op
	next.TimedOut = true
	t.r.Operation = &next
	if op.Kind == OperationUpgrade {
		r := t.upgradeReport(*op.Upgrade, "UpgradeTimedOut", fmt.Sprintf("%s has taken more than %s and is still being tried; it waits for: %s", op.Upgrade.words(), t.restartLimit(), t.words()))
		r.Warning = true
		t.outcome(OperationUpgrade, StatusFailure, "upgrade-timeout", r)
		return
	}
	t.outcome(OperationRestart, StatusFailure, "restart-timeout", Report{
		Event: EventFeedback, Operation: "update", Action: "change_compute", Reason: "RestartTimedOut", Warning: true,
		Message: fmt.Sprintf("the rolling restart has taken more than %s and is still being tried; it waits for: %s", t.restartLimit(), t.words()),
	})
}
