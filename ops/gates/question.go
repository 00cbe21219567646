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
	// SQL selects a row for each of what is found. It has no parameters, and each release knows it.
	SQL string
	// UnknownPasses: without an answer nothing is held up, because no data is at risk.
	UnknownPasses bool
	// read says what of a row is shown and published, which must hold no secret, and whether the row is of this question
	// itself. nil: a row has one text, which is shown.
	read func(row []string) (found []string, itself bool)
	// itself is a row of this question itself. Without one there is no answer: the view is empty, whatever is there.
	itself []string
	// example is a row of what is found.
	example []string
}

// Running asks for statements that CrateDB works on and that begin with these words, in small letters. CrateDB may not say it:
// with stats.enabled = false, and without the privilege AL it says it of those of system only.
func Running(words string) *Question {
	began := strings.Fields(words)
	q := &Question{
		What: strings.ToUpper(words) + " runs", View: "sys.jobs", UnknownPasses: true,
		SQL:     `SELECT stmt FROM sys.jobs WHERE lower(stmt) LIKE '%` + strings.Join(began, "%") + `%'`,
		example: []string{strings.ToUpper(words) + " doc.t"},
	}
	q.itself = []string{q.SQL}
	q.read = func(row []string) (found []string, itself bool) {
		if row[0] == q.SQL {
			return nil, true
		}
		tables, begins := tablesOf(row[0], began)
		if begins && len(tables) == 0 {
			tables = []string{"a table"}
		}
		return tables, false
	}
	return q
}

// Answer is what CrateDB says to a Question. The zero value is none.
type Answer struct {
	Known bool     `json:"known,omitempty"`
	Found []string `json:"found,omitempty"`
}

// Answer reads the rows.
func (q *Question) Answer(rows [][]string) Answer {
	a := Answer{Known: q.itself == nil}
	for _, r := range rows {
		found, itself := r, false
		if q.read != nil {
			found, itself = q.read(r)
		}
		a.Known = a.Known || itself
		a.Found = append(a.Found, found...)
	}
	slices.Sort(a.Found)
	a.Found = slices.Compact(a.Found)
	return a
}

// None are the rows that say that nothing is there.
func (q *Question) None() [][]string {
	if q.itself == nil {
		return nil
	}
	return [][]string{q.itself}
}

// Some are rows that say that something is there.
func (q *Question) Some() [][]string { return append(q.None(), q.example) }

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
