package e2e

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// inApart is set in the process of the tests that run apart.
const inApart = "STEVEDORE_E2E_APART"

// apart are the tests that take from all others what these share.
var apart = []string{"TestAnAPIServerThatIsStartedAgainLeavesWhatIsInSyncAsItWas", "TestARestartGoesOnWhenTheAPIServerIsStartedAgain"}

// runsApart leaves a test to the process of its own, unless it is asked for by its name.
func runsApart(t *testing.T) {
	t.Helper()
	assert.Contains(t, apart, t.Name())
	if os.Getenv(inApart) == "" && flag.Lookup("test.run").Value.String() == "" {
		t.Skip("TestWhatTakesTheAPIServerAwayHasOneOfItsOwn runs it")
	}
}

// In one process with all others these two had to run alone, and nothing ran beside them: 150 of
// 520 seconds.
func TestWhatTakesTheAPIServerAwayHasOneOfItsOwn(t *testing.T) {
	needing(t, apiServerToKill)
	if os.Getenv(inApart) != "" {
		t.Skip("this is it")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^("+strings.Join(apart, "|")+")$", "-test.v", "-test.count", "1", "-test.timeout", "20m")
	cmd.Env = append(os.Environ(), inApart+"=1")
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	for _, name := range apart {
		assert.Contains(t, string(out), "--- PASS: "+name, "%s", out)
	}
}
