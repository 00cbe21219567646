package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func situation() Environment {
	return Environment{
		Lookup: func(name string) (string, bool) {
			value, ok := map[string]string{"HOSTNAME": "crate-data-hot-c-2", "TWO": "a b", "EMPTY": ""}[name]
			return value, ok
		},
		Run: func(_ context.Context, args []string, lookup func(string) (string, bool), s Streams) int {
			switch args[0] {
			case "echo":
				fmt.Fprintln(s.Out, strings.Join(args[1:], " "))
			case "count":
				fmt.Fprintln(s.Out, len(args)-1)
			case "cat":
				_, _ = io.Copy(s.Out, s.In)
			case "show":
				value, _ := lookup(args[1])
				fmt.Fprintln(s.Out, value)
			case "warn":
				fmt.Fprintln(s.Err, args[1])
			case "true":
			case "false":
				return 1
			default:
				fmt.Fprintf(s.Err, "sh: %s: not found\n", args[0])
				return 127
			}
			return 0
		},
	}
}

func TestScriptsDoWhatAShellDoes(t *testing.T) {
	for _, c := range []struct {
		name, script, out, err string
		code                   int
	}{
		{name: "a list", script: "echo a; echo b", out: "a\nb\n"},
		{name: "and", script: "true && echo yes", out: "yes\n"},
		{name: "and after a failure", script: "false && echo no", code: 1},
		{name: "or", script: "false || echo cure", out: "cure\n"},
		{name: "and then or", script: "false && echo no || echo cure", out: "cure\n"},
		{name: "a pipeline", script: "echo x | cat | cat", out: "x\n"},
		{name: "negation", script: "! false", code: 0},
		{name: "quotes keep a word whole", script: `count 'a b' "c d" e`, out: "3\n"},
		{name: "an unquoted variable is split", script: `count $TWO`, out: "2\n"},
		{name: "a quoted variable is not", script: `count "$TWO"`, out: "1\n"},
		{name: "an empty variable is no word", script: `count $EMPTY`, out: "0\n"},
		{name: "an empty string is a word", script: `count ""`, out: "1\n"},
		{name: "a default", script: `echo ${NOTHING:-else}`, out: "else\n"},
		{name: "substitution", script: `echo "<$(echo in | cat)>"`, out: "<in>\n"},
		{name: "a condition", script: `if false; then echo 1; elif true; then echo 2; else echo 3; fi`, out: "2\n"},
		{name: "a group", script: `{ echo a; echo b; } | cat`, out: "a\nb\n"},
		{name: "an assignment for one command", script: `X=1 show X; show X`, out: "1\n\n"},
		{name: "an assignment for the rest", script: `X=1; show X`, out: "1\n"},
		{name: "the last code", script: `false; echo $?`, out: "1\n"},
		{name: "exit", script: `exit 3; echo no`, code: 3},
		{name: "exit on failure", script: `set -e; false; echo no`, code: 1},
		{name: "a silenced error", script: `warn x 2>/dev/null`},
		{name: "errors joined to output", script: `warn x 2>&1 | cat`, out: "x\n"},
		{name: "continued lines", script: "echo a \\\n  b &&\necho c", out: "a b\nc\n"},
		{name: "a comment", script: "echo a # b", out: "a\n"},
		{name: "an unknown command", script: "dc-util --now", err: "sh: dc-util: not found\n", code: 127},
		{name: "a loop is refused", script: "while true; do true; done", err: "sh: \"while\" is not supported here\n", code: 2},
		{name: "an open quote is refused", script: "echo 'a", err: "sh: a single quote is not closed\n", code: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, err bytes.Buffer
			code := Run(t.Context(), c.script, situation(), Streams{Out: &out, Err: &err})
			assert.Equal(t, c.out, out.String())
			assert.Equal(t, c.err, err.String())
			assert.Equal(t, c.code, code)
		})
	}
}

func TestExpandKeepsQuotesAndSpaces(t *testing.T) {
	got, err := Expand(t.Context(), `-Cnode.name='x' ${TWO} $(echo "$HOSTNAME") 5$`, situation())
	assert.NoError(t, err)
	assert.Equal(t, `-Cnode.name='x' a b crate-data-hot-c-2 5$`, got)
	_, err = Expand(t.Context(), `$(nothing)`, situation())
	assert.ErrorContains(t, err, "nothing: not found")
}
