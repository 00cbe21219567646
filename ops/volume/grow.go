package volume

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// inFlight is how many claims of a claim template grow at the same time, after the first one has:
// clouds limit how many changes of volumes they take.
const inFlight = 8

// each are all claims of the cluster that CrateDB or its heap dumps are on, with the size that is
// desired, also of pods that are not there now: a pod that comes back gets the same claim.
func each(v *view.View) iter.Seq[growing] {
	return func(yield func(growing) bool) {
		for c := range model.Each(v.Observed.Claims) {
			w := view.DesiredVolume(v, c.Set, c.Template)
			sized := w != nil && w.Size > 0 && c.Requested > 0
			if !sized || aim.MayReplace(v) && aim.OnOtherVolume(v, c) || unborn(v, c) {
				continue
			}
			// Most have their size, and nothing more is asked of them.
			mounted := c.Capacity < w.Size && (runs(podOf(v, c)) || comesBack(v, c))
			if !yield(growing{Claim: c, size: w.Size, text: w.Text, class: w.Attributes, modifies: modifies(v, c, w), mounted: mounted}) {
				return
			}
		}
	}
}

// unborn reports whether a claim waits for a volume and no pod comes with it: its pod was scaled away, or it was made
// for a disk that its StatefulSet has not now. Kubernetes makes only bound claims larger, and it grows once it is one.
func unborn(v *view.View, c *model.Claim) bool {
	return c.Phase == "Pending" && v.Live(c.Set) != nil && !podComes(v, c)
}

// podComes reports whether a StatefulSet makes a pod with a claim where none is.
func podComes(v *view.View, c *model.Claim) bool {
	live := v.Live(c.Set)
	return live != nil && c.Ordinal < live.Replicas && view.HasTemplate(v, c.Set, c.Template)
}

