package volume

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// StartExpand begins the recreation of a StatefulSet whose claims have all grown, or whose volumes
// are to be replaced. Until then nothing is due: other operations go on while claims grow.
func StartExpand(t *pass.Pass) bool {
	if t.Record.Replacing == nil && !Due(&t.View) {
		return false
	}
	_ = startsFirst(t, func(set string) bool {
		live := t.Live(set)
		return live != nil && live.Ours && others(&t.View, set) && grown(&t.View, set)
	}, func(set string) bool {
		if aim.Smaller(&t.View, set) && aim.SmallerUnread(&t.View) {
			t.Wait(gates.SetRecreated(set, "whether the shards fit on smaller volumes is not known: CrateDB is not read"))
			return true
		}
		return false
	})
	return t.Record.Operation != nil // claims may grow for long, and nothing waits for that
}

// beginExpand begins the recreation of a StatefulSet; false where that has to wait.
func beginExpand(t *pass.Pass, live *model.ObservedSet, recorded int) bool {
	if why := notWhole(&t.View, live, recorded); why != "" {
		t.Wait(gates.SetRecreated(live.Name, why))
		return false
	}
	if t.Record.Lock != nil && !view.BehindDiskWithoutMaster(&t.View, live.Name) {
		// An annotation of a StatefulSet says so too, and goes with it.
		t.Wait(gates.SetRecreated(live.Name, "the allocation lock is given back first"))
		return false
	}
	templates := templatesFor(&t.View, live.Name)
	sizes := model.Sizes(templates, live.Name)
	t.Record.Operation = &model.Operation{
		Kind: model.OperationExpand, Step: model.StepGuard, Started: t.Now, Revision: t.Record.Revision,
		Recreation: &model.Recreation{
			Set: live.Name, UID: live.UID, Pods: live.Replicas, Guarded: everyPod, Shrinks: shrinking(&t.View, live.Name, sizes),
			Sizes: sizes, Classes: model.Classes(templates, live.Name), Attributes: model.AttributesList(templates, live.Name),
			Lacked: view.BehindMissingDisk(&t.View, live.Name) != "", Mounts: view.DisksInUse(&t.View, live.Name, sizes),
		},
	}
	return true
}

// shrinking are the live claim templates that sizes make smaller, separated by commas. The volumes of larger claims are then
// replaced; those of any other claim template stay, for somebody may have made them larger.
func shrinking(v *view.View, set string, sizes model.SizeList) string {
	var out []string
	for _, live := range v.Observed.Volumes {
		w := view.DesiredVolume(v, set, live.Name)
		if live.Set != set || w == nil || w.Size == 0 || w.Size >= live.Size {
			continue
		}
		if text, _ := sizes.Size(live.Name); text == w.Text {
			out = append(out, live.Name)
		}
	}
	return strings.Join(out, ",")
}

// grown reports whether every claim of a set has the size and the class that are desired.
func grown(v *view.View, set string) bool {
	for g := range each(v) {
		if g.Set == set && g.grows() {
			return false
		}
	}
	return true
}

// notWhole says which pod of a StatefulSet is not there, or on its way; "" where all are.
// While the StatefulSet is gone no pod is recreated.
func notWhole(v *view.View, live *model.ObservedSet, recorded int) string {
	switch {
	case live.Terminating:
		return "it is being deleted"
	case view.BehindMissingDisk(v, live.Name) != "":
		if pods := orphans(v, live.Name); len(pods) > 0 {
			return "the pod " + pods[0] + " belongs to another StatefulSet or to none"
		}
		return "" // the recreation is what brings the others back
	case live.Replicas != recorded && !raised(v, live, recorded) || live.Current != live.Replicas:
		return fmt.Sprintf("it has %d pods of %d", live.Current, recorded)
	case live.ObservedGeneration < live.Generation:
		return "its controller has not taken in its last change"
	}
	for ordinal := range live.Replicas {
		switch p := v.Pod(live.Name, ordinal); {
		case p == nil:
			return "the pod " + view.PodName(live.Name, ordinal) + " is not there"
		case !p.Stays(live.UID):
			return "the pod " + p.Name + " is being deleted, or belongs to another StatefulSet or to none"
		}
	}
	return unseen(v, live)
}

