package ops_test

import (
	"context"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// toyCompute is the CPU and memory of the world.
type toyCompute struct {
	// amounts are those of the template that is desired; "" is none. In amountsOf are those of
	// the live StatefulSets.
	amounts   model.Resources
	amountsOf map[string]model.Resources
	// compute are the pods' own.
	compute map[string]*toyAmounts
	// kubelet is what the kubelet of a pod does with other amounts: "" gives them.
	kubelet map[string]model.ResizeStage
	// can is whether Kubernetes resizes pods; resized are the pods in the order in which they
	// were asked.
	can     model.CanResize
	resized []string
}

type toyAmounts struct {
	uid, revision string
	spec, actual  model.Resources
	stage         model.ResizeStage
	altered       bool
}

const savedAmounts = "@amounts"

// resizeChanges are what Classify says where only CPU and memory differ that pods get in place.
func (w *world) resizeChanges(saved model.Saved, set string) []model.Change {
	if had := saved[set+savedAmounts]; had == "" || had == string(w.amounts) {
		return nil
	}
	return []model.Change{{Class: model.ChangeResize, Set: set, Path: "spec.template.spec.containers[crate].resources.requests.cpu"}}
}

// keepAmounts does with amounts what Materialise does: with resized the hash stays.
func (w *world) keepAmounts(saved, next model.Saved, s model.EffectiveSet) {
	had := saved[s.Name+savedAmounts]
	next[s.Name+savedAmounts] = had
	if s.Template != model.TemplateDesired || w.amounts == "" {
		return
	}
	if next[s.Name+savedAmounts] = string(w.amounts); had != "" && (s.Resized || had == string(w.amounts)) && w.only() {
		next[s.Name] = saved[s.Name]
	}
}

// only reports whether nothing but amounts has changed since the cluster was made.
func (w *world) only() bool {
	return w.amounts != "" && w.template != "t3" && w.desired.Version == w.first
}

func (w *world) seeCompute(o *model.Observed) {
	o.Resize = w.can
	for i := range o.Sets {
		s := &o.Sets[i]
		s.Resources, s.UpdateRevision = w.amountsOf[s.Name], w.live[s.Name]+string(w.amountsOf[s.Name])
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		a := w.compute[p.Name]
		if a == nil || a.uid != p.UID {
			a = &toyAmounts{uid: p.UID, spec: w.amountsOf[p.Set], actual: w.amountsOf[p.Set], revision: w.live[p.Set] + string(w.amountsOf[p.Set])}
			if w.compute == nil {
				w.compute = map[string]*toyAmounts{}
			}
			w.compute[p.Name] = a
		}
		p.Resources, p.Actual, p.Revision, p.Altered, p.Resize = a.spec, a.actual, a.revision, a.altered, a.stage
		p.ResizeMessage = "words of the kubelet of " + p.Name
		switch stops := w.kubelet[p.Name]; {
		case a.spec == a.actual:
			a.stage = ""
		case stops != "":
			a.stage = stops
		case a.stage == model.ResizeAsked:
			a.actual, a.stage = a.spec, ""
		default:
			a.stage = model.ResizeAsked
		}
	}
}

func (w *world) applyAmounts(set string, saved model.Saved) bool {
	return w.amountsOf[set] != model.Resources(saved[set+savedAmounts])
}

func (w *world) setAmounts(set string, saved model.Saved) {
	w.amountsOf = maps.Clone(w.amountsOf)
	if w.amountsOf == nil {
		w.amountsOf = map[string]model.Resources{}
	}
	w.amountsOf[set] = model.Resources(saved[set+savedAmounts])
}

// ResizePod asserts that one pod is asked at a time, and only what its live template says.
func (w *world) ResizePod(_ context.Context, name, uid string, resources model.Resources) error {
	a := w.compute[name]
	if a == nil || a.uid != uid || w.pods[name].away > 0 {
		return execute.ErrNotFound
	}
	w.write(func() {
		for other, b := range w.compute {
			waits := other == name || b.spec == b.actual || w.pods[other].away > 0 || slices.Contains([]model.ResizeStage{model.ResizeDeferred, model.ResizeInfeasible, model.ResizeError}, b.stage)
			require.True(w.t, waits, "%s is asked while %s has not answered", name, other)
		}
		require.NotNil(w.t, w.record.Resizing, "the intent is recorded before")
		a.spec, a.altered, a.stage = resources, true, model.ResizeAsked
		w.resized = append(w.resized, name)
	})
	return nil
}
