package chaos

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testbed"
)

// The short run of what `make chaos` does at length.
func TestNoAcknowledgedRowIsLost(t *testing.T) {
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		binary = "../../bin/stevedore"
	}
	require.FileExists(t, binary, "run `make` first")
	starting, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	bed, err := testbed.Start(starting, testbed.Options{Binary: binary, Deploy: "../../deploy"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, bed.Stop()) })
	var log bytes.Buffer
	report, err := Run(t.Context(), Options{
		Bed: bed, Voyages: Short(), Pace: 100 * time.Millisecond, Patience: 20 * time.Minute, Seed: 1, Log: &log,
		Say: func(line string) { t.Log(line) },
	})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, report.Write(&text))
	t.Logf("\n%s", text.String())
	if !assert.Empty(t, report.Violations) {
		t.Logf("the daemons' log:\n%s", log.String())
	}
	for _, row := range report.Rows {
		k := row.Replicated.Reads.plus(row.Replicated.Writes)
		assert.Positive(t, k.Statements, "statements during %s", row.Operation)
		assert.Positive(t, row.Kept.Acknowledged, "rows that could have been lost in %s", row.Operation)
	}
}
