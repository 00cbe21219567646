package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run has seen.
type Report struct {
	Rows       []Row
	Violations []string
	// notes are what a reader should know and nobody has violated.
	notes []string
}

// Row is one operation.
type Row struct {
	Voyage, Operation string
	Fault             Fault
	// Took is from the push until the daemon said done and the cluster was green.
	Took time.Duration
	// Replicated and Bare are the statements on tables with a replica or more, and
	// on those without; zero where the application rested.
	Replicated, Bare Meter
	// Kept and Exposed are the rows of the same tables, written since the
	// beginning of the voyage.
	Kept, Exposed Rows
}

// place of a row, in words.
func (r *Row) place() string {
	return r.Voyage + ", " + r.Operation + ", " + string(r.Fault)
}

func (r *Report) violation(format string, arguments ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, arguments...))
}

// Add takes what another run has seen.
func (r *Report) Add(o Report) {
	r.Rows, r.Violations, r.notes = append(r.Rows, o.Rows...), append(r.Violations, o.Violations...), append(r.notes, o.notes...)
}

// Write prints it as tables.
func (r *Report) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "voyage\toperation\tfault\ttook\tstatements\tretried\tfailed\tp99 read\tp99 write\trows acked\tlost\tno replica: failed\tlost\t")
	for _, row := range r.Rows {
		read, write := row.Replicated.Reads, row.Replicated.Writes
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t%d of %d\t%d\t\n",
			row.Voyage, row.Operation, row.Fault, row.Took.Round(100*time.Millisecond),
			read.Statements+write.Statements, read.Retried+write.Retried, read.Failed+write.Failed,
			read.P99().Round(time.Millisecond), write.P99().Round(time.Millisecond),
			row.Kept.Acknowledged, row.Kept.Lost,
			row.Bare.Reads.Failed+row.Bare.Writes.Failed, row.Bare.Reads.Statements+row.Bare.Writes.Statements, row.Exposed.Lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		kept, bare := row.Replicated.Reads.plus(row.Replicated.Writes), row.Bare.Reads.plus(row.Bare.Writes)
		if len(kept.Errors)+len(bare.Errors) > 0 {
			fmt.Fprintf(out, "%s, failed: %s\n", row.place(), texts(kept.plus(bare).Errors))
		}
	}
	for _, voyage := range r.voyages() {
		sum := r.undisturbed(voyage)
		last := r.last(voyage)
		fmt.Fprintf(out, "%s: %d rows acknowledged in tables with replicas, %d sent and not acknowledged (%d of them are there); ",
			voyage, last.Kept.Acknowledged, last.Kept.Maybe, last.Kept.Applied)
		if sum.Reads.Statements+sum.Writes.Statements > 0 {
			fmt.Fprintf(out, "without a node killed %.3f %% of %d reads and %.3f %% of %d writes were answered\n",
				100*sum.Reads.available(), sum.Reads.Statements, 100*sum.Writes.available(), sum.Writes.Statements)
		} else {
			fmt.Fprintln(out, "a node was killed in each operation")
		}
	}
	for _, note := range r.notes {
		fmt.Fprintln(out, note)
	}
	if len(r.Violations) > 0 {
		fmt.Fprintln(out, "VIOLATED:\n  "+strings.Join(r.Violations, "\n  "))
	}
	return nil
}

func (r *Report) voyages() []string {
	var all []string
	for _, row := range r.Rows {
		if !slices.Contains(all, row.Voyage) {
			all = append(all, row.Voyage)
		}
	}
	return all
}

func (r *Report) last(voyage string) Row {
	var last Row
	for _, row := range r.Rows {
		if row.Voyage == voyage {
			last = row
		}
	}
	return last
}

// undisturbed sums up the operations of a voyage in which no node was killed.
func (r *Report) undisturbed(voyage string) Meter {
	var sum Meter
	for _, row := range r.Rows {
		if row.Voyage == voyage && !row.Fault.takesNodes() {
			sum = sum.plus(row.Replicated)
		}
	}
	return sum
}

func (m Meter) plus(o Meter) Meter {
	return Meter{Reads: m.Reads.plus(o.Reads), Writes: m.Writes.plus(o.Writes), Missing: m.Missing + o.Missing}
}

// available is the least share of statements that has to be answered where no
// node is killed.
const available = 0.999

// judge says what one voyage violated over all of its operations.
func (r *Report) judge(voyage string) {
	sum := r.undisturbed(voyage)
	for name, k := range map[string]Kind{"reads": sum.Reads, "writes": sum.Writes} {
		if k.available() < available {
			r.violation("%s: %d of %d %s on tables with replicas failed, also when repeated, though no node was killed; at most %.1f %% may: %s",
				voyage, k.Failed, k.Statements, name, 100*(1-available), texts(k.Errors))
		}
	}
}

// judgeRow says what an operation violated by itself.
func (r *Report) judgeRow(row Row) {
	at := row.place()
	if row.Kept.Lost > 0 {
		r.violation("%s: %d acknowledged rows of tables with replicas are lost", at, row.Kept.Lost)
	}
	if n := row.Kept.Strange + row.Exposed.Strange; n > 0 {
		r.violation("%s: %d rows are there twice, or nobody wrote them", at, n)
	}
	if row.Replicated.Missing > 0 {
		r.violation("%s: %d reads did not find an acknowledged row of a table with replicas", at, row.Replicated.Missing)
	}
}

// texts are the errors, the most frequent first, five at most.
func texts(errors map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(errors), func(a, b string) int { return errors[b] - errors[a] })
	var all []string
	for i, key := range keys {
		if i == 5 {
			all = append(all, "…")
			break
		}
		all = append(all, fmt.Sprintf("%d times %q", errors[key], key))
	}
	return strings.Join(all, ", ")
}
