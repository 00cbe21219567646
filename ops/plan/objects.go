package plan

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// Differences compares two sides of one object of which neither is live: the
// desired one and the one before. Values of Secrets are masked.
func Differences(wanted, before *unstructured.Unstructured) []compare.FieldChange {
	key := compare.KeyOf(cmp.Or(wanted, before))
	changes := compare.Diff(wanted, before, nil)
	if wanted != nil && before != nil {
		// Nobody owns a field of an object that is in Git only: all of it is ours.
		for _, gone := range compare.Diff(before, wanted, nil) {
			if gone.Op == compare.OpAdd {
				changes = append(changes, compare.FieldChange{Path: gone.Path, From: gone.To, Op: compare.OpRemove})
			}
		}
		slices.SortStableFunc(changes, func(a, b compare.FieldChange) int { return strings.Compare(a.Path, b.Path) })
	}
	return compare.MaskChanges(key, changes)
}

// Weigh classes the fields of changed objects: wanted are all desired objects,
// before the StatefulSets that were last effective, and course what comes of it.
// Fields that only we keep books in are dropped, and objects that differ in
// nothing else.
func Weigh(objects []Object, wanted, before []*unstructured.Unstructured, course *Course) []Object {
	w := weighing{course: course, changes: manifest.Classify(ofKind(wanted, "StatefulSet"), before)}
	if last, err := manifest.Unpack(course.Record.Saved); err == nil {
		w.left = manifest.Classify(ofKind(wanted, "StatefulSet"), last)
	}
	w.keep(wanted)
	out := []Object{}
	for _, o := range objects {
		if w.object(&o) {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b Object) int {
		first := func(o Object) int {
			if o.Kind == "StatefulSet" {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), strings.Compare(a.Kind, b.Kind), a.Key.Compare(b.Key))
	})
	return out
}

func ofKind(objects []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == kind {
			out = append(out, o)
		}
	}
	return out
}

type weighing struct {
	course *Course
	// changes are those of the StatefulSets, left those that are still there when
	// the plan has come to its end.
	changes, left []model.Change
	// kept are the fields of other objects that are kept back with the StatefulSets; of an object that is
	// not made the path is "".
	kept map[compare.Key][]string
}

// keep notes what of the other objects is not applied in the end: the budget and the selector of dedicated masters
// come and go with these.
func (w *weighing) keep(wanted []*unstructured.Unstructured) {
	held, _, err := manifest.Materialise(wanted, w.course.Record.Saved, model.Effective{Sets: w.course.Effective.Sets})
	if err != nil {
		return // the plan says that nothing is known of the StatefulSets
	}
	w.kept = map[compare.Key][]string{}
	for _, o := range wanted {
		key := compare.KeyOf(o)
		i := slices.IndexFunc(held, func(h *unstructured.Unstructured) bool { return compare.KeyOf(h) == key })
		if i < 0 {
			w.kept[key] = []string{""}
			continue
		}
		if o.GetKind() == "StatefulSet" || held[i] == o {
			continue
		}
		for _, differs := range Differences(o, held[i]) {
			w.kept[key] = append(w.kept[key], differs.Path)
		}
	}
}

