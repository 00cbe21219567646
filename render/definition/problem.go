package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/plaintext"
)

// String is file:line:column: path: message on one line, without what is not
// known, and harmless to print: names of files and keys are a stranger's words.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:", p.Line)
			if p.Column > 0 {
				fmt.Fprintf(&b, "%d:", p.Column)
			}
		}
		b.WriteString(" ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return plaintext.Line(b.String())
}

// Stops: one of them is more than a warning.
func Stops(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return !p.Warning })
}

// Warnings takes the warnings out of a list.
func Warnings(problems []Problem) (stopping, warnings []Problem) {
	for _, p := range problems {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			stopping = append(stopping, p)
		}
	}
	return stopping, warnings
}

// Merge puts the problems of several checks into one list: sorted by file,
// line and column, and what two checks both found once, with the position if
// either knew it.
func Merge(lists ...[]Problem) []Problem {
	all := slices.Concat(lists...)
	type saying struct{ file, path, message string }
	placed := map[saying]bool{}
	for _, p := range all {
		if p.Line > 0 {
			placed[saying{p.File, p.Path, p.Message}] = true
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
			// The one that names its cluster stays.
			cmp.Compare(b.Cluster, a.Cluster))
	})
	merged := all[:0]
	for _, p := range all {
		if p.Line == 0 && placed[saying{p.File, p.Path, p.Message}] {
			continue
		}
		if n := len(merged); n > 0 {
			last, same := merged[n-1], p
			last.Cluster, same.Cluster = "", ""
			if last == same && (p.Cluster == "" || p.Cluster == merged[n-1].Cluster) {
				continue
			}
		}
		merged = append(merged, p)
	}
	return merged
}
