package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

const (
	kindBudget = "PodDisruptionBudget"
	// initialMasters is the setting that founds a cluster.
	initialMasters = "cluster.initial_master_nodes"
)

// Materialise turns the desired objects into those that the cluster is held to now, and returns
// what the record is to save of them (set Record.Saved to it before the record is saved). The
// arguments are not changed. It is pure.
//
// A set whose template is kept needs its saved object, and without one it is an error: Pack
// makes one of what is live.
func Materialise(wanted []*unstructured.Unstructured, saved model.Saved, effective model.Effective) ([]*unstructured.Unstructured, model.Saved, error) {
	objects := make([]*unstructured.Unstructured, 0, len(wanted))
	next := make(model.Saved, len(effective.Sets))
	var failed error
	set := func(o *unstructured.Unstructured, e model.EffectiveSet) {
		made, err := materialiseSet(o, wanted, saved, e, next)
		if failed = cmp.Or(failed, err); made != nil {
			objects = append(objects, made)
		}
	}
	masters := hasMasters(wanted, saved, effective.Sets)
	for _, o := range wanted {
		switch o.GetKind() {
		case kindStatefulSet:
			if i := slices.IndexFunc(effective.Sets, func(s model.EffectiveSet) bool { return s.Name == o.GetName() }); i >= 0 {
				set(o, effective.Sets[i])
			} else {
				objects = append(objects, o) // a StatefulSet of the user's own that travels with the cluster
			}
		case kindBudget:
			if masters || !ofMasters(o) {
				objects = append(objects, materialiseBudget(o, effective.Budgets))
			}
		default:
			objects = append(objects, selectFor(o, masters))
		}
	}
	for _, e := range effective.Sets {
		if wantedOf(wanted, e.Name) == nil {
			set(nil, e) // a group that is gone from the definition runs on
		}
	}
	if failed != nil {
		return nil, saved, failed
	}
	return objects, next, nil
}

func materialiseSet(wanted *unstructured.Unstructured, all []*unstructured.Unstructured, saved model.Saved, e model.EffectiveSet, next model.Saved) (*unstructured.Unstructured, error) {
	if e.Absent {
		return nil, nil
	}
	if e.Gap {
		keepSaved(saved, e.Name, next)
		return nil, nil
	}
	current := current(saved, e.Name, e.Live)
	remember(saved, current, e, next)
	var set *unstructured.Unstructured
	if e.Template != model.TemplateDesired || wanted == nil {
		from := current
		if _, ok := saved[e.Name+rememberedSuffix]; ok && e.Template == model.TemplateBefore {
			from = e.Name + rememberedSuffix
		}
		var err error
		if set, err = unpack(saved, from); err != nil {
			return nil, err
		}
		keepTemplate(set, wanted, all, saved, e)
	} else {
		set = asWanted(wanted, all, saved, e, current)
	}
	if e.Gateway > 0 {
		setGateway(set, e.Gateway)
	}
	for _, ours := range [][2]string{{names.HoldAnnotation, e.Hold}, {names.SuspendedAnnotation, e.Suspended}, {names.SettingsAnnotation, e.Settings}, {names.AdoptedAnnotation, e.Adopted}} {
		annotate(set, ours[0], ours[1])
	}
	if e.Adopted != "" && model.AdoptedOf(e.Name, e.Adopted).From != model.FromSomebody {
		withoutHooks(set)
	}
	setSizes(set, &e)
	put(set.Object, int64(e.Replicas), "spec", "replicas")
	if !e.InitialMasters {
		withoutInitialMasters(set)
	}
	packed := pack(set, saved[e.Name])
	next[e.Name] = packed
	if e.Live != "" && TemplateOf(set) != e.Live {
		// This template may never be applied: what runs is saved beside it, once.
		if live := saved[current]; live != "" && live != packed && live != next[e.Name+rememberedSuffix] {
			next[e.Name+liveSuffix] = live
		}
	}
	// What is saved has all disks: the template has them again in a moment.
	return withoutUnused(set, e.Unused), nil
}

