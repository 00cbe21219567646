package ops

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/rollout"
	"stevedore.dev/stevedore/ops/scale"
)

var update = flag.Bool("update", false, "write docs/checks.md from the lists of checks")

const checksPage = "../docs/checks.md"

// moves are the lists, with the words of the page.
var moves = []struct {
	move, says string
	list       []check.Check
}{
	{"Before a pod is restarted", "Asked before the allocation lock is set, under it, and once more until the pod is gone.", rollout.BeforePod},
	{"Between two pods, and at the end of a restart", "The time that `stable-for` waits counts from the first pass in which all of them are met.", check.Whole},
	{"Before a disk is added", "Asked before the StatefulSet is recreated with it. Its pods restart next, each after the checks of a restart.", check.Whole},
	{"Before nodes are added", "Health is none of them: a new node may be what a cluster needs to repair itself. The licence and the claims of the new pods are looked at afterwards.", scale.BeforeGrow},
	{"Before nodes are drained, and before each step of a drain", "A pod that is to leave, and in which CrateDB never started, is not expected.", scale.BeforeStep},
	{"Before nodes are drained, after those", "The forecast of the drain comes last.", scale.BeforeDrain},
	{"Before a cluster is suspended", "One reading over all groups decides. A yellow may go: its primaries are all there, and some yellows never end. A missing node is no reason to wait either.", lifecycle.BeforeSuspend},
	{"Before a resume ends", "A yellow that waiting does not end is accepted once it has lasted for `stableFor`.", lifecycle.AfterResume},
}

func page() string {
	var b strings.Builder
	b.WriteString("# Checks, move by move\n\nBefore it moves something, the daemon asks [gates](gates.md) in this order. The first one that is not met is shown, and the rest is not asked.\n" +
		"The lists are those of the code: `go test ./ops -run TestTheDocumentationHasTheChecksOfEachMove -update` writes this page.\n")
	for _, m := range moves {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", m.move, m.says)
		for i, c := range m.list {
			fmt.Fprintf(&b, "%d. [`%s`](troubleshooting.md#%[2]s)\n", i+1, c.Rule().Name)
		}
	}
	return b.String()
}

func TestTheDocumentationHasTheChecksOfEachMove(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(checksPage, []byte(page()), 0o600))
	}
	text, err := os.ReadFile(checksPage)
	require.NoError(t, err)
	assert.Equal(t, string(text), page(), "run go test ./ops -run %s -update", t.Name())
}

// What a list asks twice costs time and says nothing more.
func TestNoMoveAsksACheckTwice(t *testing.T) {
	for _, m := range moves {
		asked := map[check.Check]bool{}
		for _, c := range m.list {
			assert.False(t, asked[c], "%s: %s", m.move, c.Rule().Name)
			assert.NotEmpty(t, c.Rule().Name)
			asked[c] = true
		}
	}
}
