package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStatementsAreSplitOutsideOfQuotesAndComments(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"one without an end", "SELECT 1", []string{"SELECT 1"}},
		{"two on one line", "SELECT 1; SELECT 2;", []string{"SELECT 1", "SELECT 2"}},
		{"a semicolon in a string", `ALTER USER x SET (password = 'a;''b');`, []string{`ALTER USER x SET (password = 'a;''b')`}},
		{"a semicolon in a name", `SELECT ";" FROM t; SELECT 2`, []string{`SELECT ";" FROM t`, "SELECT 2"}},
		{"a dollar quote", `SELECT $$a;b$$; SELECT 2`, []string{`SELECT $$a;b$$`, "SELECT 2"}},
		{"comments", "-- first; not\nSELECT 1; /* ; */ SELECT 2", []string{"-- first; not\nSELECT 1", "/* ; */ SELECT 2"}},
		{"nothing", " ;\n; -- only this", nil},
		{"an open quote goes to the server as it is", "SELECT 'a; SELECT 2", []string{"SELECT 'a; SELECT 2"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, splitStatements(c.script)) })
	}
}

func TestCrashTakesTheOptionsOfTheRealOne(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want crashOptions
		err  string
	}{
		{name: "nothing", want: crashOptions{format: "tabular"}},
		{
			name: "long options", args: []string{"--command", "SELECT 1", "--hosts", "a:1", "b:2", "--username=system", "--format", "raw"},
			want: crashOptions{statement: "SELECT 1", hasStatement: true, hosts: []string{"a:1", "b:2"}, user: "system", format: "raw"},
		},
		{
			name: "short options", args: []string{"-v", "-U", "system", "-cSELECT 1", "--verify-ssl", "false"},
			want: crashOptions{statement: "SELECT 1", hasStatement: true, user: "system", format: "tabular"},
		},
		{
			name: "a statement that begins with a comment", args: []string{"-c", "-- x\nSELECT 1"},
			want: crashOptions{statement: "-- x\nSELECT 1", hasStatement: true, format: "tabular"},
		},
		{name: "an unknown option", args: []string{"--now"}, err: "unrecognized arguments: --now"},
		{name: "an unknown format", args: []string{"--format", "yaml"}, err: `invalid choice: "yaml"`},
		{name: "a value is missing", args: []string{"-c"}, err: "expected one argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := (&invocation{args: append([]string{"crash"}, c.args...)}).crashOptions()
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}
