package gates

import (
	"cmp"
	"slices"
	"strings"
)

// Question is what a rule asks CrateDB before a node is restarted. It is declared here and nowhere else: readings, last
// looks, published readings, plans and the doubles of the tests take it from Questions.
type Question struct {
	// What is found, in words that stand after "it is unknown whether": "OPTIMIZE TABLE runs".
	What string
	// View is what SQL reads, as docs/views.md names it.
	View string
	// SQL selects one text a row, for each of what is found. It has no parameters, and each release knows it. What it
	// selects is shown and published, so it must hold no secret.
	SQL string
	// UnknownPasses: without an answer nothing is held up, because no data is at risk.
	UnknownPasses bool
	// itself: SQL reads sys.jobs, and finds its own row there. Of the others those count that begin with begins.
	itself bool
	begins string
}

// Running asks for statements that CrateDB works on and that begin with these words, in small letters. CrateDB may not say it:
// with stats.enabled = false, and without the privilege AL it says it of those of system only.
func Running(words string) *Question {
	return &Question{
		What: strings.ToUpper(words) + " runs", View: "sys.jobs", itself: true, begins: words, UnknownPasses: true,
		SQL: `SELECT stmt FROM sys.jobs WHERE lower(stmt) LIKE '%` + words + `%'`,
	}
}

// Answer is what CrateDB says to a Question. The zero value is none.
type Answer struct {
	Known bool     `json:"known,omitempty"`
	Found []string `json:"found,omitempty"`
}

// Answer reads the rows. Without its own row a question of sys.jobs has none: with stats.enabled = false the view is
// empty whatever runs.
func (q *Question) Answer(rows [][]string) Answer {
	a := Answer{Known: !q.itself}
	for _, r := range rows {
		switch {
		case q.itself && r[0] == q.SQL:
			a.Known = true
		case strings.HasPrefix(strings.ToLower(strings.TrimSpace(r[0])), q.begins):
			a.Found = append(a.Found, r[0])
		}
	}
	slices.Sort(a.Found)
	return a
}

// None are the rows that say that nothing is there.
func (q *Question) None() [][]string {
	if q.itself {
		return [][]string{{q.SQL}}
	}
	return nil
}

// Example is what a row of what is found may look like.
func (q *Question) Example() string { return strings.ToUpper(q.begins) + " doc.t" }

// Questions are the rules that ask, in the order of All.
var Questions = func() (all []*Rule) {
	for i := range All {
		if All[i].Asks != nil {
			all = append(all, &All[i])
		}
	}
	return all
}()

// Holds is the reason of a rule that asks. What is not known holds as well, for which why says the cause; but see
// UnknownPasses.
func (r *Rule) Holds(a Answer, why string) (Reason, bool) {
	switch {
	case len(a.Found) > 0:
		return r.because("%s: %s", r.Asks.What, some(a.Found)), true
	case !a.Known && !r.Asks.UnknownPasses:
		return r.because("it is unknown whether %s: %s", r.Asks.What, cmp.Or(why, r.Asks.View+" was not read yet")), true
	}
	return Reason{}, false
}
