package volume

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Kubernetes does not say whether a driver works online: while a file system is to follow, the
// claim looks the same. Only time tells, once for each storage class.

// pending notes which file systems are to follow while their pods run, and since when; and the
// storage classes whose drivers have not done it in time.
func pending(t *pass.Pass) {
	was := t.Record.Growth
	next := *was
	next.Pending = nil
	limit := model.First(t.Policy.OfflineAfter, model.DefaultOfflineAfter)
	for g := range each(&t.View) {
		p := podOf(&t.View, g.Claim)
		since, known := was.PendingSince(g.Name)
		runs := runs(p) && !p.Terminating
		if !g.follows() || !known && !runs {
			continue
		}
		if !known {
			since = t.Now
			if !g.Follows.IsZero() && !p.Created.Before(g.Follows) && p.Started.Truncate(time.Second).After(g.Follows) {
				since = g.Follows // the pod was made after that, and mounts the volume anew; times are whole seconds
			}
		}
		next.Pending = append(next.Pending, model.PendingFileSystem{Claim: g.Name, Since: since})
		switch left := limit - t.Elapsed(since); {
		case slices.Contains(was.Offline, g.Class), !runs, !p.Created.Before(since):
		case left > 0:
			t.EndsIn(left)
		default:
			next.Offline = append(slices.Clip(next.Offline), g.Class)
		}
	}
	slices.SortFunc(next.Pending, func(a, b model.PendingFileSystem) int { return strings.Compare(a.Claim, b.Claim) })
	next.Offline = model.Distinct(next.Offline)
	t.Record.Growth = &next
}

func runs(p *model.Pod) bool { return p != nil && !p.Started.IsZero() }

// follows reports whether the volume is larger, and its file system is to follow.
func (g *growing) follows() bool { return g.Resize == model.ResizeNode && !g.sized() && !g.asks() }

// comesBack reports whether the pod of a claim is away for a moment whose file system is to follow.
func comesBack(v *view.View, c *model.Claim) bool {
	_, pending := v.Record.Growth.PendingSince(c.Name)
	return pending && podComes(v, c)
}

// offline says what a claim waits for whose driver works offline; "" for another one.
func (g *growing) offline(v *view.View) string {
	growth := v.Record.Growth
	p := v.Pod(g.Set, g.Ordinal)
	switch {
	case growth == nil || p == nil || !g.follows() || !slices.Contains(growth.Offline, g.Class):
		return ""
	case view.AwaitsMount(v, p) && v.Desired.Operations.OfflineResize == model.OfflineRestart:
		return "its driver works offline: the pod is restarted for it"
	case view.AwaitsMount(v, p):
		return "its driver works offline: restart the cluster, or write spec.operations.offlineResize: restart"
	}
	return "its driver works offline, and its file system has not followed though the pod was restarted: look at the pod's events"
}
