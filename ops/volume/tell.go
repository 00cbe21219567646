package volume

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// VisibleFor is how long CrateDB may take to see what Kubernetes says that a volume has grown
// by. Its nodes look every 30 s (cluster.info.update.interval); this is four such looks. It
// costs that much only where a file system never shows it.
const VisibleFor = 2 * time.Minute

// finish ends the growth once CrateDB sees the bytes, or has not for VisibleFor.
func finish(t *pass.Pass) {
	growth := t.Record.Growth
	gone := func(s model.RecordedSet) bool { // it may be made with any size, but for one that a grow makes
		return t.Live(s.Name) == nil && !aim.Added(&t.View, s.Name)
	}
	others := func(s model.ObservedSet) bool { return !s.Ours && t.DesiredSet(s.Name) != nil }
	switch {
	case growth == nil, t.Rejected, t.Desired.Removed:
		return
	case slices.ContainsFunc(t.Record.Sets, gone), slices.ContainsFunc(t.Observed.Sets, others):
		return
	}
	skipped := func(c model.Claim) bool { return aim.MayReplace(&t.View) && aim.OnOtherVolume(&t.View, &c) }
	if others, _ := replaced(&t.View); len(others) > 0 || slices.ContainsFunc(t.Observed.Claims, skipped) {
		t.Record.Growth = nil // other volumes are desired by now, which it does not bring
		return
	}
	if toCome, total := podsToCome(&t.View); len(toCome) > 0 {
		t.Waits(gates.VolumesGrow(total-len(toCome), total, toCome))
		return
	}
	if growth.Grown.IsZero() {
		growth = model.Own(&t.Record.Growth)
		growth.Grown = t.Now
	}
	unseen, missing := gates.SizeNotVisible(unseenSizes(&t.View, growth))
	if missing && t.Elapsed(growth.Grown) < VisibleFor {
		t.Wait(unseen)
		return
	}
	t.Record.Growth = nil
	message, named := reached(&t.View, growth), []string(nil)
	if missing {
		message, named = message+". "+unseen.Message, []string{unseen.Name}
	}
	t.Feedback("expand_storage", model.StatusSuccess, "VolumesGrown", message, named...)
}

// podsToCome are the claims whose pods have still to start, which makes their file systems as large as
// the volumes are.
func podsToCome(v *view.View) (toCome []gates.GrowingClaim, total int) {
	for g := range each(v) {
		total++
		if g.Phase == "Bound" && g.Capacity < g.size && podComes(v, g.Claim) {
			toCome = append(toCome, gates.GrowingClaim{Name: g.Name, Capacity: g.Capacity, Desired: g.size, Waits: "its file system follows when its pod has started"})
		}
	}
	return toCome, total
}

// unseenSizes are the nodes that do not see nine tenths of what their claims have grown by: a
// file system keeps some of a volume for itself. Nodes that have left meanwhile have nothing to see.
func unseenSizes(v *view.View, growth *model.VolumeGrowth) []gates.UnseenSize {
	var out []gates.UnseenSize
	for _, n := range growth.Nodes {
		now, before, by := sizeOf(v, n.Name), n.Before, grownBy(v, &n)
		if before < 0 { // it was no member then: all that its volumes have counts
			before, by = 0, by+n.Claims
		}
		seen := now >= 0 && now >= before+by/10*9
		if p := v.Pod(n.Set, n.Ordinal); p != nil && p.Unused != "" {
			continue // what it had before has a disk that it does without by now
		}
		if !seen && n.Ordinal < aim.RecordedReplicas(v, n.Set) {
			out = append(out, gates.UnseenSize{Node: n.Name, Before: before, Now: now, By: by})
		}
	}
	return out
}

// grownBy is how much larger the volumes of a node's data have become.
func grownBy(v *view.View, n *model.GrowingNode) int64 {
	has, _ := dataBytes(v, n.Set, n.Ordinal)
	return has - n.Claims
}

func reached(v *view.View, growth *model.VolumeGrowth) string {
	var parts []string
	if len(growth.Nodes) > 0 || growth.Modified == "" {
		parts = append(parts, "the volumes have the desired size, "+sums(v, growth))
	}
	if growth.Modified != "" {
		parts = append(parts, "the volumes have the desired VolumeAttributesClass, and no pod was restarted for it: "+classesOf(v, growth))
	}
	return strings.Join(parts, "; ")
}

func sums(v *view.View, growth *model.VolumeGrowth) string {
	total, restarted := int64(0), false
	for n := range model.Each(growth.Nodes) {
		total += grownBy(v, n)
		p := v.Pod(n.Set, n.Ordinal)
		restarted = restarted || p != nil && p.Created.After(growth.Since)
	}
	words := gates.Bytes(total) + " more on " + aim.NumberOf(len(growth.Nodes), "node")
	switch {
	case len(growth.Offline) > 0:
		return words + ", and pods were restarted for it: the driver works offline"
	case restarted:
		return words + ", and no pod was restarted for it; those that restarted meanwhile did so for something else"
	}
	return words + ", and no pod was restarted for it"
}

// wordsOf says for each claim template by how much it grows.
func wordsOf(v *view.View) string {
	var parts []string
	for w := range model.Each(v.Desired.Volumes) {
		least := w.Size
		for _, g := range claims(v, w.Set, w.Name) {
			if g.Capacity > 0 { // else it has no volume yet
				least = min(least, g.Capacity)
			}
		}
		if least < w.Size {
			parts = append(parts, fmt.Sprintf("%s of %s from %s to %s", w.Name, w.Set, gates.Bytes(least), gates.Bytes(w.Size)))
		}
	}
	if classes := classesOf(v, v.Record.Growth); classes != "" {
		parts = append(parts, classes)
	}
	if len(parts) == 0 {
		return "claim templates only"
	}
	return strings.Join(parts, ", ")
}

// tellFailures names the claims whose drivers have failed, and reports them once: a driver that
// tries again may say it in other words.
func tellFailures(t *pass.Pass, failed []growing) {
	var claims, words []string
	say := func(claim string, reason gates.Reason) {
		t.Wait(reason)
		claims, words = append(claims, claim), append(words, reason.Message)
	}
	for _, g := range failed {
		if g.failed() {
			say(g.Name, gates.VolumeFailed(g.Name, g.Capacity, g.size, g.ResizeMessage))
		}
		if g.modifyFailed() {
			say(g.Name+" of "+g.class, gates.ModifyFailed(g.Name, g.Current, g.class, g.ModifyMessage, g.Modify == model.ModifyInfeasible))
		}
	}
	told := strings.Join(claims, ",")
	if told == t.Record.Growth.Reported {
		return
	}
	model.Own(&t.Record.Growth).Reported = told
	if told != "" {
		t.Feedback("expand_storage", model.StatusFailure, "VolumeGrowthFailed", strings.Join(words, "; "))
	}
}

// replaced names the StatefulSets that have claim templates of which no claim becomes what is
// desired, and the nodes that are on such claims.
func replaced(v *view.View) (sets, left []string) {
	for _, s := range v.Record.Sets {
		if len(aim.OtherVolumes(v, s.Name)) > 0 {
			sets = append(sets, s.Name)
		}
	}
	for p := range model.Each(v.Observed.Pods) {
		if view.Recorded(v.Record.Sets, p.Set) != nil && len(aim.OtherClaims(v, p)) > 0 {
			left = append(left, p.NodeName)
		}
	}
	return sets, left
}