// claims are those of one template of a StatefulSet, in the order in which they are asked.
func claims(v *view.View, set, template string) []growing {
	var out []growing
	for g := range each(v) {
		if g.Set == set && g.Template == template {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, before)
	return out
}

// before orders claims so that the first one shows soonest whether its driver can do it: one
// that a pod uses.
func before(a, b growing) int {
	if a.mounted != b.mounted {
		if a.mounted {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

// Due reports whether volumes are to grow: a claim has not what is desired, or a StatefulSet
// makes smaller ones.
func Due(v *view.View) bool {
	if v.Rejected || v.Desired.Removed || !v.Record.Bootstrap.Done {
		return false
	}
	for g := range each(v) {
		if g.grows() && view.Recorded(v.Record.Sets, g.Set) != nil {
			return true
		}
	}
	behind := func(s model.RecordedSet) bool { return behind(v, s.Name) }
	return dropped(v) || slices.ContainsFunc(v.Record.Sets, behind)
}

// underWay reports whether volumes are to grow, or file systems have still to follow those that have grown.
func underWay(v *view.View) bool {
	toCome, _ := podsToCome(v)
	return v.Record.Growth != nil || Due(v) || len(toCome) > 0
}

// behind reports whether the claim templates of a live StatefulSet are smaller than desired or have
// another VolumeAttributesClass, and its claims can become what is desired.
func behind(v *view.View, set string) bool {
	return len(aim.OtherVolumes(v, set)) == 0 && model.Any(v.Observed.Volumes, func(live *model.VolumeTemplate) bool {
		w := view.DesiredVolume(v, set, live.Name)
		smaller := w != nil && live.Size > 0 && w.Size > live.Size
		return live.Set == set && w != nil && (smaller || otherAttributes(v, live, w))
	})
}

// Grow asks for larger volumes, whatever else is under way: a full disk is healed by nothing
// else, and what waits for its end would wait for ever.
func Grow(t *pass.Pass) {
	if !Due(&t.View) {
		finish(t)
		return
	}
	begin(t)
	pending(t)
	done, total := 0, 0
	var waiting []gates.GrowingClaim
	var failed []growing
	for w := range model.Each(t.Desired.Volumes) {
		if view.Recorded(t.Record.Sets, w.Set) == nil {
			continue
		}
		all := claims(&t.View, w.Set, w.Name)
		total += len(all)
		for g := range model.Each(all) {
			if !g.grows() {
				done++
				continue
			}
			waiting = append(waiting, gates.GrowingClaim{Name: g.Name, Capacity: g.Capacity, Desired: g.size, Waits: cmp.Or(g.offline(&t.View), g.waits()), Class: g.classWaits()})
			if g.failed() || g.modifyFailed() {
				failed = append(failed, *g)
			}
		}
		ask(t, all)
	}
	t.Waits(gates.VolumesGrow(done, total, waiting))
	waitDropped(t)
	tellFailures(t, failed)
}

// ask asks claims of one template for what is desired of them, each at once for all of it.
func ask(t *pass.Pass, all []growing) {
	sizes := next(all, aspect{(*growing).asks, (*growing).sized, (*growing).failed, func(g *growing) bool { return g.Resize == model.ResizeFailed }})
	classes := next(all, aspect{(*growing).asksClass, (*growing).classed, (*growing).modifyFailed, func(g *growing) bool { return g.Modify == model.ModifyInfeasible }})
	for g := range model.Each(all) {
		var change model.ClaimChange
		if slices.Contains(sizes, g.Name) {
			change.Size = g.text
		}
		if slices.Contains(classes, g.Name) {
			change.Attributes, change.NoAttributes = g.class, g.class == ""
		}
		if change != (model.ClaimChange{}) {
			t.Harmless(model.Action{Kind: model.ActionGrowClaim, Claim: g.Name, ClaimUID: g.UID, Change: change})
		}
	}
}

// aspect is one of the two things that are asked of a claim, its size or its class: whether it has
// still to be asked, has it, its driver has failed, or has failed with what was asked before.
type aspect struct{ asks, done, failed, again func(*growing) bool }

// next are the claims of one template that are asked now: the first one alone, the others once it
// has what it was asked for.
func next(all []growing, of aspect) []string {
	flying, grown, failed, again := 0, 0, false, ""
	var asking []string
	for g := range model.Each(all) {
		switch {
		case of.asks(g) && g.Phase == "Bound":
			if asking = append(asking, g.Name); again == "" && of.again(g) {
				again = g.Name
			}
		case of.done(g) && g.Phase == "Bound": // the driver has shown nothing by a claim that waits for its volume
			grown++
		case of.failed(g):
			failed = true
		case g.Phase == "Bound":
			flying++
		}
	}
	switch {
	case grown == 0 && flying > 0:
		return nil
	case again != "":
		return []string{again} // for something else than what failed
	case failed || len(asking) == 0:
		return nil
	case grown == 0:
		return asking[:1]
	}
	return asking[:min(len(asking), max(inFlight-flying, 0))]
}

// begin records how large the file systems are before the first claim grows.
func begin(t *pass.Pass) {
	sizes := desiredSizes(&t.View)
	if g := t.Record.Growth; g != nil && g.Sizes == sizes {
		if !g.Grown.IsZero() {
			model.Own(&t.Record.Growth).Grown = time.Time{}
		}
		return
	}
	next := &model.VolumeGrowth{Sizes: sizes, Since: t.Now, Modified: modified(&t.View)}
	if was := t.Record.Growth; was != nil {
		next.Nodes, next.Offline = was.Nodes, was.Offline // another size, while the last one is under way
	}
	for p := range model.Each(t.Observed.Pods) {
		known := slices.ContainsFunc(next.Nodes, func(n model.GrowingNode) bool { return n.Name == p.NodeName })
		if has, grows := dataBytes(&t.View, p.Set, p.Ordinal); grows && !known {
			next.Nodes = append(slices.Clip(next.Nodes), model.GrowingNode{Name: p.NodeName, Set: p.Set, Ordinal: p.Ordinal, Before: sizeOf(&t.View, p.NodeName), Claims: has})
		}
	}
	t.Record.Growth = next
	what := "volume claims grow"
	if next.Modified != "" {
		what = "volume claims change in place"
	}
	t.Feedback("expand_storage", model.StatusInProgress, "VolumesGrowing", what+", and no pod restarts for it: "+wordsOf(&t.View))
}

// modified are the StatefulSets of whose claims another class is asked for, or was before.
func modified(v *view.View) string {
	var sets []string
	for _, s := range v.Record.Sets {
		if v.Record.Growth.Modifies(s.Name) {
			sets = append(sets, s.Name)
		}
	}
	for g := range each(v) {
		if !g.classed() {
			sets = model.Once(sets, g.Set)
		}
	}
	return strings.Join(sets, ",")
}

// dataBytes are what the volumes have on which a pod's node keeps shards, and whether one is to grow.
func dataBytes(v *view.View, set string, ordinal int) (has int64, grows bool) {
	for g := range each(v) {
		if g.Set == set && g.Ordinal == ordinal && model.DataVolume(g.Template) && podOf(v, g.Claim) != nil {
			has += g.Capacity
			grows = grows || g.Capacity < g.size
		}
	}
	return has, grows
}

// sizeOf is how large CrateDB sees the file systems of a node, in bytes; -1 where it does not say.
func sizeOf(v *view.View, node string) int64 {
	if n := view.NodeNamed(v, node); n != nil && n.DiskSize > 0 {
		return n.DiskSize
	}
	return -1
}
