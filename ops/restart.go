package ops

import (
	"cmp"
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
// restart and that is not live yet.
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

// firstOutdated is the pod of the lowest ordinal, one that is not ready before others.
func (t *turn) firstOutdated(set string) *Pod {
	var found *Pod
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Set != set || !t.outdated(p) {
			continue
		}
		if found == nil || t.unready(p) && !t.unready(found) || p.Ordinal < found.Ordinal && t.unready(p) == t.unready(found) {
			found = p
		}
	}
	return found
}

// nextSet is the first that a restart is due for, masters first. One with a pod
// that cannot run goes before, for its new template may be the cure, unless another
// set is on a template that no pod has joined on; and then one that got what is wanted
// out of its turn, for whoever ends a pod of it has it made on that.
func (t *turn) nextSet() string {
	first, untried := "", ""
	for _, s := range t.r.Sets {
		if !t.pendingRestart(s.Name) && t.firstOutdated(s.Name) == nil {
			continue
		}
		if first == "" {
			first = s.Name
		}
		if untried == "" && !t.pendingRestart(s.Name) && slices.Contains(t.r.Unproven, s.Name) {
			untried = s.Name
		}
		for i := range t.o.Pods {
			if p := &t.o.Pods[i]; p.Set == s.Name && !p.Ready && !p.Terminating && (fails(p) || t.mayMend(p) || t.led() && t.absent(p.NodeName) && t.elapsed(up(p)) > t.podLimit()) && !t.othersFirst(s.Name) {
				return s.Name
			}
		}
	}
	return cmp.Or(untried, first)
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
		t.refusal(gates.Aborted(t.left()))
		t.r.Operation = nil
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
	switch {
	case !t.aborted():
	case op.Kind == OperationUpgrade:
		t.refusal(t.upgradeAborted(op.Upgrade.OldVersion, op.Upgrade.NewVersion))
	default:
		t.refusal(gates.Aborted(t.left()))
	}
	// Where its group is to go its pod never comes up again on what is wanted, and on what
	// it had before it may.
	goes := restart.Set != "" && t.wanted(restart.Set) == nil && (op.Step == StepDown || op.Step == StepStopped) && !t.isBack(&restart)
	if t.aborted() || goes {
		t.giveBack()
		t.leaves(&op)
		return
	}
	if op.Step != StepHold && op.Step != StepDown && t.upgradeCures(&op) && slices.ContainsFunc(t.r.Sets, func(s RecordedSet) bool { return t.hangsOnLive(s.Name) }) {
		t.r.Operation = nil
		return
	}
	if op.Step == StepDown {
		t.downStep(&op)
	}
	switch op.Step {
	case StepDown:
	case StepHold:
		t.holdStep(&op)
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

// leaves ends a restart where it stands, once nothing is held and nothing hangs on its
// template for good. One that is on no pod yet goes back: others' hands would put pods on it.
func (t *turn) leaves(op *Operation) {
	switch {
	case t.r.Hold != nil:
	case t.leavesHanging(op.Restart), t.backFirst(op.Restart):
		if op.Step != StepDown { // its pod may come back yet
			op.Step = StepNext
		}
	default:
		t.r.Operation = nil
	}
}

// left is how many pods a restart has still to take.
func (t *turn) left() int {
	left := 0
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; t.outdated(p) || t.pendingRestart(p.Set) {
			left++
		}
	}
	return left
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