// object classes one; false when nothing is to be said of it.
func (w *weighing) object(o *Object) bool {
	crate := o.Group == "apps" && o.Kind == "StatefulSet"
	switch o.Change {
	case Added:
		if o.Class == Refused {
			return true // by the API server
		}
		o.Class, o.Why = w.inPlace(o.Key, "")
		if crate {
			o.Class, o.Why = ByOperation, ""
			if !slices.ContainsFunc(w.course.Sets, func(s Set) bool { return s.Name == o.Key.Name }) {
				o.Class, _, o.Why = w.why(model.ChangeNewSet, o.Key.Name, "")
			}
		}
		return true
	case Changed:
	default:
		o.Class = cmp.Or(o.Class, InPlace)
		if o.Change == Orphaned && o.Why == "" && !crate {
			if o.Key.Kind == "Secret" {
				o.Why = "it is no longer desired, and Secrets are never deleted: delete it by hand when nobody needs it"
			} else {
				o.Change = Removed
				if !w.course.Done { // it is removed once the rest is done
					o.Class, _, o.Why = w.behind()
				}
			}
		}
		if crate {
			o.Class = ByOperation
			if !slices.ContainsFunc(w.course.Sets, func(s Set) bool { return s.Name == o.Key.Name }) {
				o.Change, o.Why = Removed, ""
			} else if len(w.course.Refused)+len(w.course.Waits) > 0 {
				o.Class, _, o.Why = w.why(model.ChangeRemovedSet, o.Key.Name, "")
			}
		}
		return true
	}
	fields := o.Fields
	o.Fields = nil
	for _, f := range fields {
		if !crate && f.Class == "" {
			f.Class, f.Why = w.inPlace(o.Key, f.Path)
		} else if crate && !w.field(o.Key.Name, &f) {
			continue
		}
		o.Fields = append(o.Fields, f)
		if gravity(f.Class) > gravity(o.Class) {
			o.Class = f.Class
		}
		if (f.Class == Refused || f.Class == Waiting) && o.Why == "" {
			o.Why = f.Why
		}
	}
	if crate && o.Class == Refused {
		w.keepTemplate(o)
	}
	return len(o.Fields) > 0
}

// inPlace is the class of what no operation is about: it is applied in place, if anything of the
// cluster is, and the StatefulSets that it goes with are there.
func (w *weighing) inPlace(key compare.Key, path string) (Class, string) {
	if !w.course.Kept && !slices.ContainsFunc(w.kept[key], func(kept string) bool { return kept == "" || path != "" && touches(path, kept) }) {
		return InPlace, ""
	}
	class, _, why := w.behind()
	return class, why
}

// keepTemplate has the harmless fields of a pod template be kept back with the refused ones: a
// StatefulSet gets a template as a whole.
func (w *weighing) keepTemplate(o *Object) {
	refused := func(f Field) bool { return f.Class == Refused && strings.HasPrefix(f.Path, "spec.template.") }
	if !slices.ContainsFunc(o.Fields, refused) {
		return
	}
	for i := range o.Fields {
		if f := &o.Fields[i]; strings.HasPrefix(f.Path, "spec.template.") && (f.Class == InPlace || f.Class == RestartWhenDue) {
			f.Class, f.Gate, f.Why = w.behind()
		}
	}
}

// booksKept are fields of a StatefulSet from which a lost record is rebuilt: they
// come and go with operations, and no definition has them.
var booksKept = []string{
	"metadata.annotations." + names.HoldAnnotation,
	"metadata.annotations." + names.SuspendedAnnotation,
	"metadata.annotations." + names.SettingsAnnotation,
	"metadata.annotations." + names.AdoptedAnnotation,
}

// field of a StatefulSet; false where it only keeps our books.
func (w *weighing) field(set string, f *Field) bool {
	path := namedPath(f.Path)
	if strings.HasSuffix(path, "."+names.TemplateAnnotation) || slices.Contains(booksKept, path) {
		return false
	}
	f.Class = ""
	var gravest model.Change
	rests := false
	for _, c := range w.changes {
		if c.Set != set || !touches(path, c.Path) {
			continue
		}
		goes := c.Class == model.ChangeReplicas && c.New == "0" // by the suspension
		if w.course.Suspended && !goes && lifecycle.RestsSuspended(&c) {
			rests = true
			continue
		}
		class := w.class(c)
		if gravity(class) > gravity(f.Class) {
			f.Class, gravest = class, c
		}
	}
	if f.Class == "" && rests {
		return false
	}
	if f.Class == "" {
		// What no class counts says nothing about what runs.
		if strings.Contains(path, "."+names.Prefix) {
			return false
		}
		f.Class = InPlace
	}
	left := f.Class == Refused
	for _, c := range w.left {
		if c.Set == set && touches(path, c.Path) && (c.Class != model.ChangeInPlace || len(w.course.Refused)+len(w.course.Waits) > 0) {
			if !left || c.Class > gravest.Class {
				gravest = c
			}
			left = true
		}
	}
	kept := strings.HasPrefix(path, "spec.template.") && w.adopted(model.ChangeInPlace, set) != nil
	if left || kept {
		f.Class, f.Gate, f.Why = w.why(gravest.Class, set, gravest.Path)
	}
	return true
}

