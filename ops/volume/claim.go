package volume

import (
	"fmt"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// growing is a claim with the size that is desired of it, and with the class where modifies says
// that its VolumeAttributesClass is ours to change.
type growing struct {
	*model.Claim
	size     int64
	text     string
	class    string
	modifies bool
	// mounted: it has not the size, and its pod runs, or comes back in a moment. A kubelet makes the file
	// system larger while it mounts the volume for a pod that starts.
	mounted bool
}

// sized reports whether the volume has the size. On a claim that no pod uses nobody can make
// the file system larger: the kubelet does that when a pod comes, before its containers start.
func (g *growing) sized() bool {
	if g.Phase != "Bound" && g.Requested >= g.size {
		return true // it is new, and gets a volume of that size
	}
	return g.Capacity >= g.size || !g.mounted && g.Requested >= g.size && g.Resize == model.ResizeNode
}

// grows reports whether anything is left to do with the claim.
func (g *growing) grows() bool { return !g.sized() || g.asks() || !g.classed() }

// asks reports whether the claim has still to be asked for the size: for more, or for less
// than what its driver has failed to give.
func (g *growing) asks() bool {
	return g.Requested < g.size || g.Requested > g.size && g.Resize == model.ResizeFailed && g.Capacity < g.size
}

// failed reports whether its driver said that it cannot give the size that is asked for.
func (g *growing) failed() bool { return !g.asks() && g.Resize == model.ResizeFailed }

// waits says what the claim waits for; "" where it is only its turn.
func (g *growing) waits() string {
	switch {
	case g.Phase != "Bound":
		return "it has no volume yet"
	case g.asks():
		return ""
	case g.failed():
		return "its driver failed"
	case g.Resize == model.ResizeNode:
		return "its file system follows"
	}
	return g.ResizeMessage
}

// desiredSizes are the sizes and VolumeAttributesClasses of all claim templates that are desired, in
// words that compare.
func desiredSizes(v *view.View) string {
	var parts []string
	for _, s := range v.Record.Sets {
		parts = append(parts, s.Name+":"+string(model.Sizes(v.Desired.Volumes, s.Name)))
	}
	for w := range model.Each(v.Desired.Volumes) {
		if w.Attributes != "" {
			parts = append(parts, w.Set+":"+w.Name+" of "+w.Attributes)
		}
	}
	return strings.Join(parts, ";")
}

// A VolumeAttributesClass is changed as a size is: claim by claim while the pods run, and then the
// StatefulSet is recreated around them.

// AsksAgainAfter is how long a claim is not asked for a VolumeAttributesClass after Kubernetes has
// dropped that without a word: it takes an upgrade of Kubernetes, or a feature gate.
const AsksAgainAfter = time.Hour

// modifies reports whether the VolumeAttributesClass of a claim is ours to change: one is desired, or
// what was asked for is to be taken back, which Kubernetes does only while the volume has none.
func modifies(v *view.View, c *model.Claim, w *model.VolumeTemplate) bool {
	if dropped(v) {
		return false
	}
	return w.Attributes != "" || c.Attributes != "" && c.Current == "" && aim.AskedForClass(v, c)
}

// classed reports whether the volume has the class. A new claim gets its volume with it.
func (g *growing) classed() bool {
	switch {
	case !g.modifies:
		return true
	case g.class == "" || g.Phase != "Bound":
		return g.Attributes == g.class
	}
	return g.Attributes == g.class && g.Current == g.class
}

// asksClass reports whether the claim has still to be asked for the class.
func (g *growing) asksClass() bool { return g.modifies && g.Attributes != g.class }

// modifyFailed reports whether its driver said that the volume cannot have the class, or that it has
// failed and tries again.
func (g *growing) modifyFailed() bool {
	said := g.Modify == model.ModifyInfeasible || g.ModifyMessage != ""
	return said && !g.classed() && !g.asksClass()
}

// classWaits says which class the claim is to get, and what it waits for; "" where it has it.
func (g *growing) classWaits() string {
	why := ""
	switch {
	case g.classed():
		return ""
	case g.modifyFailed():
		why = " (its driver failed)"
	case g.Modify == model.ModifyInProgress:
		why = " (its driver changes it)"
	}
	return fmt.Sprintf("goes from %s to %s%s", gates.ClassName(g.Current), gates.ClassName(g.class), why)
}

// otherAttributes reports whether a live claim template is to have another VolumeAttributesClass. One
// that no claim has yet may be dropped by Kubernetes, and the StatefulSet would be recreated for ever.
func otherAttributes(v *view.View, live, w *model.VolumeTemplate) bool {
	if live.Attributes == w.Attributes {
		return false
	}
	return w.Attributes == "" || model.Any(v.Observed.Claims, func(c *model.Claim) bool { return w.Holds(c) && c.Current == w.Attributes })
}

// classesOf names the classes that are desired of what is modified.
func classesOf(v *view.View, growth *model.VolumeGrowth) string {
	return strings.Join(model.Texts(v.Desired.Volumes, func(w *model.VolumeTemplate) string {
		if growth.Modifies(w.Set) && (w.Attributes != "" || model.DataVolume(w.Name)) {
			return fmt.Sprintf("%s of %s has %s", w.Name, w.Set, gates.ClassName(w.Attributes))
		}
		return ""
	}), ", ")
}

// dropped reports whether Kubernetes has dropped a class lately that was asked for.
func dropped(v *view.View) bool {
	g := v.Record.Growth
	return g != nil && !g.Dropped.IsZero() && v.Elapsed(g.Dropped) < AsksAgainAfter && g.Sizes == desiredSizes(v)
}

// waitDropped says so, and that claims are asked again after a while.
func waitDropped(t *pass.Pass) {
	if dropped(&t.View) {
		t.Wait(gates.AttributesDropped(t.Record.Growth.Modified))
		t.EndsIn(AsksAgainAfter - t.Elapsed(t.Record.Growth.Dropped))
	}
}

// Answered is the growth after a claim was asked: Kubernetes may have dropped the class.
func Answered(growth *model.VolumeGrowth, a model.Action, result model.Result, now time.Time) *model.VolumeGrowth {
	if growth == nil || a.Change.Attributes == "" {
		return growth
	}
	if model.Own(&growth).Dropped = (time.Time{}); result.Code == model.ResultDropped {
		growth.Dropped = now
	}
	return growth
}
