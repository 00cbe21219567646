package volume

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// Replace notes that volumes are being replaced, from when others are desired until the node of
// each pod is on such ones, and says how far that has come.
func Replace(t *pass.Pass) {
	if t.Rejected || t.Desired.Removed || !t.Record.Bootstrap.Done {
		return
	}
	if t.Suspending || len(t.Record.Suspended) > 0 {
		return // without its pods nobody can tell, and nothing is replaced
	}
	others, left := replaced(&t.View)
	templates, total := len(others) > 0 && aim.MayReplace(&t.View), 0
	for p := range model.Each(t.Observed.Pods) {
		if view.Recorded(t.Record.Sets, p.Set) != nil {
			total++
		}
	}
	switch was := t.Record.Replacing; {
	case !aim.MayReplace(&t.View) && len(left) > 0 && t.Desired.Operations.Has(definition.ConsentDeleteVolumes):
		// One push never asks for it and consents to it, and the record that knew of the consent may be lost.
		t.Waits(gates.VolumesReplaced(true, "it is not recorded yet that a definition with the consent delete-volumes was applied; "+howFar(total, others, left)))
	case !aim.MayReplace(&t.View) && len(left) > 0:
		t.Waits(gates.VolumesReplaced(was != nil, "the consent delete-volumes is not in the definition any more: no further volume is replaced"))
	case !templates && len(left) == 0:
		// A StatefulSet may be without a disk for a moment, whose claims are the ones to be replaced.
		whole := len(others) == 0 && total >= view.Total(t.Record.Sets, nil) && !underWay(&t.View) && !view.AnyMixed(&t.View)
		if was != nil && whole && t.Record.Exclusions == nil && t.Record.Operation == nil {
			t.Record.Replacing = nil
			t.Feedback("expand_storage", model.StatusSuccess, "VolumesReplaced", "each node is on volumes as desired: "+desiredVolumes(&t.View))
		}
	default:
		if was == nil {
			was = &model.VolumeReplacement{}
		}
		if desired := desiredVolumes(&t.View); was.Desired != desired {
			t.Record.Replacing = &model.VolumeReplacement{Desired: desired, Smaller: was.Smaller}
			t.Feedback("expand_storage", model.StatusInProgress, "VolumesReplacing", "volumes are replaced node by node; each node is drained before: "+desired)
		}
		t.Waits(gates.VolumesReplaced(true, aim.AbortedHere(&t.View)+howFar(total, others, left)))
	}
}

// howFar says which nodes are not on volumes as desired yet. The StatefulSets come first: before that nobody can
// tell of a larger claim whether it is one of those.
func howFar(total int, sets, left []string) string {
	var said []string
	if len(sets) > 0 {
		said = append(said, "the StatefulSets come first; without the desired claim templates yet: "+strings.Join(sets, ", "))
	}
	if len(left) > 0 {
		said = append(said, fmt.Sprintf("%d of %d nodes are on volumes as desired, %s not", total-len(left), total, strings.Join(left, ", ")))
	}
	return strings.Join(said, "; ")
}

// desiredVolumes are the classes and sizes that are desired, in words that compare.
func desiredVolumes(v *view.View) string {
	return strings.Join(model.Texts(v.Record.Sets, func(s *model.RecordedSet) string {
		return fmt.Sprintf("%s has %s of the classes %s", s.Name, model.Sizes(v.Desired.Volumes, s.Name), model.Classes(v.Desired.Volumes, s.Name))
	}), "; ")
}
