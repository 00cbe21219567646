package volume

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	if growth == nil || t.Rejected || t.Desired.Removed {
		return
	}
	if growth.Grown.IsZero() {
		next := *growth
		next.Grown = t.Now
		t.Record.Growth, growth = &next, &next
	}
	unseen, missing := gates.SizeNotVisible(unseenSizes(&t.View, growth))
	if missing && t.Elapsed(growth.Grown) < VisibleFor {
		t.Wait(unseen)
		return
	}
	t.Record.Growth = nil
	message := "the volumes have the size that is desired, " + sums(&t.View, growth)
	if missing {
		message += ". " + unseen.Message
	}
	r := model.Report{Event: model.EventFeedback, Operation: "update", Action: "expand_storage", Reason: "VolumesGrown", Status: model.StatusSuccess, Message: message}
	if missing {
		r.Names = []string{unseen.Name}
	}
	t.Report(r)
}

// unseenSizes are the nodes that do not see nine tenths of what their claims have grown by: a
// file system keeps some of a volume for itself.
func unseenSizes(v *view.View, growth *model.VolumeGrowth) []gates.UnseenSize {
	var out []gates.UnseenSize
	for _, n := range growth.Nodes {
		now := sizeOf(v, n.Name)
		has, _ := dataBytes(v, n.Name)
		by := has - n.Claims
		if now >= 0 && n.Before >= 0 && now >= n.Before+by/10*9 {
			continue
		}
		out = append(out, gates.UnseenSize{Node: n.Name, Before: n.Before, Now: now, By: by})
	}
	return out
}

// sums says how much larger the volumes have become.
func sums(v *view.View, growth *model.VolumeGrowth) string {
	total := int64(0)
	for _, n := range growth.Nodes {
		has, _ := dataBytes(v, n.Name)
		total += has - n.Claims
	}
	return fmt.Sprintf("%s more on %d nodes, and no pod was restarted for it", gates.Bytes(total), len(growth.Nodes))
}

// wordsOf says for each claim template by how much it grows.
func wordsOf(v *view.View) string {
	var parts []string
	for i := range v.Desired.Volumes {
		w := &v.Desired.Volumes[i]
		least := int64(-1)
		for _, g := range claims(v, w.Set) {
			if g.Template == w.Name && (least < 0 || g.Capacity < least) {
				least = g.Capacity
			}
		}
		if least >= 0 && least < w.Size {
			parts = append(parts, fmt.Sprintf("%s of %s from %s to %s", w.Name, w.Set, gates.Bytes(least), gates.Bytes(w.Size)))
		}
	}
	if len(parts) == 0 {
		return "claim templates only"
	}
	return strings.Join(parts, ", ")
}

// tellFailures reports each claim once whose driver has failed.
func tellFailures(t *pass.Pass) {
	var failed, words []string
	for _, w := range t.Decision.Waits {
		if w.Name == gates.VolumeFailedRule.Name {
			claim, _, _ := strings.Cut(w.Message, " ")
			failed, words = append(failed, claim), append(words, w.Message)
		}
	}
	slices.Sort(failed)
	told := strings.Join(failed, ",")
	if told == t.Record.Growth.Told {
		return
	}
	next := *t.Record.Growth
	next.Told = told
	t.Record.Growth = &next
	if len(failed) > 0 {
		report(t, model.StatusFailure, "VolumeGrowthFailed", strings.Join(words, "; "))
	}
}

func report(t *pass.Pass, status model.Status, reason, message string) {
	t.Report(model.Report{
		Event: model.EventFeedback, Operation: "update", Action: "expand_storage", Status: status,
		Reason: reason, Warning: status == model.StatusFailure, Message: message,
	})
}
