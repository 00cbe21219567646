package planprint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

// ages are the steps to which an age is rounded down, so that a comment which is
// made again soon after is the same, byte for byte.
var ages = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

func roundAge(age time.Duration) string {
	day := 24 * time.Hour
	switch {
	case age < time.Minute:
		// In seconds: soon after a change a number may be of the moment before.
		return fmt.Sprintf("less than %d seconds ago", (int(age/(10*time.Second))+1)*10)
	case age >= 2*day:
		return number(int(age/day)) + " days ago"
	}
	at := ages[0]
	for _, step := range ages {
		if age >= step {
			at = step
		}
	}
	if at >= time.Hour {
		return "more than " + plural(int(at/time.Hour), "hour", "hours") + " ago"
	}
	return "more than " + plural(int(at/time.Minute), "minute", "minutes") + " ago"
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

// basis says in sentences what a plan rests on.
func basis(p plan.Plan) []string {
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
		read := "database read " + roundAge(time.Duration(b.Age))
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
func keptBack(o plan.Object) bool { return o.Class == plan.Refused || o.Class == plan.Waiting }

// keptWords says which of the objects are applied although a part of the change is refused; ""
// where nothing is refused.
func keptWords(p plan.Plan) string {
	kept, differ := 0, 0
	for _, o := range p.Objects {
		if o.Change == plan.Moved || o.Change == plan.Orphaned {
			continue
		}
		if differ++; keptBack(o) {
			kept++
		}
	}
	switch {
	case len(p.Refused) == 0 || differ == 0:
		return ""
	case kept == differ:
		return "nothing of the change is applied"
	case kept == 0:
		return "the objects below are applied all the same"
	}
	return fmt.Sprintf("of the objects below %d of %d are kept back; the others are applied all the same", kept, differ)
}

// objectNote says what becomes of an object.
func objectNote(p plan.Plan, o plan.Object) string {
	note := string(o.Change)
	switch back := keptBack(o); {
	case back && o.Change == plan.Added, back && o.Change == plan.Removed, back && o.Change == plan.Changed:
		note = "not " + note + ": " + string(o.Class)
	case o.Change == plan.Changed && o.Class != "":
		note = string(o.Class)
	case back, o.Class == plan.Recreate:
		note += ", " + string(o.Class)
	}
	if len(p.Refused) > 0 && !keptBack(o) && o.Change != plan.Moved && o.Change != plan.Orphaned {
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
