package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// A node that dies heals in seconds, often between two looks: it is said for ten minutes,
// and reported once for each pod in that time.
func TestANodeThatDiedAndIsBackIsSaidAndReportedOnce(t *testing.T) {
	const why = "exit code 137 (OOMKilled)"
	s := made(t)
	reported := func(d model.Decision) (messages []string) {
		for _, r := range d.Reports {
			if r.Reason == "NodeEnded" {
				assert.True(t, r.Warning)
				messages = append(messages, r.Message)
			}
		}
		return messages
	}
	look := func() model.Decision {
		d := s.decide()
		s.r = d.Record
		return d
	}
	require.Equal(t, model.Done, look().Verdict)
	began := s.o.At
	pod := &s.o.Pods[1]
	pod.LastEnd, pod.Restarts = model.Ended{At: began.Add(-time.Minute), Why: why}, 1

	d := look()
	assert.Equal(t, model.Done, d.Verdict, "it holds nothing back")
	assert.Equal(t, []string{"node-ended"}, reasons(d.Waits))
	words := pod.Name + " ended at " + pod.LastEnd.At.UTC().Format("15:04:05Z") + ": " + why
	assert.Contains(t, d.Waits[0].Message, words)
	assert.Equal(t, []string{"CrateDB of " + words}, reported(d))
	assert.True(t, d.Save, "a daemon that starts again does not report it again")
	d = look()
	assert.Equal(t, []string{"node-ended"}, reasons(d.Waits))
	assert.Empty(t, reported(d))
	assert.False(t, d.Save)

	// The same pod again: said, and not reported.
	s.o.At = began.Add(2 * time.Minute)
	pod.LastEnd, pod.Restarts = model.Ended{At: began.Add(time.Minute), Why: why}, 2
	d = look()
	assert.Contains(t, d.Waits[0].Message, "2 restarts so far")
	assert.Empty(t, reported(d))

	// Another one that is not back: reported; its own wait has the words.
	other := &s.o.Pods[2]
	other.Ready, other.NotReady = false, "containers with unready status: [crate]"
	other.LastEnd, other.Restarts = model.Ended{At: s.o.At, Why: "exit code 1"}, 1
	d = look()
	require.Len(t, reported(d), 1)
	assert.Contains(t, reported(d)[0], other.Name)
	for _, wait := range d.Waits {
		if wait.Name == "node-ended" {
			assert.NotContains(t, wait.Message, other.Name)
		}
	}
	other.Ready, other.NotReady = true, ""

	// After ten minutes nothing of it is left.
	s.o.At = began.Add(20 * time.Minute)
	d = look()
	assert.Empty(t, d.Waits)
	assert.Empty(t, d.Record.Ends)

	// And the next is news.
	pod.LastEnd.At = s.o.At
	assert.Len(t, reported(look()), 1)

	// A pod on its way out ends by what took it down.
	pod.LastEnd.At, pod.Terminating = s.o.At.Add(20*time.Minute), true
	s.o.At = pod.LastEnd.At
	assert.Empty(t, reported(look()))
}