// raised reports whether somebody has raised a StatefulSet of which a pod has a disk in addition. Its pods
// need their disks whoever they are of, and others come only after that.
func raised(v *view.View, live *model.ObservedSet, recorded int) bool {
	return live.Replicas > recorded && view.AnyExtraDisk(v, live.Name)
}

// unseen says which claim of a pod is not known, which may be small still: a watch that is behind
// shows none of pods that have just come.
func unseen(v *view.View, live *model.ObservedSet) string {
	for w := range model.Each(v.Desired.Volumes) {
		for ordinal := range live.Replicas {
			is := func(c model.Claim) bool { return w.Holds(&c) && c.Ordinal == ordinal }
			if p := v.Pod(live.Name, ordinal); p != nil && !p.Has(w.Name) {
				continue // it lacks that disk, whose claim may be made when it restarts
			}
			if w.Set == live.Name && view.HasTemplate(v, w.Set, w.Name) && !slices.ContainsFunc(v.Observed.Claims, is) {
				return fmt.Sprintf("the claim %s of the pod %s is not known yet", w.Name, view.PodName(live.Name, ordinal))
			}
		}
	}
	return ""
}

// everyPod is more pods than a budget ever selects. The number that there are would let one go as
// soon as another comes meanwhile.
const everyPod = 1_000_000

// Expand takes the recreation a step further.
func Expand(t *pass.Pass) {
	op := t.Record.Operation
	if !op.Is(model.OperationExpand) || op.Recreation == nil {
		return
	}
	r := op.Recreation
	live := t.Live(r.Set)
	if op.Step == model.StepRecreate && live != nil && live.UID != r.UID {
		noteShrunk(t, r)
		op = model.Own(&t.Record.Operation)
		op.Step = model.StepAdopt
	}
	switch op.Step {
	case model.StepGuard:
		guard(t, r, live)
	case model.StepRecreate:
		recreate(t, r, live)
	case model.StepAdopt:
		adopt(t, r, live)
	}
}

func noteShrunk(t *pass.Pass, r *model.Recreation) {
	if t.Record.Replacing == nil {
		return
	}
	all := model.Once(model.Listed(t.Record.Replacing.Smaller), r.Shrunk()...)
	model.Own(&t.Record.Replacing).Smaller = strings.Join(all, ",")
}

// guard waits until the disruption budget allows no eviction, and then says what is about to be
// deleted: a process that dies after the deletion has to know.
func guard(t *pass.Pass, r *model.Recreation, live *model.ObservedSet) {
	if !stillDue(t, r, live) {
		return
	}
	if why := budgetLetsGo(&t.View, r); why != "" {
		t.Wait(gates.SetRecreated(r.Set, why))
		return
	}
	model.Own(&t.Record.Operation).Step = model.StepRecreate
	recreate(t, r, live)
}

// stillDue drops a recreation that is not due any more, before anything was deleted for it.
func stillDue(t *pass.Pass, r *model.Recreation, live *model.ObservedSet) bool {
	same := live != nil && live.UID == r.UID && live.Replicas == r.Pods
	templates := templatesFor(&t.View, r.Set)
	same = same && model.Sizes(templates, r.Set) == r.Sizes && (r.Classes == "" || model.Classes(templates, r.Set) == r.Classes)
	same = same && (r.Attributes == "" || model.AttributesList(templates, r.Set) == r.Attributes)
	due := recreates(&t.View, r.Set)
	if !same || !due {
		t.Record.Operation = nil
		return false
	}
	if why := notWhole(&t.View, live, r.Pods); why != "" {
		t.Record.Operation = nil // what brings the pod back goes first
		t.Wait(gates.SetRecreated(r.Set, why))
		return false
	}
	return true
}