func (w *weighing) class(c model.Change) Class {
	template := strings.HasPrefix(c.Path, "spec.template.")
	switch c.Class {
	case model.ChangeReplicas, model.ChangeNewSet, model.ChangeRemovedSet, model.ChangeImage, model.ChangeVolumesGrow, model.ChangeVolumesModify:
		return ByOperation
	case model.ChangeRestart:
		// An init container has CrateDB's image, and comes with its upgrade.
		if strings.HasSuffix(c.Path, ".image") && slices.ContainsFunc(w.changes, func(other model.Change) bool { return other.Set == c.Set && other.Class == model.ChangeImage }) {
			return ByOperation
		}
		return Restart
	case model.ChangeResize:
		// It comes with what the StatefulSet's pods restart for.
		if w.course.ResizesByRestart || slices.ContainsFunc(w.changes, func(o model.Change) bool {
			return o.Set == c.Set && (o.Class == model.ChangeRestart || o.Class == model.ChangeImage)
		}) {
			return Restart
		}
	case model.ChangeDisks:
		if template {
			return Restart
		}
		return ByOperation
	case model.ChangeFewerDisks:
		return ByOperation
	case model.ChangeVolumes, model.ChangeVolumesShrink:
		if slices.ContainsFunc(w.course.Operations, func(op Operation) bool { return op.Kind == kindReplace }) {
			return ByOperation
		}
		return Refused
	case model.ChangeImmutable:
		return Refused
	case model.ChangeInPlace:
		if template {
			return RestartWhenDue
		}
	}
	return InPlace
}

// gravity orders classes; the gravest of its fields is an object's.
func gravity(c Class) int {
	return slices.Index([]Class{"", InPlace, RestartWhenDue, Restart, ByOperation, Recreate, Waiting, Refused}, c)
}

// why is what keeps a change of a StatefulSet back: whether it is refused or waits,
// the gate and its words.
func (w *weighing) why(class model.ChangeClass, set, path string) (kept Class, gate, words string) {
	likely := map[model.ChangeClass][]string{
		model.ChangeVolumes:       {gates.VolumesRule.Name, gates.VolumesTooSmallRule.Name},
		model.ChangeVolumesShrink: {gates.VolumeShrinkRule.Name, gates.VolumesTooSmallRule.Name},
		model.ChangeVolumesGrow:   {gates.ClassExpandsRule.Name},
		model.ChangeVolumesModify: {gates.AttributesUnusableRule.Name, gates.AttributesStayRule.Name},
		model.ChangeDisks:         {gates.DiskNotBlankRule.Name, gates.StorageClassRule.Name, gates.VolumesRule.Name},
		model.ChangeFewerDisks:    {gates.VolumesRule.Name, gates.VolumesTooSmallRule.Name, gates.ReplicasDoNotFitRule.Name, gates.DiskDoesNotFitRule.Name},
		model.ChangeImmutable:     {gates.ImmutableRule.Name, gates.NamesStayRule.Name},
		model.ChangeImage: {gates.DowngradeRule.Name, gates.VersionPathRule.Name, gates.TablesTooOldRule.Name, gates.ReleaseLosesDataRule.Name,
			gates.TableAgesKnownRule.Name, gates.UpgradeStoppedRule.Name},
		model.ChangeReplicas: {gates.ReplicasDoNotFitRule.Name, gates.LastOfZoneRule.Name, gates.TableFilterRule.Name, gates.TableFilterDecidesRule.Name, gates.DiskDoesNotFitRule.Name,
			gates.ShardsDoNotFitRule.Name, gates.MasterQuorumRule.Name, gates.SuspendRule.Name, gates.SuspendEarlyRule.Name, gates.ClaimOfAnotherClusterRule.Name,
			gates.ClaimVersionRule.Name, gates.LicenceMissingRule.Name, gates.ShrinkAbortedRule.Name, gates.ExclusionHiddenRule.Name},
		model.ChangeNewSet:     {gates.NewGroupRule.Name, gates.StorageClassRule.Name, gates.MasterGroupStaysRule.Name, gates.NamesStayRule.Name},
		model.ChangeRemovedSet: {gates.GroupRemovalRule.Name, gates.MasterGroupStaysRule.Name},
		model.ChangeResize:     {gates.RestartStoppedRule.Name},
		model.ChangeRestart: {gates.UpdateStrategyRule.Name, gates.TLSRule.Name, gates.ClusterNameRule.Name, gates.UnreplicatedRule.Name, gates.AbortedRule.Name,
			gates.RestartStoppedRule.Name},
	}[class]
	if own := w.own(likely, set, path); own != nil {
		return Refused, own.Name, own.Message
	}
	if adopted := w.adopted(class, set); adopted != nil {
		return Waiting, adopted.Name, adopted.Message
	}
	return w.behind()
}

