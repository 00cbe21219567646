package planprint

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is found out without the regular expressions is what they say.
func TestAWordOfLettersIsWhatTheExpressionsTakeItFor(t *testing.T) {
	for _, word := range []string{"a", "Z", "pods", "deadbee", "deadbeef", "DEADBEEF", "facade", "defaced", "defacedX", "wwwx", "GH", "a-b", "a1", "é", "@x", "{x", "x`", "[", "{"} {
		t.Run(word, func(t *testing.T) {
			said := proseWord.MatchString(word) && !linked.MatchString(word) && !tracker.MatchString(word) && firstWord.MatchString(word)
			if onlyLetters(word) {
				assert.True(t, said, "it is safe")
			}
		})
	}
	assert.True(t, onlyLetters("pods"))
	assert.False(t, onlyLetters("deadbeef"), "a commit, to GitHub")
	assert.False(t, onlyLetters("{abc"))
}
