package volume

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// inFlight is how many claims of a claim template grow at the same time, after the first one has:
// clouds limit how many changes of volumes they take.
const inFlight = 8

// growing is a claim with the size that is desired of it.
type growing struct {
	*model.Claim
	size int64
	text string
	// mounted: its pod is there.
	mounted bool
}

// done reports whether the volume has the size. On a claim that no pod uses nobody can make
// the file system larger: the kubelet does that when a pod comes.
func (g *growing) done() bool {
	if g.Phase != "Bound" && g.Requested >= g.size {
		return true // it is new, and gets a volume of that size
	}
	return g.Capacity >= g.size || !g.mounted && g.Requested >= g.size && g.Resize == model.ResizeNode
}

// asks reports whether the claim has still to be asked for the size: for more, or for less
// than what its driver has failed to give.
func (g *growing) asks() bool {
	return g.Requested < g.size || g.Requested > g.size && g.Resize == model.ResizeFailed && g.Capacity < g.size
}

// claims are the claims of a set that CrateDB or its heap dumps are on, with the size that is
// desired, also of pods that are not there now: a pod that comes back gets the same claim.
func claims(v *view.View, set string) []growing {
	var out []growing
	for i := range v.Observed.Claims {
		c := &v.Observed.Claims[i]
		for j := range v.Desired.Volumes {
			if w := &v.Desired.Volumes[j]; w.Holds(c) && w.Size > 0 && c.Requested > 0 {
				out = append(out, growing{Claim: c, size: w.Size, text: w.Text, mounted: v.Pod(c.Set, c.Ordinal) != nil})
			}
		}
	}
	slices.SortFunc(out, before)
	if set == "" {
		return out
	}
	return slices.DeleteFunc(out, func(g growing) bool { return g.Set != set })
}

// before orders claims so that the first one shows soonest whether its driver can do it: one
// that a pod uses.
func before(a, b growing) int {
	switch {
	case a.mounted != b.mounted && a.mounted:
		return -1
	case a.mounted != b.mounted:
		return 1
	case a.Name < b.Name:
		return -1
	}
	return 1
}

// Due reports whether volumes are to grow: a claim has not what is desired, or a StatefulSet
// makes smaller ones.
func Due(v *view.View) bool {
	if v.Rejected || v.Desired.Removed || !v.Record.Bootstrap.Done {
		return false
	}
	return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
		return behind(v, s.Name) || slices.ContainsFunc(claims(v, s.Name), func(g growing) bool { return !g.done() || g.asks() })
	})
}

// behind reports whether the claim templates of a live StatefulSet are smaller than desired.
func behind(v *view.View, set string) bool {
	return slices.ContainsFunc(v.Observed.Volumes, func(live model.VolumeTemplate) bool {
		w := desired(v, set, live.Name)
		return live.Set == set && w != nil && live.Size > 0 && w.Size > live.Size
	})
}

func desired(v *view.View, set, template string) *model.VolumeTemplate {
	for i := range v.Desired.Volumes {
		if w := &v.Desired.Volumes[i]; w.Set == set && w.Name == template {
			return w
		}
	}
	return nil
}

// Grow asks for larger volumes, whatever else is under way: a full disk is healed by nothing
// else, and what waits for its end would wait for ever.
func Grow(t *pass.Pass) {
	if !Due(&t.View) {
		finish(t)
		return
	}
	begin(t)
	done, total := 0, 0
	var waiting []gates.GrowingClaim
	for _, s := range t.Record.Sets {
		all := claims(&t.View, s.Name)
		total += len(all)
		for i := range all {
			g := &all[i]
			if g.done() && !g.asks() {
				done++
				continue
			}
			waiting = append(waiting, gates.GrowingClaim{Name: g.Name, Capacity: g.Capacity, Wanted: g.size, Waits: waits(t, g)})
		}
		for _, template := range templates(all) {
			for _, g := range next(slices.DeleteFunc(slices.Clone(all), func(g growing) bool { return g.Template != template })) {
				t.Harmless(model.Action{Kind: model.ActionGrowClaim, Claim: g.Name, ClaimUID: g.UID, Size: g.text})
			}
		}
	}
	t.Waits(gates.VolumesGrow(done, total, waiting))
	tellFailures(t)
}