// asWanted is the desired StatefulSet, with the disks that it has now.
func asWanted(wanted *unstructured.Unstructured, all []*unstructured.Unstructured, saved model.Saved, e model.EffectiveSet, current string) *unstructured.Unstructured {
	set := wanted.DeepCopy()
	setDisks(set, wanted, saved, e.Sizes)
	keepsDisks(set, wanted, e.Sizes)
	if e.KeepGateway {
		if before, err := unpack(saved, current); err == nil {
			keepGateway(set, before)
		}
	}
	setTemplateHash(set, all, saved, e)
	return set
}

// keepTemplate gives a StatefulSet that is kept the disks that it has now: what is saved may have more,
// or fewer. A pod template without one of its disks is another one. It has the mark of pods that run just what it
// says. Where none does it keeps its mark: pods that lack a disk are known by that.
func keepTemplate(set, wanted *unstructured.Unstructured, all []*unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) {
	changed := setDisks(set, wanted, saved, e.Sizes)
	keepsDisks(set, wanted, e.Sizes)
	if changed {
		setTemplateHash(set, all, saved, e)
	}
	mountDisks(set, e.Mounts)
	if e.Marks == "" {
		return
	}
	if hash := templateHash(set, nil); slices.Contains(model.Listed(e.Marks), hash) {
		mark(set, hash)
	}
}

// keepSaved keeps all that is saved of a set that is not applied now.
func keepSaved(saved model.Saved, set string, next model.Saved) {
	for _, name := range savedNames(set) {
		if was, ok := saved[name]; ok {
			next[name] = was
		}
	}
}

// remember keeps the object that was effective before, where that is asked for.
func remember(saved model.Saved, current string, e model.EffectiveSet, next model.Saved) {
	if !e.Remember {
		return
	}
	if before, ok := saved[e.Name+rememberedSuffix]; ok && !e.RememberAnew {
		next[e.Name+rememberedSuffix] = before
	} else if before, ok := saved[current]; ok {
		next[e.Name+rememberedSuffix] = before
	}
}

// current is the name of the object that is live, known by its template's hash: what was
// recorded last may never have been applied. A hash that none has is taken for the last.
func current(s model.Saved, set, live string) string {
	if live == "" || s[set+liveSuffix] == "" && s[set+rememberedSuffix] == "" {
		return set
	}
	for _, name := range savedNames(set) {
		if o, err := unpack(s, name); err == nil && TemplateOf(o) == live {
			return name
		}
	}
	return set
}

func materialiseBudget(o *unstructured.Unstructured, budgets []model.Budget) *unstructured.Unstructured {
	i := slices.IndexFunc(budgets, func(b model.Budget) bool { return b.Name == o.GetName() })
	if i < 0 {
		return o
	}
	out := o.DeepCopy()
	field, other, value := "maxUnavailable", "minAvailable", budgets[i].MaxUnavailable
	if budgets[i].MinAvailable > 0 {
		field, other, value = other, field, budgets[i].MinAvailable
	}
	unstructured.RemoveNestedField(out.Object, "spec", other)
	put(out.Object, int64(value), "spec", field)
	return out
}

func withoutInitialMasters(set *unstructured.Unstructured) {
	EachCommand(set, func(arguments []any) []any {
		return slices.DeleteFunc(slices.Clone(arguments), func(a any) bool {
			name, _, _ := argument(a)
			return name == initialMasters
		})
	})
}

// keepGateway puts the gateway counts of one template into another, in their
// place: a node that waits for more nodes than there are waits for ever.
func keepGateway(set, before *unstructured.Unstructured) {
	counts := map[string]any{}
	EachCommand(before, func(arguments []any) []any {
		for _, a := range arguments {
			if name, _, ok := argument(a); ok && countsForGateway(name) {
				counts[name] = a
			}
		}
		return nil
	})
	EachCommand(set, func(arguments []any) []any {
		kept := slices.Clone(arguments)
		for i, a := range kept {
			if name, _, ok := argument(a); ok && counts[name] != nil {
				kept[i] = counts[name]
			}
		}
		return kept
	})
}

