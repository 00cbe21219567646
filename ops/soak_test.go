package ops_test

import (
	"os"
	"testing"
)

// someOrEach is the step from one write at which a long history is cut off to the next: in a soak
// it is cut off at each.
func someOrEach(step int) int {
	if os.Getenv("STEVEDORE_SOAK") != "" {
		return 1
	}
	return step
}

func TestSoakLongHistoriesOfVolumesAreCutOffAtEachWrite(t *testing.T) {
	if os.Getenv("STEVEDORE_SOAK") == "" {
		t.Skip("takes minutes: `make soak` runs it")
	}
	t.Run("an offline growth", TestAnOfflineGrowthSurvivesAKillAtEachWrite)
	t.Run("a replacement", TestAReplacementSurvivesAKillAtEachWrite)
}
