package planprint

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/plan"
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

// A Service whose selector is kept back while another of its fields is applied.
func TestAnObjectOfWhichAPartIsKeptBackSaysSo(t *testing.T) {
	field := func(path string, class plan.Class) plan.Field {
		return plan.Field{FieldChange: compare.FieldChange{Path: path}, Class: class}
	}
	for _, c := range []struct {
		kind   string
		fields []plan.Field
		note   string
		says   string
	}{
		{"Service", []plan.Field{field("spec.selector", plan.Refused)}, "not changed: refused", "nothing of the change is applied"},
		{"Service", []plan.Field{field("spec.selector", plan.Refused), field("metadata.labels.team", plan.InPlace)}, "in part refused", "of the objects below 0 of 1 are kept back, and 1 in part; all else is applied all the same"},
		{"StatefulSet", []plan.Field{field("spec.replicas", plan.Refused), field("metadata.labels.team", plan.InPlace)}, "not changed: refused", "nothing of the change is applied"},
	} {
		o := plan.Object{Key: compare.Key{Kind: c.kind, Name: "crate-orders"}, Change: plan.Changed, Class: plan.Refused, Fields: c.fields}
		p := plan.Plan{Refused: []plan.Gate{{Name: "new-group-not-supported"}}, Objects: []plan.Object{o}}
		assert.Equal(t, c.note, objectNote(p, o))
		assert.Equal(t, c.says, keptWords(p))
	}
}
