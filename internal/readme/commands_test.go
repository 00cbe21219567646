package readme

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// block is one ```sh block of a page, cut into commands.
type block struct {
	page     string
	line     int
	commands []string
}

var (
	comment = regexp.MustCompile(`(^|\s{2,})#.*$`)
	heredoc = regexp.MustCompile(`<<'?(\w+)'?`)
)

// blocksOf reads a page's blocks: a command is a line, with what it continues on and its
// here-document.
func blocksOf(page, text string) (all []block) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) != "```sh" {
			continue
		}
		indent := strings.Index(lines[i], "```")
		now := block{page: page, line: i + 1}
		next := func() string {
			i++
			return strings.TrimPrefix(lines[i], strings.Repeat(" ", indent))
		}
		for line := next(); strings.TrimSpace(line) != "```"; line = next() {
			command := comment.ReplaceAllString(line, "")
			for strings.HasSuffix(command, "\\") {
				command = strings.TrimSuffix(command, "\\") + strings.TrimSpace(comment.ReplaceAllString(next(), ""))
			}
			if found := heredoc.FindStringSubmatch(command); found != nil {
				for line := next(); ; line = next() {
					command += "\n" + line
					if line == found[1] {
						break
					}
				}
			}
			if strings.TrimSpace(command) != "" {
				now.commands = append(now.commands, command)
			}
		}
		all = append(all, now)
	}
	return all
}

func TestACommandIsALineWithAllThatBelongsToIt(t *testing.T) {
	blocks := blocksOf("p", strings.Join([]string{
		"text", "```sh", "make demo    # a word", "# nothing", "a b \\", "  c", "cat > f <<'END'", "x: 'y' # stays", "END", "```",
		"```yaml", "not: this", "```", "   ```sh", "   kubectl apply -k deploy", "   ```",
	}, "\n"))
	require.Len(t, blocks, 2)
	assert.Equal(t, []string{"make demo", "a b c", "cat > f <<'END'\nx: 'y' # stays\nEND"}, blocks[0].commands)
	assert.Equal(t, block{page: "p", line: 14, commands: []string{"kubectl apply -k deploy"}}, blocks[1])
}

// left are commands that are not run here, with the reason.
var left = map[string]string{
	"make demo":  "takes a minute, and shows the same as the e2e tests",
	"make test":  "runs this test",
	"make quick": "runs tests, those of this package among them",
}

func TestWhatIsLeftOutIsInAPage(t *testing.T) {
	all := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile("../../" + page)
		require.NoError(t, err)
		for _, block := range blocksOf(page, string(text)) {
			for _, command := range block.commands {
				all[command] = true
			}
		}
	}
	for command, why := range left {
		assert.True(t, all[command], "%s (%s) is in no page any more", command, why)
	}
}
