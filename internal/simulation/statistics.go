package simulation

import (
	"fmt"
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

func (s *Statistics) seen(operation string) {
	if s.Operations == nil {
		s.Operations = map[string]int{}
	}
	s.Operations[operation]++
}

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
	if r.Violation != nil {
		s.Violations++
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
		if s.Operations == nil {
			s.Operations = map[string]int{}
		}
		s.Operations[operation] += n
	}
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
