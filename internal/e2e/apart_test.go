package e2e

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// apart are the tests that take from all others what these share.
var apart = []string{
	"TestAnAPIServerThatIsStartedAgainLeavesWhatIsInSyncAsItWas", "TestARestartGoesOnWhenTheAPIServerIsStartedAgain",
	"TestTheEndOfCrateOperatorsKindTakesNothingOfAnAdoptedCluster",
}

func namesOfApart() string { return "^(" + strings.Join(apart, "|") + ")$" }

// leaveApart leaves them to their own process where all tests run. Who asks for one by its name
// gets it in this one.
func leaveApart() error {
	if flag.Lookup("test.run").Value.String() != "" {
		return nil
	}
	left := namesOfApart()
	if others := flag.Lookup("test.skip").Value.String(); others != "" {
		left = others + "|" + left
	}
	return flag.Set("test.skip", left)
}

// In one process with all others these had to run alone, and nothing ran at the same time: 150 of
// 520 seconds. Their process starts before the first of the others, since it takes so long.
func TestWhatTakesTheAPIServerAwayHasOneOfItsOwn(t *testing.T) {
	needing(t, apiServerToKill)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", namesOfApart(), "-test.v", "-test.count", "1", "-test.timeout", "20m")
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Parallel()
	assert.NoError(t, <-ended, "%s", &out)
	for _, name := range apart {
		assert.Contains(t, out.String(), "--- PASS: "+name, "%s", &out)
	}
}
