package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// table is one of the page's, in Markdown.
type table struct {
	title, note string
	header      []string
	rows        [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", t.title)
	if t.note != "" {
		fmt.Fprintf(&b, "%s\n\n", t.note)
	}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.header, " | "), strings.Repeat("---|", len(t.header)))
	for _, row := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// Marks in the page around what is measured.
const (
	beginMeasured = "<!-- measured -->\n"
	endMeasured   = "<!-- end of measured -->\n"
)

// between replaces what stands between the marks of a page.
func between(page, text string) (string, error) {
	before, rest, opened := strings.Cut(page, beginMeasured)
	_, after, closed := strings.Cut(rest, endMeasured)
	if !opened || !closed {
		return "", fmt.Errorf("the page has no lines %q and %q", strings.TrimSpace(beginMeasured), strings.TrimSpace(endMeasured))
	}
	return before + beginMeasured + text + endMeasured + after, nil
}

func update(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text, err = between(string(old), text)
	if err != nil {
		return fmt.Errorf("writing %s: %w", page, err)
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// goal says whether one was met; a missed one stands out.
func goal(met bool, text string) string {
	if met {
		return text + ": met"
	}
	return "**" + text + ": missed**"
}

// seconds with the digits that mean something.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<19)>>20) }

// percentile of durations that are sorted, by the nearest rank.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// times is one number as a multiple of another.
func times(a, b time.Duration) string {
	if b <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ×", float64(a)/float64(b))
}
