package gates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// asked are those of the rules that say themselves what they ask CrateDB.
func asked() (all []situation) {
	for _, r := range Questions {
		q := r.Asks
		all = append(all,
			situation{r.Name + " finds something", of(r.Holds(q.Answer(q.Some()), "")), *r, true, []string{q.What}},
			situation{r.Name + " finds nothing", of(r.Holds(q.Answer(q.None()), "")), *r, false, nil},
			situation{r.Name + " was not asked", of(r.Holds(Answer{}, "")), *r, !q.UnknownPasses, []string{"unknown whether " + q.What, q.View + " was not read yet"}},
		)
	}
	return all
}

func TestAQuestionWithoutAnAnswerHoldsWhereDataIsAtRisk(t *testing.T) {
	rule := Rule{Name: "shards-resized", Asks: &Question{What: "a table is being resized", View: "sys.shards", SQL: "SELECT table_name FROM sys.shards"}}
	for _, c := range []struct {
		name   string
		answer Answer
		why    string
		want   string
	}{
		{"nothing is there", rule.Asks.Answer(nil), "", ""},
		{"two are there", rule.Asks.Answer([][]string{{"b"}, {"a"}}), "", "a table is being resized: a, b"},
		{"it was not asked", Answer{}, "", "it is unknown whether a table is being resized: sys.shards was not read yet"},
		{"it had no answer", Answer{}, "a time-out", "it is unknown whether a table is being resized: a time-out"},
	} {
		reason, holds := rule.Holds(c.answer, c.why)
		assert.Equal(t, c.want != "", holds, c.name)
		assert.Equal(t, c.want, reason.Message, c.name)
	}
}

// An empty answer of sys.jobs is none: with stats.enabled = false it has no row, whatever runs.
func TestAQuestionOfWhatRunsFindsItself(t *testing.T) {
	q := Running("optimize table")
	row := func(statement string) []string { return []string{statement} }
	own := row(q.SQL)
	for _, c := range []struct {
		name string
		rows [][]string
		want Answer
	}{
		{"no row", nil, Answer{}},
		{"its own", [][]string{own}, Answer{Known: true}},
		{"one that runs", [][]string{own, row("  Optimize Table doc.t WITH (max_num_segments = 1)")}, Answer{Known: true, Found: []string{"doc.t"}}},
		{"somebody who asks for it", [][]string{own, row("SELECT * FROM sys.jobs WHERE stmt LIKE 'OPTIMIZE TABLE%'")}, Answer{Known: true}},
		{"one that runs, and not its own", [][]string{row("OPTIMIZE TABLE doc.t")}, Answer{Found: []string{"doc.t"}}},
		{"the same table twice", [][]string{own, row("OPTIMIZE TABLE doc.t"), row("optimize table doc.t")}, Answer{Known: true, Found: []string{"doc.t"}}},
	} {
		assert.Equal(t, c.want, q.Answer(c.rows), c.name)
	}
}

// With the simple query protocol each row of sys.jobs has the whole message of the client, a COPY beside what is asked for and
// the key of a bucket in its URI.
func TestOfAMessageOnlyTheTablesAreShownThatAStatementNames(t *testing.T) {
	const secret = "sEcr3t"
	q := Running("optimize table")
	for _, c := range []struct {
		message string
		want    []string
	}{
		{"OPTIMIZE TABLE a; COPY b FROM 's3://AKIA12:sEcr3t@bucket/b.json'", []string{"a"}},
		{"COPY b FROM 's3://AKIA12:sEcr3t@bucket/b.json'; OPTIMIZE TABLE doc.a, b", []string{"b", "doc.a"}},
		{"/* sEcr3t */ OPTIMIZE -- sEcr3t\n TABLE\t\"My; table\" . t WITH (x = 'sEcr3t')", []string{`"My; table".t`}},
		{"OPTIMIZE TABLE p PARTITION (d = 'sEcr3t'), q", []string{"p"}},
		{"INSERT INTO t VALUES ('it''s; OPTIMIZE TABLE sEcr3t')", nil},
		{"INSERT INTO t VALUES (E'\\'; OPTIMIZE TABLE sEcr3t')", nil},
		{"SELECT $$; OPTIMIZE TABLE sEcr3t$$; SELECT $a$; OPTIMIZE TABLE sEcr3t$a$", nil},
		{"SELECT 1 -- ; OPTIMIZE TABLE sEcr3t", nil},
		{"SELECT 1 /* ; OPTIMIZE TABLE sEcr3t", nil},
		{"OPTIMIZE TABLE 's3://AKIA12:sEcr3t@bucket'", []string{"a statement that names no table"}},
		{"OPTIMIZE TABLE", []string{"a statement that names no table"}},
		{"OPTIMIZE", nil},
		{"OPTIMIZE TABLE $1, é", []string{"a statement that names no table"}},
		{"OPTIMIZE TABLE é.ü;;", []string{"é.ü"}},
	} {
		a := q.Answer([][]string{q.itself, {c.message}})
		assert.Equal(t, c.want, a.Found, c.message)
		assert.NotContains(t, fmt.Sprint(a), secret, c.message)
	}
}

func TestAnExportIsNoImport(t *testing.T) {
	q := Running("copy", "to")
	assert.Equal(t, "COPY TO runs", q.What)
	for message, want := range map[string][]string{
		"COPY doc.t TO DIRECTORY 's3://k:s@b'":                                                     {"doc.t"},
		"copy t partition (d = 1) (a, b) where extract(day from d) = 1 to 'file:///tmp'":           {"t"},
		"COPY doc.t FROM 's3://k:s@b'":                                                             nil,
		"COPY doc.t FROM 's3://k:s@b to c'":                                                        nil,
		`COPY "to" FROM 's3://k:s@b'`:                                                              nil,
		"COPY doc.a FROM 's3://k:s@b'; COPY doc.b TO DIRECTORY 'file:///tmp'; SELECT 1 TO_CHAR(b)": {"doc.b"},
	} {
		assert.Equal(t, want, q.Answer([][]string{{message}}).Found, message)
	}
}

func TestWorkIsNamedByItsNodes(t *testing.T) {
	q := Operating("COPY FROM runs", "copyFrom")
	for _, c := range []struct {
		name string
		rows [][]string
		want Answer
	}{
		{"no row", nil, Answer{}},
		{"its own on two nodes", [][]string{{"collect", "n0"}, {"collect", "n1"}}, Answer{Known: true}},
		{"an import on two nodes", [][]string{{"collect", "n0"}, {"copyFrom", "n1"}, {"copyFrom", "n0"}}, Answer{Known: true, Found: []string{"on n0", "on n1"}}},
	} {
		assert.Equal(t, c.want, q.Answer(c.rows), c.name)
	}
}

func FuzzAMessageIsTakenApart(f *testing.F) {
	for _, seed := range []string{"OPTIMIZE TABLE a; COPY b FROM 's3://k:s@b'", "E'\\", "$a$", "\"", "/*", "--", "é@1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		for _, statement := range statementsOf(message) {
			for _, token := range statement {
				assert.False(t, strings.HasPrefix(token.text, "'"), "a text is kept of %q", message)
			}
		}
	})
}
