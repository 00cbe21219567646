package planprint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/plan"
)

// number writes n with thousands separated by commas: 1,204.
func number(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// moment is how long ago a reading was made, in seconds while it is new: soon after a change a number may be
// of the moment before.
func moment(age time.Duration) string {
	if age < time.Minute {
		return fmt.Sprintf("less than %d seconds", (int(age/(10*time.Second))+1)*10)
	}
	return gates.Age(age)
}

// short prints a duration with two units at most: 3m20s, 2h5m, 3d4h.
func short(d plan.Duration) string {
	two := func(n time.Duration, unit string, m time.Duration, rest string) string {
		if m == 0 {
			return fmt.Sprintf("%d%s", n, unit)
		}
		return fmt.Sprintf("%d%s%d%s", n, unit, m, rest)
	}
	t := max(time.Duration(d), 0)
	switch {
	case t < time.Hour:
		t = t.Round(time.Second)
		if t < time.Minute {
			return fmt.Sprintf("%ds", t/time.Second)
		}
		return two(t/time.Minute, "m", t%time.Minute/time.Second, "s")
	case t < 48*time.Hour:
		t = t.Round(time.Minute)
		return two(t/time.Hour, "h", t%time.Hour/time.Minute, "m")
	}
	t = t.Round(time.Hour)
	return two(t/(24*time.Hour), "d", t%(24*time.Hour)/time.Hour, "h")
}

func estimate(e *plan.Estimate) string {
	if e == nil {
		return ""
	}
	text := short(e.Least) + " to " + short(e.Most)
	if e.Least == e.Most {
		text = "about " + short(e.Most)
	}
	if e.Basis != "" {
		text += " (" + e.Basis + ")"
	}
	return text
}

// takes says how long an operation takes; how many pods it restarts stands in its
// summary, and only here where there is no base for an estimate.
func takes(o plan.Operation) string {
	if text := estimate(o.Estimate); text != "" {
		return "takes " + text
	}
	if o.Restarts > 0 {
		return "restarts " + plural(o.Restarts, "pod", "pods")
	}
	return ""
}

// inAll sums several operations up, "" where there is nothing to sum.
func inAll(p plan.Plan) string {
	text := estimate(p.Estimate)
	if text == "" || len(p.Operations) < 2 {
		return ""
	}
	if p.Restarts == 0 {
		return "no pod restarts, takes " + text
	}
	return plural(p.Restarts, "pod restarts", "pods restart") + ", takes " + text
}

// basis says in sentences what a plan rests on, and how old that is.
func basis(p plan.Plan, old func(time.Duration) string) []string {
	b := p.Basis
	var says []string
	switch {
	case b.Kind == plan.Offline && b.New:
		says = append(says, "new: it is not in "+against(b))
	case b.Kind == plan.Offline:
		says = append(says, "compared offline with "+against(b))
	case b.New && b.Claims > 0:
		says = append(says, "no such cluster runs, and "+plural(b.Claims, "volume claim has", "volume claims have")+" its data")
	case b.New:
		says = append(says, "new: there is no such cluster yet")
	default:
		says = append(says, "compared with the live cluster")
	}
	if b.Kind == plan.Live && !b.Admission {
		says = append(says, "without admission")
	}
	if !b.SecretsCompared {
		says = append(says, "Secrets not compared")
	}
	switch {
	case b.New, b.Kind == plan.Offline && b.Observed.IsZero():
	case b.Observed.IsZero():
		says = append(says, "no reading of the database")
	default:
		read := "database read " + old(time.Duration(b.Age)) + " ago"
		if b.ObservedIn != "" {
			read += ", from " + b.ObservedIn
		}
		if b.Stale {
			read += ", which is too old to rely on"
		}
		says = append(says, read)
	}
	return says
}

func against(b plan.Basis) string {
	if b.Against == "" {
		return "its basis"
	}
	return b.Against
}

// sign stands before an object.
func sign(c plan.Change) string {
	switch c {
	case plan.Added:
		return "+"
	case plan.Removed:
		return "-"
	case plan.Orphaned:
		return "?"
	case plan.Moved:
		return ">"
	}
	return "~"
}

// objectName is "Kind name", with the group where it is not Kubernetes' own and
// the namespace where it is not the cluster's.
func objectName(p plan.Plan, o plan.Object) string {
	kind := o.Kind
	if group := o.Key.Group; strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		kind += "." + group
	}
	if o.Key.Namespace != "" && o.Key.Namespace != p.Namespace {
		return kind + " " + o.Key.Namespace + "/" + o.Key.Name
	}
	return kind + " " + o.Key.Name
}

