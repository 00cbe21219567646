package shape

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// coreLines are all lines of the packages that decide: what a person would have to read who
// wants to know what it decides.
func coreLines(t *Tree) (Value, error) {
	var value Value
	for _, file := range t.core {
		value.Count += file.Lines
	}
	return value, nil
}

// longFiles hold more than one idea.
func longFiles(t *Tree) (Value, error) {
	var long []sized
	for _, file := range t.all {
		if file.Lines > longestFile {
			long = append(long, sized{file.Lines, Finding{file.Name, fmt.Sprintf("%d lines", file.Lines)}})
		}
	}
	return largestFirst(long), nil
}

// unwrittenFiles are programs and data that a build has left: each clone would carry them for ever.
func unwrittenFiles(t *Tree) (Value, error) {
	return Value{Count: len(t.unwritten), Findings: t.unwritten}, nil
}

// unwritten says why no person can have written a file; it is empty if somebody can.
func unwritten(text []byte) string {
	switch {
	case len(text) > largestFile:
		return fmt.Sprintf("%d KiB", len(text)>>10)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "is not text"
	}
	return ""
}

// sized is a finding with its size, by which findings are sorted.
type sized struct {
	size int
	Finding
}

func largestFirst(all []sized) Value {
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	value := Value{Count: len(all)}
	for _, one := range all {
		value.Findings = append(value.Findings, one.Finding)
	}
	return value
}
