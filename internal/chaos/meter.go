package chaos

import (
	"errors"
	"slices"
	"time"
)

// Meter measures the statements on one table during one operation.
type Meter struct {
	Reads, Writes Kind
	// Missing are reads that denied an acknowledged row, also when asked again.
	Missing int
}

// Kind is one kind of statement.
type Kind struct {
	// Statements, how many of them were sent a second time, and how many failed
	// then, too.
	Statements, Retried, Failed int
	// Latencies of all of them, retry and its pause counted.
	Latencies []time.Duration
	// Errors of those that failed, counted by their text.
	Errors map[string]int
}

func (m *Meter) add(write bool, took time.Duration, first, second error) {
	k := &m.Reads
	if write {
		k = &m.Writes
	}
	k.Statements++
	k.Latencies = append(k.Latencies, took)
	if first == nil {
		return
	}
	k.Retried++
	if second == nil {
		return
	}
	k.Failed++
	if errors.Is(first, errMissing) && errors.Is(second, errMissing) {
		m.Missing++
	}
	if k.Errors == nil {
		k.Errors = map[string]int{}
	}
	k.Errors[first.Error()+"; then "+second.Error()]++
}

func (k Kind) plus(o Kind) Kind {
	sum := Kind{
		Statements: k.Statements + o.Statements, Retried: k.Retried + o.Retried, Failed: k.Failed + o.Failed,
		Latencies: slices.Concat(k.Latencies, o.Latencies), Errors: map[string]int{},
	}
	for _, each := range []map[string]int{k.Errors, o.Errors} {
		for text, n := range each {
			sum.Errors[text] += n
		}
	}
	return sum
}

// P99 is what 99 of 100 statements needed at most; 0 without any.
func (k Kind) P99() time.Duration {
	if len(k.Latencies) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(k.Latencies))
	return sorted[(len(sorted)*99+99)/100-1]
}

// available is how many of its statements were answered, from 0 to 1; 1 without
// any.
func (k Kind) available() float64 {
	if k.Statements == 0 {
		return 1
	}
	return 1 - float64(k.Failed)/float64(k.Statements)
}