// keptBack reports whether nothing is done with an object as long as somebody has not acted.
func keptBack(o plan.Object) bool { return kept(o.Class) && !inPart(o) }

func kept(c plan.Class) bool { return c == plan.Refused || c == plan.Waiting }

// inPart reports whether some fields of an object are kept back, and others are not. A StatefulSet is kept back as
// a whole.
func inPart(o plan.Object) bool {
	applied := func(f plan.Field) bool { return f.Class != "" && !kept(f.Class) }
	return o.Change == plan.Changed && kept(o.Class) && o.Kind != "StatefulSet" && slices.ContainsFunc(o.Fields, applied)
}

// keptWords says which of the objects are applied although a part of the change is refused; ""
// where nothing is refused.
func keptWords(p plan.Plan) string {
	back, differ, parts := 0, 0, 0
	for _, o := range p.Objects {
		if o.Change == plan.Moved || o.Change == plan.Orphaned {
			continue
		}
		if differ++; keptBack(o) {
			back++
		} else if inPart(o) {
			parts++
		}
	}
	switch {
	case len(p.Refused) == 0 || differ == 0:
		return ""
	case back == differ:
		return "nothing of the change is applied"
	case back+parts == 0:
		return "the objects below are applied all the same"
	case parts > 0:
		return fmt.Sprintf("of the objects below %d of %d are kept back, and %d in part; all else is applied all the same", back, differ, parts)
	}
	return fmt.Sprintf("of the objects below %d of %d are kept back; the others are applied all the same", back, differ)
}

// objectNote says what becomes of an object.
func objectNote(p plan.Plan, o plan.Object) string {
	note := string(o.Change)
	switch back := keptBack(o); {
	case inPart(o):
		note = "in part " + string(o.Class)
	case back && o.Change == plan.Added, back && o.Change == plan.Removed, back && o.Change == plan.Changed:
		note = "not " + note + ": " + string(o.Class)
	case o.Change == plan.Changed && o.Class != "":
		note = string(o.Class)
	case back, o.Class == plan.Recreate:
		note += ", " + string(o.Class)
	}
	if len(p.Refused) > 0 && !kept(o.Class) && o.Change != plan.Moved && o.Change != plan.Orphaned {
		note += ", all the same"
	}
	switch {
	case o.From != "" && o.To != "" && o.From != o.To:
		if o.Change != plan.Moved {
			note += ", moved"
		}
		note += " from " + o.From + " to " + o.To
	case o.To != "":
		note += ", in " + o.To
	}
	return note
}

// fieldNote is what is to be said of a field that its object and what is refused or
// waited for above it do not say already.
func fieldNote(p plan.Plan, o plan.Object, f plan.Field) string {
	var parts []string
	if f.Class != "" && f.Class != o.Class {
		parts = append(parts, string(f.Class))
	}
	said := func(g plan.Gate) bool { return g.Name == f.Gate }
	if f.Why == o.Why && f.Why != "" {
		return strings.Join(parts, ": ")
	}
	if f.Gate != "" {
		parts = append(parts, f.Gate)
	}
	if f.Why != "" && !slices.ContainsFunc(slices.Concat(p.Refused, p.Waits), said) {
		parts = append(parts, f.Why)
	}
	return strings.Join(parts, ": ")
}
