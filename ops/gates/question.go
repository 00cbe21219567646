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

// Running asks for statements that CrateDB works on and that begin with these words, in small letters, and have the later
// ones after the tables that they name. CrateDB may not say it: with stats.enabled = false, and without the privilege AL it
// says it of those of system only.
func Running(words string, later ...string) *Question {
	began := strings.Fields(words)
	q := &Question{
		What: strings.ToUpper(strings.Join(slices.Concat(began, later), " ")) + " runs", View: "sys.jobs", UnknownPasses: true,
		SQL:     `SELECT stmt FROM sys.jobs WHERE lower(stmt) LIKE '%` + strings.Join(slices.Concat(began, later), "%") + `%'`,
		example: []string{strings.TrimSpace(strings.ToUpper(words) + " doc.t " + strings.ToUpper(strings.Join(later, " ")))},
	}
	q.itself = []string{q.SQL}
	q.read = func(row []string) (found []string, itself bool) {
		if row[0] == q.SQL {
			return nil, true
		}
		tables, begins := tablesOf(row[0], began, later...)
		if begins && len(tables) == 0 {
			tables = []string{"a statement that names no table"}
		}
		return tables, false
	}
	return q
}

// Operating asks for work of a name on any node, whether or not a client waits for it. The names are CrateDB's own, so they hold
// nobody's words. What collects the rows of this question itself is work too, which each node has.
func Operating(what, name string) *Question {
	const own = "collect"
	return &Question{
		What: what, View: "sys.operations",
		SQL:     `SELECT DISTINCT name, node['name'] FROM sys.operations WHERE name IN ('` + own + `', '` + name + `')`,
		itself:  []string{own, "data-hot-0"},
		example: []string{name, "data-hot-0"},
		read: func(row []string) (found []string, itself bool) {
			if row[0] == name {
				return []string{"on " + row[1]}, false
			}
			return nil, true
		},
	}
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

// unread is why there is no answer, where no error says it.
func (q *Question) unread() string {
	if q.itself == nil {
		return q.View + " was not read yet"
	}
	return q.View + " was not read yet, or does not show even the statement that asks"
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

// Asked is the question that a query is of; nil for any other query.
func Asked(query string) *Question {
	if i := slices.IndexFunc(Questions, func(r *Rule) bool { return r.Asks.SQL == query }); i >= 0 {
		return Questions[i].Asks
	}
	return nil
}

// Holds is the reason of a rule that asks. What is not known holds as well, for which why says the cause; but see
// UnknownPasses.
func (r *Rule) Holds(a Answer, why string) (Reason, bool) {
	switch {
	case len(a.Found) > 0:
		return r.because("%s: %s", r.Asks.What, some(a.Found)), true
	case !a.Known && !r.Asks.UnknownPasses:
		return r.because("it is unknown whether %s: %s", r.Asks.What, cmp.Or(why, r.Asks.unread())), true
	}
	return Reason{}, false
}
