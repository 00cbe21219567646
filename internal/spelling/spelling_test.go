package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheNearestIsWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		what, name string
		candidates []string
		nearest    string
	}{
		{"a letter is missing", "repicas", []string{"resources", "replicas"}, "replicas"},
		{"a letter too many", "replicass", []string{"resources", "replicas"}, "replicas"},
		{"another letter", "replicaz", []string{"resources", "replicas"}, "replicas"},
		{"two letters are swapped, in a short name", "prdo", []string{"test", "prod"}, "prod"},
		{"another case", "HEAPratio", []string{"heapRatio"}, "heapRatio"},
		{"of two that are near, the nearer", "exampls", []string{"sample", "examples"}, "examples"},
		{"a third of the letters differs, and no more", "abcdef", []string{"abcdxyz"}, ""},
		{"all letters of a short candidate differ", "ab", []string{"x"}, ""},
		{"nothing is near", "frobnicate", []string{"status", "run"}, ""},
		{"no candidate", "status", nil, ""},
		{"too long for a mistyped name", strings.Repeat("a", 65), []string{strings.Repeat("a", 64)}, ""},
		{"a candidate that is too long", "a", []string{strings.Repeat("a", 100_000)}, ""},
	} {
		t.Run(c.what, func(t *testing.T) { assert.Equal(t, c.nearest, Nearest(c.name, c.candidates)) })
	}
}

func TestWhatBeginsWithANameIsMeantBeforeWhatIsNear(t *testing.T) {
	flags := []string{"--all", "--all-namespaces", "--git"}
	assert.Equal(t, []string{"--all", "--all-namespaces"}, Meant("--al", flags))
	assert.Equal(t, []string{"--all-namespaces"}, Meant("--All-n", flags))
	assert.Equal(t, []string{"--git"}, Meant("--gti", flags))
	assert.Empty(t, Meant("--frobnicate", flags))
}

func TestAllAreSortedByHowMuchTheyAreSpelledAlike(t *testing.T) {
	assert.Equal(t, []string{"main", "maine", "feature"}, Sorted("mian", []string{"feature", "maine", "main", "main"}))
	assert.Equal(t, []string{"abc", "xyz"}, Sorted("qqq", []string{"xyz", "abc"}), "what is equally far is in order")
}