// budgetLetsGo says why the budget could still let a pod go; "" where it does not.
func budgetLetsGo(v *view.View, r *model.Recreation) string {
	name := budgetOf(v, r.Set)
	if name == "" {
		return "" // the definition has none: whoever evicts is not held back at any time
	}
	switch b := model.Find(v.Observed.Budgets, func(b *model.ObservedBudget) bool { return b.Name == name }); {
	case b == nil:
		return "the disruption budget " + name + " is not there yet"
	case !b.Keeps(r.Guarded):
		return "the disruption budget " + name + " is to keep every pod first"
	}
	return ""
}

// budgetOf is the budget of the definition that selects the pods of a set; "" for none.
func budgetOf(v *view.View, set string) string {
	s := view.Recorded(v.Record.Sets, set)
	if s == nil {
		return ""
	}
	for _, name := range v.Desired.Budgets {
		if names.IsMasterBudget(name, v.Desired.Name) == (s.Group == names.MasterGroup) {
			return name
		}
	}
	return ""
}

// recreate deletes the StatefulSet without its pods. Once it is gone it is recreated when objects are applied.
func recreate(t *pass.Pass, r *model.Recreation, live *model.ObservedSet) {
	switch {
	case live == nil:
		t.Wait(gates.SetRecreated(r.Set, "it is gone, and is recreated"))
	case live.Terminating, unowned(&t.View, r.Set):
		// Where its pods are without it, it was deleted, though the answer was lost and its watch is behind.
		t.Wait(gates.SetRecreated(r.Set, "Kubernetes deletes it without its pods"))
	case !stillDue(t, r, live):
	case !aim.Applied(&t.View):
		// It is made of what was decided last, which has to be what is live.
		t.Wait(gates.SetRecreated(r.Set, "what was decided of it before is not applied yet"))
	default:
		t.Wait(gates.SetRecreated(r.Set, "it is deleted without its pods"))
		t.Decision.Disruptive = &model.Action{
			Kind: model.ActionRecreateSet, Set: r.Set, SetUID: live.UID, SetVersion: live.ResourceVersion, From: r.Pods, Budget: budgetOf(&t.View, r.Set), Value: r.Guarded,
			Pods: away(&t.View, live),
		}
	}
}

// Unchanged drops the deletion of a StatefulSet of which this pass changes something: it is recreated from what
// was decided last, and what is written now may be refused.
func Unchanged(t *pass.Pass) {
	a := t.Decision.Disruptive
	if a == nil || a.Kind != model.ActionRecreateSet {
		return
	}
	is := func(e *model.EffectiveSet) bool { return e.Name == a.Set }
	next, was := model.Find(t.Decision.Effective.Sets, is), model.Find(t.Observed.Applied.Effective.Sets, is)
	if next == nil || was == nil || *next != *was {
		t.Decision.Disruptive = nil
	}
}

// adopt waits until the new StatefulSet has taken the pods.
func adopt(t *pass.Pass, r *model.Recreation, live *model.ObservedSet) {
	switch pods := orphans(&t.View, r.Set); {
	case live == nil:
		t.Wait(gates.SetRecreated(r.Set, "it is gone, and is recreated"))
	case !live.Ours:
		t.Wait(gates.SetRecreated(r.Set, "somebody has made another one of its name: delete that without its pods (--cascade=orphan)"))
	case len(pods) > 0:
		t.Wait(gates.SetRecreated(r.Set, "the new one takes its pods: "+strings.Join(pods, ", ")))
	case live.ObservedGeneration < live.Generation:
		t.Wait(gates.SetRecreated(r.Set, "Kubernetes' StatefulSet controller has not seen the new one yet"))
	default:
		t.Record.Operation = nil
	}
}

// InGap reports whether a StatefulSet was deleted without its pods, and is not recreated or has not taken them
// yet. Its pods are not recreated meanwhile, and a budget that is given back lets them go, so that nothing else is
// decided before.
func InGap(v *view.View) bool {
	op := v.Record.Operation
	if !op.Is(model.OperationExpand) || op.Step == model.StepGuard || op.Recreation == nil {
		return false
	}
	live := v.Live(op.Recreation.Set)
	switch {
	case live == nil:
	case live.UID == op.Recreation.UID:
		return unowned(v, live.Name) // or it is being deleted
	default:
		// Its last pod may be on its way: until the controller has seen it, nobody expects that pod.
		return !live.Ours || unowned(v, live.Name) || live.ObservedGeneration < live.Generation
	}
	// Its last pod may be gone by now; by consent it is deleted with its pods.
	return aim.Orphans(v, op.Recreation.Set) > 0 || !v.Desired.Removed
}

