package definition

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAVersionThatIsNotKnownIsSaidAndNotRefused(t *testing.T) {
	for version, says := range map[string]string{
		"6.99.3": "knows no CrateDB 6.99: the newest that it knows is 6.4",
		"6.5.0":  "the newest that it knows is 6.4",
		"7.0.0":  "the newest that it knows is 6.4",
		"5.11.0": "5.10 was the last of the 5 releases",
		"4.9.1":  "4.8 was the last of the 4 releases",
		// A hotfix comes any day.
		"6.4.99": "", "6.4.3": "", "6.0.0": "", "5.10.99": "", "4.8.0": "",
		// These are refused elsewhere.
		"6.5": "", "nightly": "",
	} {
		why := UnknownVersion(version)
		if says == "" {
			assert.Empty(t, why, version)
			continue
		}
		assert.Contains(t, why, says, version)
		assert.Contains(t, why, "is it mistyped?", version)
		assert.Empty(t, checkVersion(version), "unknown is never no: %s", version)
	}
}
