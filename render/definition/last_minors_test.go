package definition

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The way of an upgrade and the warning of a version that is not known have a list each, since
// the rules of ops and the definition know nothing of each other: a major that is complete for
// one of them only would be refused there and unknown here.
func TestTheLastMinorsAreThoseOfTheUpgradeRules(t *testing.T) {
	list := regexp.MustCompile(`(?m)^var lastMinors = .*$`)
	var found []string
	for _, file := range []string{"known_versions.go", "../../ops/gates/version_hops.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found = append(found, list.FindString(string(text)))
	}
	require.NotEmpty(t, found[0])
	assert.Equal(t, found[0], found[1])
}
