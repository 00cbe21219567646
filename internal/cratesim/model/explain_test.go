package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATimeIsWordedAsCrateDBDoes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999 * time.Millisecond: "999ms", 1500 * time.Millisecond: "1.5s", 4*time.Minute + 58*time.Second + 251*time.Millisecond: "4.9m",
		5 * time.Minute: "5m", 5*time.Minute + time.Second: "5m", 90 * time.Minute: "1.5h", 25 * time.Hour: "1d", 1900 * time.Microsecond: "1.9ms",
	} {
		require.Equal(t, want, timeValue(d), d)
	}
}
