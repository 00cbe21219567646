package shape

import (
	"fmt"
	"io"
)

// Print writes a line for each measure, and below one that is exceeded all that it counts:
// which of them is new is not known here. With list it does so below each. Errors of the
// writer are left to it.
func Print(out io.Writer, results []Result, list bool) {
	fmt.Fprintf(out, "%-50s %8s %8s %8s\n", "", "value", "allowed", "goal")
	for _, r := range results {
		name := r.Name
		if r.Of != "" {
			name += ": " + r.Of
		}
		fmt.Fprintf(out, "%-50s %8d %8d %8d%s\n", name, r.Count, r.Allowed, r.Goal, verdict(r))
		if !list && !r.Exceeded() {
			continue
		}
		for _, f := range r.Findings {
			fmt.Fprintf(out, "    %s  %s\n", f.Where, f.What)
		}
	}
}

func verdict(r Result) string {
	switch {
	case r.Exceeded():
		return fmt.Sprintf("  EXCEEDED by %d", r.Count-r.Allowed)
	case r.Lowerable():
		return fmt.Sprintf("  better than allowed: lower it to %d in internal/shape/limits.go", r.Count)
	}
	return ""
}

// Exceeded counts the measures that fail the check.
func Exceeded(results []Result) int {
	n := 0
	for _, r := range results {
		if r.Exceeded() {
			n++
		}
	}
	return n
}
