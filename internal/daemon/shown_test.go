package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// What is said of a pod is written again soon where more is known of it, and seldom where
// only numbers have moved.
func TestWordsAreWrittenAgainSoonerThanNumbers(t *testing.T) {
	say := func(words string) model.Decision {
		return model.Decision{Verdict: model.Wait, Waits: []model.Reason{{Name: "pods-ready", Message: words}}}
	}
	before := shown(model.Shown{}, say("2 of 3 pods are ready"), nil, began.Time)
	for _, c := range []struct {
		words   string
		after   time.Duration
		written bool
	}{
		{"1 of 3 pods are ready", progressRefresh, false},
		{"1 of 3 pods are ready", shownRefresh, true},
		{"2 of 3 pods are ready; a webhook refuses the third", progressRefresh - time.Second, false},
		{"2 of 3 pods are ready; a webhook refuses the third", progressRefresh, true},
		{"2 of 3 pods are ready", time.Hour, false},
	} {
		after := shown(before, say(c.words), nil, began.Add(c.after))
		assert.Equal(t, c.written, after.At.After(before.At), "%s after %s", c.words, c.after)
		assert.Equal(t, before.Since, after.Since)
	}
}

func TestAMistakeInADefinitionIsReportedOnceForEachPush(t *testing.T) {
	key := record.Cluster{Namespace: "prod", Name: "orders"}
	mistakes := []string{"orders.yaml:8:7: spec.nodes.data[0].replica: unknown field: did you mean replicas?"}
	first := brokenDefinition(key, model.Shown{}, mistakes, wanted{commit: "main@sha1:1"})
	require.Len(t, first, 1)
	assert.Equal(t, model.StatusFailure, first[0].Status)
	assert.Contains(t, first[0].Message, "orders.yaml:8:7")

	again := brokenDefinition(key, model.Shown{}, mistakes, wanted{commit: "main@sha1:1"})
	assert.Equal(t, first[0].ID, again[0].ID, "a kill before it is recorded makes no second report")
	assert.Empty(t, brokenDefinition(key, model.Shown{Problems: mistakes}, mistakes, wanted{commit: "main@sha1:1"}), "recorded: told")
	assert.Empty(t, brokenDefinition(key, model.Shown{Problems: mistakes}, nil, wanted{commit: "main@sha1:2"}), "corrected")
	assert.NotEqual(t, first[0].ID, brokenDefinition(key, model.Shown{}, mistakes, wanted{commit: "main@sha1:3"})[0].ID, "made again later")
}
