package snapshots_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/snapshots"
)

func TestWhatIsLeftIsSaidByTheRateSoFar(t *testing.T) {
	for _, c := range []struct {
		since          time.Duration
		fetched, bytes int64
		words          string
	}{
		{time.Minute, 25, 100, ", about 3m0s left"},
		{time.Hour, 10, 100, ", about 9h0m0s left"},
		{time.Minute, 0, 100, ""},
		{time.Minute, 100, 100, ""},
		{0, 10, 100, ""},
	} {
		assert.Equal(t, c.words, snapshots.Left(c.since, c.fetched, c.bytes))
	}
}