// behind is what a change waits behind that is not refused itself.
func (w *weighing) behind() (kept Class, gate, words string) {
	for _, refused := range w.course.Refused {
		if !aside(refused.Name) {
			return Refused, refused.Name, "it waits behind what is refused (" + refused.Name + "): half of a change would be a state that nobody asked for"
		}
	}
	for _, wait := range w.course.Waits {
		// A Secret that is missing is planned as if it were there.
		if !suppliable(wait.Name) && wait.Name != gates.AdoptedTemplateRule.Name {
			return Waiting, wait.Name, wait.Message
		}
	}
	return Refused, "", "what is decided does not come to it; see what is not known"
}

// adopted is what says that a StatefulSet keeps the pod template that it was adopted with; nil where
// this change is not kept back by that.
func (w *weighing) adopted(class model.ChangeClass, set string) *Gate {
	switch class {
	case model.ChangeRestart, model.ChangeImage, model.ChangeResize, model.ChangeInPlace, model.ChangeSetting:
	default:
		return nil
	}
	i := slices.IndexFunc(w.course.Waits, func(g Gate) bool {
		return g.Name == gates.AdoptedTemplateRule.Name && strings.HasPrefix(g.Message, set+": ")
	})
	if i < 0 {
		return nil
	}
	return &w.course.Waits[i]
}

// own is the refusal of this very change: of several by one gate the one that
// names its field, and none that names another StatefulSet.
func (w *weighing) own(likely []string, set, path string) *Gate {
	var found *Gate
	for _, name := range likely {
		for i := range w.course.Refused {
			refused := &w.course.Refused[i]
			about, _, _ := strings.Cut(refused.Message, ": ")
			anothers := about != set && slices.ContainsFunc(w.changes, func(c model.Change) bool { return c.Set == about })
			switch {
			case refused.Name != name || anothers:
			case path != "" && strings.HasPrefix(refused.Message, set+": ") && strings.Contains(refused.Message, path+" "):
				return refused
			case found == nil:
				found = refused
			}
		}
	}
	return found
}

// aside are refusals that keep no StatefulSet back.
func aside(gate string) bool {
	return slices.Contains([]string{gates.UserRemovalRule.Name, gates.RaisedRule.Name}, gate)
}

// namedPath writes list items as decisions do: containers[crate] for
// containers[name=crate].
func namedPath(path string) string {
	return strings.NewReplacer("[name=", "[", `["`, ".", `"]`, "").Replace(path)
}

// touches: one path is the other, or below it.
func touches(a, b string) bool {
	below := func(long, short string) bool {
		rest, ok := strings.CutPrefix(long, short)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return below(a, b) || below(b, a)
}
