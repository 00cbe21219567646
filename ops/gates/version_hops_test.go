package gates

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every boundary of the way from one version to another.
func TestAnUpgradeGoesOneStepAtATime(t *testing.T) {
	for _, c := range []struct {
		from, to string
		way      string // "" where it may go there at once
	}{
		{"4.0.2", "4.1.8", ""},
		{"4.0.1", "4.1.8", "4.0 (4.0.2 or newer), then 4.1.8"},
		{"4.7.3", "4.8.0", ""},
		{"4.6.0", "4.8.0", "4.7, then 4.8.0"},
		{"4.8.0", "5.0.3", ""},
		{"4.7.3", "5.0.3", "4.8, then 5.0.3"},
		{"4.8.4", "5.1.0", "5.0, then 5.1.0"},
		{"5.0.0", "5.1.0", ""},
		{"5.0.0", "5.2.0", "5.1, then 5.2.0"},
		{"5.9.9", "5.10.0", ""},
		{"5.10.0", "6.0.6", "5.10 (5.10.1 or newer), then 6.0.6"},
		{"5.10.1", "6.0.6", ""},
		{"5.9.9", "6.0.6", "5.10 (5.10.1 or newer), then 6.0.6"},
		{"5.10.1", "6.1.4", "6.0 (6.0.6 or newer), then 6.1.4"},
		{"6.0.1", "6.1.4", "6.0 (6.0.6 or newer), then 6.1.4"},
		{"6.0.2", "6.1.4", ""},
		{"6.1.1", "6.2.6", "6.1 (6.1.4 or newer), then 6.2.6"},
		{"6.1.2", "6.2.6", ""},
		{"6.2.0", "6.3.2", ""},
		{"6.3.7", "6.4.3", ""},
		{"6.3.0", "6.5.0", "6.4, then 6.5.0"},
		{"6.4.3", "6.4.0", ""},
	} {
		reason, refused := VersionPath(c.from, c.to)
		assert.Equal(t, c.way != "", refused, "%s to %s: %s", c.from, c.to, reason.Message)
		if c.way != "" {
			assert.Contains(t, reason.Message, "to "+c.way+", each", "%s to %s", c.from, c.to)
		}
	}
	reason, refused := VersionPath("6.4.3", "6.99.3")
	assert.True(t, refused)
	assert.Contains(t, reason.Message, "95 rolling upgrades away: is the version mistyped?", "95 steps are no advice")
	for _, c := range []struct{ from, to string }{{"3.3.5", "4.0.2"}, {"6.4.3", "7.0.0"}, {"2.3.0", "6.4.3"}} {
		reason, refused := VersionPath(c.from, c.to)
		assert.True(t, refused, "%s to %s", c.from, c.to)
		assert.Contains(t, reason.Message, "knows no rolling upgrade")
	}
}

// The last release of each that loses data, and the first that does not.
func TestReleasesThatLoseData(t *testing.T) {
	for version, want := range map[string]bool{
		"5.10.9": false, "6.0.0": true, "6.0.5": true, "6.0.6": false, "6.1.0": true, "6.1.3": true, "6.1.4": false,
		"6.2.0": true, "6.2.5": true, "6.2.6": false, "6.3.0": true, "6.3.1": true, "6.3.2": false, "6.4.0": false,
	} {
		assert.Equal(t, want, LosesData(version), version)
	}
}
