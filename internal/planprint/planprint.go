// Package planprint prints plans: as text for a terminal, as Markdown for the
// comment of a pull request, as JSON, as SARIF and as the annotations of CI
// platforms. What it prints comes from people who may mean harm: each format
// masks what Secrets hold and escapes what its reader would act on. It is pure:
// it knows no clock, no terminal and no environment.
package planprint

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/plan"
)

// Fit returns copies of plans that are fit to be printed, sorted by cluster: no
// value of a Secret is in them, and no list is nil. Each format calls it.
func Fit(plans []plan.Plan) []plan.Plan {
	fit := make([]plan.Plan, len(plans))
	for i, p := range plans {
		p.Objects = slices.Clone(p.Objects)
		for k := range p.Objects {
			object := &p.Objects[k]
			object.Why = compare.MaskMessage(object.Key, object.Why)
			changes := make([]compare.FieldChange, len(object.Fields))
			for f, field := range object.Fields {
				changes[f] = field.FieldChange
			}
			fields := slices.Clone(object.Fields)
			for f, masked := range compare.MaskChanges(object.Key, changes) {
				fields[f].FieldChange = masked
				fields[f].Why = compare.MaskMessage(object.Key, fields[f].Why)
			}
			object.Fields = fields
		}
		p.Objects = orEmpty(p.Objects)
		p.Operations = slices.Clone(orEmpty(p.Operations))
		for k := range p.Operations {
			p.Operations[k].Steps = orEmpty(p.Operations[k].Steps)
		}
		p.Refused, p.Waits, p.AtRisk = orEmpty(p.Refused), orEmpty(p.Waits), orEmpty(p.AtRisk)
		p.Notes, p.Warnings, p.Unknown = orEmpty(p.Notes), orEmpty(p.Warnings), orEmpty(p.Unknown)
		fit[i] = p
	}
	slices.SortStableFunc(fit, func(a, b plan.Plan) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return fit
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// differing are the plans that would do something, are refused, or say what moved.
func differing(plans []plan.Plan) []plan.Plan {
	return slices.DeleteFunc(slices.Clone(plans), func(p plan.Plan) bool { return p.Empty() && p.Moves() == 0 })
}

// Totals count what plans hold.
type Totals struct {
	// Clusters that differ, of All; of OnlyMoved nothing but files does.
	Clusters, OnlyMoved, All int
	// New clusters among them.
	New        int
	Objects    int
	Operations int
	Restarts   int
	// Refused counts gates, and objects that are refused without one.
	Refused int
	// Waits are for what somebody has to do.
	Waits int
	// Deleted are objects that will be removed, Moved those that only stand in
	// another file: they are not among Objects.
	Deleted, Moved int
	AtRisk         int
}

// Count counts over plans.
func Count(plans []plan.Plan) Totals {
	t := Totals{All: len(plans)}
	for _, p := range plans {
		t.Moved += p.Moves()
		if p.Empty() {
			if p.Moves() > 0 {
				t.OnlyMoved++
			}
			continue
		}
		t.Clusters++
		if p.Basis.New {
			t.New++
		}
		t.Objects += len(p.Objects) - p.Moves()
		t.Operations += len(p.Operations)
		t.Restarts += p.Restarts
		t.Refused += len(p.Refused)
		t.Waits += len(p.Waits)
		t.AtRisk += len(p.AtRisk)
		for _, object := range p.Objects {
			if object.Change == plan.Removed {
				t.Deleted++
			}
			if object.Class == plan.Refused && len(p.Refused) == 0 {
				t.Refused++
			}
		}
	}
	return t
}

// words are the totals of one cluster or of all, without what is none of.
func (t Totals) words() string {
	var parts []string
	say := func(n int, one, many string) {
		if n != 0 {
			parts = append(parts, plural(n, one, many))
		}
	}
	say(t.Refused, "refused", "refused")
	say(t.Waits, "wait", "waits")
	say(t.Operations, "operation", "operations")
	say(t.Restarts, "pod restarts", "pods restart")
	say(t.AtRisk, "at risk", "at risk")
	say(t.Deleted, "object deleted", "objects deleted")
	say(t.Objects, "object differs", "objects differ")
	say(t.Moved, "moved to another file", "moved to other files")
	if len(parts) == 0 {
		if t.Clusters > 0 {
			return "no operation, no object" // there are notes alone
		}
		return "nothing differs"
	}
	return strings.Join(parts, ", ")
}

// headline counts the clusters that plans are printed of, and those that are as
// they were.
func (t Totals) headline(problems int) string {
	text := "nothing differs"
	if problems > 0 {
		text = "nothing else differs"
	}
	if t.Clusters > 0 {
		text = plural(t.Clusters, "cluster differs", "clusters differ")
	}
	if t.OnlyMoved > 0 {
		text += ", " + plural(t.OnlyMoved, "cluster only moved", "clusters only moved")
	}
	if n := t.All - t.Clusters - t.OnlyMoved; n > 0 && t.Clusters+t.OnlyMoved > 0 {
		text += ", " + number(n) + " as they are"
	}
	return text
}

// title names a plan's cluster.
func title(p plan.Plan) string { return p.Namespace + "/" + p.Name }