// KeepClaimTemplates gives the effective set the sizes of its claim templates: those that are live, which
// Kubernetes does not change, and of one that is recreated the new ones.
func KeepClaimTemplates(v *view.View, e *model.EffectiveSet) {
	live := v.Live(e.Name)
	op := v.Record.Operation
	recreating := op != nil && op.Recreation != nil && op.Recreation.Set == e.Name
	switch {
	case live == nil && recreating:
		e.Sizes, e.Classes, e.Attributes = op.Recreation.Sizes, op.Recreation.Classes, op.Recreation.Attributes
		e.Mounts, e.Lacked = op.Recreation.Mounts, op.Recreation.Lacked
		e.Template, e.KeepGateway = model.TemplateKept, false
	case aim.ComesUntried(v, e.Name):
		// The record was lost while it was gone: nobody knows any other template, and pods without
		// a StatefulSet need one, whatever of the definition is refused.
		e.Template, e.KeepGateway = model.TemplateDesired, false
		used := usedDisks(v, e.Name)
		e.Sizes, e.Classes = model.Sizes(used, e.Name), model.Classes(used, e.Name)
	case live == nil:
		if model.Any(v.Desired.Changes, func(c *model.Change) bool { return c.Set == e.Name && c.Class == model.ChangeFewerDisks }) {
			e.Template = model.TemplateKept // somebody has deleted it, and its pods use what is not desired
		}
		if nothing := v.Record.Saved[e.Name] == "" && aim.Orphans(v, e.Name) == 0; nothing && e.Template != model.TemplateDesired {
			*e = model.EffectiveSet{Name: e.Name, Absent: true} // its grow gave way before anything of it was made
			return
		}
	case live.Terminating && recreating:
		e.Gap = true
	case e.Template != model.TemplateDesired || differs(v, e.Name):
		// What is saved of it may be older than its recreation.
		e.Sizes, e.Classes = model.Sizes(v.Observed.Volumes, e.Name), model.Classes(v.Observed.Volumes, e.Name)
		e.Attributes = model.AttributesList(v.Observed.Volumes, e.Name)
	}
	if live != nil && e.Template != model.TemplateDesired {
		e.Mounts = view.DisksInUse(v, e.Name, e.Sizes)
	}
	if e.Mounts != "" {
		e.Marks = view.MarksOf(v, e.Name, e.Mounts)
	}
	e.Unused = view.Narrowing(v, e.Name)
}

// usedDisks are the desired claim templates, and those of disks that the pods of a set use in addition; none where
// there are none of those. Each is as the first disk is: see returning.
func usedDisks(v *view.View, set string) []model.VolumeTemplate {
	var used []model.VolumeTemplate
	first := firstDisk(v.Desired.Volumes, set)
	for c := range model.Each(v.Observed.Claims) {
		if c.Set != set || first == nil || !model.DataVolume(c.Template) || view.DesiredVolume(v, set, c.Template) != nil {
			continue
		}
		p := v.Pod(set, c.Ordinal)
		its := p != nil && p.Volumes != "" && p.Uses(c.Template)
		if its && !model.Any(used, func(u *model.VolumeTemplate) bool { return u.Name == c.Template }) {
			used = append(used, named(*first, c.Template))
		}
	}
	if len(used) == 0 {
		return nil
	}
	return append(used, v.Desired.Volumes...)
}

// firstDisk is the first claim template of a disk for data that a set has; nil for none.
func firstDisk(list []model.VolumeTemplate, set string) *model.VolumeTemplate {
	return model.Find(list, func(w *model.VolumeTemplate) bool { return w.Set == set && model.DataVolume(w.Name) })
}

