package plaintext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/plaintext"
)

func TestWhatATerminalOrARunnerWouldActOnIsSeenAndNotDone(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"clusters/größe.yaml:3:1: is missing…", "clusters/größe.yaml:3:1: is missing…"},
		{"a\x1b[2J\x1b]0;title\x07b", `a\x1b[2J\x1b]0;title\x07b`},
		{"a\u009bb", `a\u009bb`},
		{"a\nforged: line\r\tb", `a\nforged: line\r\tb`},
		{"safe\u202egpj.yaml", `safe\u202egpj.yaml`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"\xff\xfe", `\xff\xfe`},
		{"::stop-commands::x", `\x3a:stop-commands::x`},
		{"  ::add-mask::x", `  \x3a:add-mask::x`},
		{"std::string", "std::string"},
		{"x ##[error]y ##vso[task.setvariable]z", `x #\x23[error]y #\x23vso[task.setvariable]z`},
	} {
		assert.Equal(t, c.want, plaintext.Line(c.text))
	}
	assert.Equal(t, "one\n\\x1b[0mtwo\n\\x3a:three::", plaintext.Text("one\n\x1b[0mtwo\n::three::"))
}
