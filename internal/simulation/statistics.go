package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Statistics of many schedules; one goroutine's. The zero value is ready.
type Statistics struct {
	Schedules, Finished, Hopeless, Hit, Violations int
	// Counted are those of at least CountedSteps steps in which a fault hit a running
	// operation, and CountedFinished those of them that finished.
	Counted, CountedFinished int
	Steps                    int64
	// Broken counts violations by invariant, and Stops those of E that do not converge by the
	// gates that the status names, as a list; "" for none.
	Broken, Stops map[string]int
	// Met counts what happened by the operation that was under way.
	Met [whats]map[string]int
	// Operations counts records of an operation by its kind.
	Operations map[string]int

	hit bool
}

func (s *Statistics) count(what What, operation string) {
	if s.Met[what] == nil {
		s.Met[what] = map[string]int{}
	}
	s.Met[what][operation]++
}

func (s *Statistics) seen(operation string) { count(&s.Operations, operation, 1) }

// Note counts a result.
func (s *Statistics) Note(r Result) {
	s.Schedules++
	s.Steps += int64(r.Steps)
	if r.Finished {
		s.Finished++
	}
	if r.Hopeless {
		s.Hopeless++
	}
	if r.Hit {
		s.Hit++
	}
	if v := r.Violation; v != nil {
		s.Violations++
		count(&s.Broken, v.Invariant, 1)
		if v.Names != nil {
			count(&s.Stops, strings.Join(v.Names, ", "), 1)
		}
	}
	if r.Hit && r.Steps >= CountedSteps {
		s.Counted++
		if r.Finished {
			s.CountedFinished++
		}
	}
}

// CountedSteps is how long a schedule is at least that counts.
const CountedSteps = 200

// Add adds another's.
func (s *Statistics) Add(o *Statistics) {
	s.Schedules += o.Schedules
	s.Finished += o.Finished
	s.Hopeless += o.Hopeless
	s.Hit += o.Hit
	s.Violations += o.Violations
	s.Counted += o.Counted
	s.CountedFinished += o.CountedFinished
	s.Steps += o.Steps
	for what := range o.Met {
		for operation, n := range o.Met[what] {
			if s.Met[what] == nil {
				s.Met[what] = map[string]int{}
			}
			s.Met[what][operation] += n
		}
	}
	for operation, n := range o.Operations {
		count(&s.Operations, operation, n)
	}
	for invariant, n := range o.Broken {
		count(&s.Broken, invariant, n)
	}
	for names, n := range o.Stops {
		count(&s.Stops, names, n)
	}
}

func count(of *map[string]int, what string, n int) {
	if *of == nil {
		*of = map[string]int{}
	}
	(*of)[what] += n
}

// Ends is how often each invariant was broken, and by which gates clusters stopped that did not
// converge; "" where neither was so.
func (s *Statistics) Ends() string {
	var b strings.Builder
	for _, invariant := range slices.Sorted(maps.Keys(s.Broken)) {
		fmt.Fprintf(&b, "%d of %s\n", s.Broken[invariant], invariant)
	}
	for _, names := range slices.Sorted(maps.Keys(s.Stops)) {
		fmt.Fprintf(&b, "%d stopped by %s\n", s.Stops[names], cmp.Or(names, "no name"))
	}
	return b.String()
}

// Table is what happened by the operation that it met, as Markdown.
func (s *Statistics) Table() string {
	var operations []string
	for what := range s.Met {
		for operation := range s.Met[what] {
			if !slices.Contains(operations, operation) {
				operations = append(operations, operation)
			}
		}
	}
	slices.Sort(operations)
	var b strings.Builder
	b.WriteString("| what | " + strings.Join(operations, " | ") + " |\n|---|" + strings.Repeat("---:|", len(operations)) + "\n")
	for what := range s.Met {
		fmt.Fprintf(&b, "| %s |", What(what))
		for _, operation := range operations {
			fmt.Fprintf(&b, " %d |", s.Met[what][operation])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
