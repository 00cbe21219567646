package aim

import (
	"cmp"
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// FirstOutdated is the outdated pod of the lowest ordinal, one that is joined but not ready
// before others; nil where there is none.
func FirstOutdated(v *view.View, set string) *model.Pod {
	var found *model.Pod
	for p := range model.Each(v.Observed.Pods) {
		if p.Set == set && view.Outdated(v, p) && (found == nil || goesBefore(v, p, found)) {
			found = p
		}
	}
	return found
}

// goesBefore is the order of a restart: pods that are not ready, those whose volumes go with them, then
// the lower ordinals. None is created behind one that lacks a disk: one that goes first would wait until their StatefulSet
// is recreated without that, and it goes first only for copies that are missing. In green none is.
func goesBefore(v *view.View, p, other *model.Pod) bool {
	behind := view.LacksDisk(v, p) || view.LacksDisk(v, other)
	whole := behind && v.Observed.Database.Health.Colour == model.Green
	first := [...]func(*view.View, *model.Pod) bool{
		notReadyLong, // whichever else goes first would wait for it
		func(v *view.View, p *model.Pod) bool { return !whole && view.LacksCopies(v, p) }, // copies are missing until it is back
		view.Removes,                             // it is drained
		view.JoinedNotReady, view.ReplacesVolume, // the others are short of its copies until it is back
	}
	asked := len(first)
	if behind {
		asked -= 2
	}
	for _, is := range first[:asked] {
		if goes := is(v, p); goes != is(v, other) {
			return goes
		}
	}
	return p.Ordinal < other.Ordinal
}

// notReadyLong reports whether a pod is a member and not ready, and has had its time to become so.
func notReadyLong(v *view.View, p *model.Pod) bool {
	return view.JoinedNotReady(v, p) && view.StuckSinceStart(v, p)
}

// NextSet is the first set for which a restart is due, masters first; "" for none. A set with a
// pod that cannot run goes before, for its new template may be the remedy, unless another set
// is on trial. Then comes a set that got the desired template out of order: after an eviction Kubernetes recreates
// its pods on that template. Then comes the set of a pod whose node is drained: tables are short of its copies until it is back.
func NextSet(v *view.View) string {
	first, untried, drained, emptied := "", "", "", view.DrainedForNewVolume(v)
	for _, s := range v.Record.Sets {
		if !view.PendingRestart(v, s.Name) && FirstOutdated(v, s.Name) == nil {
			continue
		}
		if first == "" {
			first = s.Name
		}
		comesUp := evictedOnto(v, s.Name) && !PendingMayHelp(v)
		if untried == "" && (comesUp || !view.PendingRestart(v, s.Name)) && slices.Contains(v.Record.OnTrial, s.Name) {
			untried = s.Name
		}
		if v.AnyPod(func(p *model.Pod) bool { return p.Set == s.Name && (p == emptied || view.Removes(v, p)) }) {
			drained = s.Name
		}
		if v.AnyPod(func(p *model.Pod) bool { return p.Set == s.Name && templateMayHelp(v, p) }) && !OtherTrialFirst(v, s.Name) {
			return s.Name
		}
	}
	return cmp.Or(untried, drained, first)
}

// PendingMayHelp reports whether a pod of any set cannot run, and the desired template of its set, which is not
// applied yet, may correct that.
func PendingMayHelp(v *view.View) bool {
	return v.AnyPod(func(p *model.Pod) bool { return view.PendingRestart(v, p.Set) && templateMayHelp(v, p) })
}

// templateMayHelp reports whether another template may bring up a pod: it cannot start, or its node is a member
// and it is not ready, or its node does not join though there is a master.
func templateMayHelp(v *view.View, p *model.Pod) bool {
	switch {
	case !view.NotReady(p):
		return false
	case view.Fails(p), view.HealedByRestart(v, p):
		return true
	}
	return view.HasMaster(v) && view.Absent(v, p.NodeName) && view.StuckSinceStart(v, p)
}

// GotDesired reports whether a set was applied last with its desired template, or keeps the one that it was adopted with.
func GotDesired(v *view.View, set string) bool {
	e := model.Find(v.Observed.Applied.Effective.Sets, func(e *model.EffectiveSet) bool { return e.Name == set })
	return e != nil && e.Template == model.TemplateDesired || view.KeepsAdopted(v, set)
}

// Asked is the time before which pods were made that a person wants restarted, by the
// annotation or the command; zero for none. A time in the future counts as now, and so does a
// text that is no time.
func Asked(v *view.View) (before time.Time, at, by string) {
	at, by = v.Desired.RestartedAt, v.Commanded.RestartedAt
	doneAt, doneBy := v.Record.RestartedAt, v.Record.RestartedBy
	if view.Restarting(v) {
		doneAt, doneBy = v.Record.Operation.Restart.At, v.Record.Operation.Restart.By
	}
	for _, wish := range []struct{ text, done string }{{at, doneAt}, {by, doneBy}} {
		if wish.text == "" || wish.text == wish.done {
			continue
		}
		when, err := time.Parse(time.RFC3339, wish.text)
		if err != nil || when.After(v.Now) {
			when = v.Now
		}
		if when.After(before) {
			before = when
		}
	}
	return before.Truncate(time.Second), at, by
}

// RebuildAsked takes a text that is no time as done, in a cluster that is new or whose record
// was lost: nothing says since when it is there. A time is compared with the pods.
func RebuildAsked(t *pass.Pass) {
	if _, err := time.Parse(time.RFC3339, t.Desired.RestartedAt); err != nil {
		t.Record.RestartedAt = t.Desired.RestartedAt
	}
}

// AbortedHere begins the words about a change that goes on no further; "" while nobody aborts it.
func AbortedHere(v *view.View) string {
	if !Aborted(v) {
		return ""
	}
	return "it was aborted and goes no further; "
}

// Aborted reports whether a person aborts the operation; a command wins over the annotation.
func Aborted(v *view.View) bool {
	return v.Commanded.Abort == "true" || v.Desired.Abort && v.Commanded.Abort != "false"
}