// setGateway counts so many nodes instead, in the same places: most of them to begin
// with, and all to begin at once, as render has it. What no template says stays unsaid.
func setGateway(set *unstructured.Unstructured, nodes int) {
	EachCommand(set, func(arguments []any) []any {
		next := slices.Clone(arguments)
		for i, a := range next {
			switch name, _, ok := argument(a); {
			case !ok || !countsForGateway(name):
			case strings.HasPrefix(name, "gateway.expected_"):
				next[i] = "-C" + name + "=" + strconv.Itoa(nodes)
			default:
				next[i] = "-C" + name + "=" + strconv.Itoa(nodes/2+1)
			}
		}
		return next
	})
}

// HasInitialMasters reports whether a StatefulSet's template still founds
// clusters (ObservedSet.InitialMasters).
func HasInitialMasters(set *unstructured.Unstructured) bool {
	return slices.ContainsFunc(commandOf(set), func(a string) bool { name, _, _ := argument(a); return name == initialMasters })
}

// Unpack returns the objects of Saved that were recorded last, sorted by name.
func Unpack(s model.Saved) ([]*unstructured.Unstructured, error) { return UnpackLive(s, nil) }

// UnpackLive returns the objects that the given sets have: of one whose last object was
// recorded and never applied, the one before it.
func UnpackLive(s model.Saved, live []model.ObservedSet) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if strings.HasSuffix(name, rememberedSuffix) || strings.HasSuffix(name, liveSuffix) {
			continue
		}
		if i := slices.IndexFunc(live, func(set model.ObservedSet) bool { return set.Name == name }); i >= 0 {
			name = current(s, name, live[i].Template)
		}
		o, err := unpack(s, name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// Pack makes a Saved of StatefulSet objects: what a lost record held, of what
// is live reduced to the fields that are ours. It is pure.
func Pack(sets []*unstructured.Unstructured) model.Saved {
	saved := make(model.Saved, len(sets))
	for _, o := range sets {
		saved[o.GetName()] = pack(o, "")
	}
	return saved
}

// ArgumentOf is what a StatefulSet's template gives CrateDB for a setting on the
// command line, the last one counts; "" where it gives nothing.
func ArgumentOf(set *unstructured.Unstructured, setting string) string {
	return ArgumentIn(commandOf(set), setting)
}

// MasterEligible reports whether the nodes of a StatefulSet may elect the master: CrateDB's do unless
// they are told otherwise (node.master).
func MasterEligible(set *unstructured.Unstructured) bool {
	return ArgumentOf(set, "node.master") != "false"
}

// DataPathsOf are the folders of path.data in a container's command and arguments; nil
// where they do not say.
func DataPathsOf(command []string) []string {
	value := ArgumentIn(command, "path.data")
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

// RecoverAfter is the number of data nodes (before 4.7: of nodes) that a process
// of the StatefulSet waits for after a full outage; 0 where it waits for none.
func RecoverAfter(set *unstructured.Unstructured) int { return RecoverAfterOf(commandOf(set)) }

// RecoverAfterOf is RecoverAfter of a container's command and arguments.
func RecoverAfterOf(command []string) int {
	for _, setting := range []string{"gateway.recover_after_data_nodes", "gateway.recover_after_nodes"} {
		if n, err := strconv.Atoi(ArgumentIn(command, setting)); err == nil {
			return n
		}
	}
	return 0
}

func commandOf(set *unstructured.Unstructured) []string {
	var out []string
	EachCommand(set, func(arguments []any) []any {
		for _, a := range arguments {
			if text, ok := a.(string); ok {
				out = append(out, text)
			}
		}
		return nil
	})
	return out
}

// ArgumentIn is the value of a setting in a container's command and arguments; "" where it is not there. The last one counts.
func ArgumentIn(command []string, setting string) string {
	value := ""
	for _, text := range command {
		if v, ok := strings.CutPrefix(text, "-C"+setting+"="); ok {
			value = v
		}
	}
	return value
}