// templates are the names of the claim templates of a set, each once.
func templates(all []growing) []string {
	var out []string
	for _, g := range all {
		if !slices.Contains(out, g.Template) {
			out = append(out, g.Template)
		}
	}
	return out
}

// next are the claims of one template that are asked for more now: the first one alone, the others
// once it has the size.
func next(all []growing) []growing {
	flying, grown, failed := 0, 0, false
	var asking []growing
	for _, g := range all {
		switch {
		case g.asks() && g.Phase == "Bound":
			asking = append(asking, g)
		case g.done():
			grown++
		case g.Resize == model.ResizeFailed:
			failed = true
		case g.Phase == "Bound":
			flying++
		}
	}
	again := slices.IndexFunc(asking, func(g growing) bool { return g.Resize == model.ResizeFailed })
	switch {
	case again >= 0:
		return asking[again : again+1] // for less than what failed
	case failed || len(asking) == 0:
		return nil
	case grown == 0 && flying > 0:
		return nil
	case grown == 0:
		return asking[:1]
	}
	return asking[:min(len(asking), max(inFlight-flying, 0))]
}

// waits says what a claim waits for; "" where it is only its turn.
func waits(t *pass.Pass, g *growing) string {
	switch {
	case g.Phase != "Bound":
		return "it has no volume yet"
	case g.asks():
		return ""
	case g.Resize == model.ResizeFailed:
		t.Wait(gates.VolumeFailed(g.Name, g.Capacity, g.size, g.ResizeMessage))
		return "its driver failed"
	case g.Resize == model.ResizeNode:
		return "its file system follows"
	case g.ResizeMessage != "":
		return g.ResizeMessage
	}
	return ""
}

// begin records how large the file systems are before the first claim grows.
func begin(t *pass.Pass) {
	sizes := desiredSizes(&t.View)
	if g := t.Record.Growth; g != nil && g.Sizes == sizes {
		if !g.Grown.IsZero() {
			next := *g
			next.Grown = time.Time{}
			t.Record.Growth = &next
		}
		return
	}
	next := &model.VolumeGrowth{Sizes: sizes, Since: t.Now}
	if was := t.Record.Growth; was != nil {
		next.Nodes = was.Nodes // another size, while the last one is under way
	}
	for i := range t.Observed.Pods {
		node := t.Observed.Pods[i].NodeName
		known := slices.ContainsFunc(next.Nodes, func(n model.GrowingNode) bool { return n.Name == node })
		if has, grows := dataBytes(&t.View, node); grows && !known {
			next.Nodes = append(slices.Clip(next.Nodes), model.GrowingNode{Name: node, Before: sizeOf(&t.View, node), Claims: has})
		}
	}
	t.Record.Growth = next
	report(t, model.StatusInProgress, "VolumesGrowing", "volume claims grow, and no pod restarts for it: "+wordsOf(&t.View))
}

// desiredSizes are the sizes of all claim templates that are desired, in words that compare.
func desiredSizes(v *view.View) string {
	var parts []string
	for _, s := range v.Record.Sets {
		parts = append(parts, s.Name+":"+string(model.Sizes(v.Desired.Volumes, s.Name)))
	}
	return strings.Join(parts, ";")
}

// dataBytes are what the volumes have on which a node keeps shards, and whether one is to grow.
func dataBytes(v *view.View, node string) (has int64, grows bool) {
	for _, g := range claims(v, "") {
		if p := v.Pod(g.Set, g.Ordinal); p != nil && p.NodeName == node && model.DataVolume(g.Template) {
			has += g.Capacity
			grows = grows || g.Capacity < g.size
		}
	}
	return has, grows
}

// sizeOf is how large CrateDB sees the file systems of a node, in bytes; -1 where it does not say.
func sizeOf(v *view.View, node string) int64 {
	for i := range v.Observed.Database.Nodes {
		if n := &v.Observed.Database.Nodes[i]; n.Name == node && n.DiskSize > 0 {
			return n.DiskSize
		}
	}
	return -1
}