// named is a claim template as this one is, of another disk.
func named(w model.VolumeTemplate, disk string) model.VolumeTemplate {
	w.Name = disk
	return w
}

// differs reports whether a live claim template is another one than the desired one, or
// there is none of a disk that is desired.
func differs(v *view.View, set string) bool {
	return len(view.FurtherDisks(v, set)) > 0 || len(view.SurplusDisks(v, set)) > 0 || model.Any(v.Observed.Volumes, func(live *model.VolumeTemplate) bool {
		w := view.DesiredVolume(v, set, live.Name)
		if live.Set != set || w == nil {
			return false
		}
		return w.Size != live.Size || w.Class != live.Class || w.Attributes != live.Attributes
	})
}

// unowned reports whether pods of a StatefulSet belong to none, or to one that is being deleted.
func unowned(v *view.View, set string) bool {
	live := v.Live(set)
	return live != nil && live.Terminating || len(orphans(v, set)) > 0
}

// Guard gives the budgets over pods that no StatefulSet owns the number of pods that they have to
// keep, and no other one. While a recreation is recorded that begins before they are without it.
func Guard(t *pass.Pass) {
	op, lost := t.Record.Operation, forgotten(&t.View, true) != ""
	for i, b := range t.Record.Budgets {
		b.MinAvailable = 0
		keeps := lost && !names.IsMasterBudget(b.Name, t.Desired.Name) // masters are not removed
		for _, s := range t.Record.Sets {
			begun := op != nil && op.Recreation != nil && op.Recreation.Set == s.Name
			alone := begun || unowned(&t.View, s.Name) || view.Mixed(&t.View, s.Name)
			// The next pod of one whose template does without a disk comes without what is on that.
			alone = alone || b.MaxUnavailable > 0 && view.Narrow(&t.View, s.Name)
			keeps = keeps || alone && budgetOf(&t.View, s.Name) == b.Name
		}
		if keeps {
			b.MinAvailable = everyPod // also where the record was lost meanwhile
		}
		if b != t.Record.Budgets[i] {
			t.Record.Budgets = slices.Clone(t.Record.Budgets)
			t.Record.Budgets[i] = b
		}
	}
}

// Forgotten reports whether a StatefulSet was deleted without its pods, and the record was lost. Where its group is in the
// definition it is noted: its StatefulSet is made for the pods that are there, before anything else is done, whatever of the
// definition is refused and whatever the health is. Where it is not, nothing says how it was, and a person is waited for.
func Forgotten(t *pass.Pass) bool {
	set := forgotten(&t.View, false)
	switch w := t.DesiredSet(set); {
	case set == "":
		return false
	case w == nil:
		t.Wait(gates.SetRecreated(set, "it is gone, the record was lost with it, and no group of the definition has its pods: write the group back, and remove it again once it has its StatefulSet"))
	default:
		t.Record.Sets = append(slices.Clip(t.Record.Sets), model.RecordedSet{Name: w.Name, Group: w.Group, Replicas: aim.Orphans(&t.View, w.Name)})
	}
	return true
}

// forgotten is a StatefulSet of which only pods are there, or somebody's in its place, and nothing is
// recorded; "" for none. With going, pods count that are on their way out, and those that name one that is not there: their
// watch may be behind. No other pod may be evicted meanwhile.
func forgotten(v *view.View, going bool) string {
	for p := range model.Each(v.Observed.Pods) {
		live := v.Live(p.Set)
		known := view.Recorded(v.Record.Sets, p.Set) != nil || live != nil && live.Ours
		alone := p.Controller == "" && !p.Terminating
		if going {
			alone = live == nil || p.Controller != live.UID
		}
		if !known && alone {
			return p.Set
		}
	}
	return ""
}

// KeepOthers leaves every other StatefulSet as it is while one is away from its pods, or, with closes, mounts again
// what its nodes have: a pause and a release are kept to, and what else is decided waits.
func KeepOthers(t *pass.Pass, closes bool) {
	for e := range model.Each(t.Decision.Effective.Sets) {
		live := t.Live(e.Name)
		e.Gap = live != nil && (!closes || live.Unused == "")
	}
}
