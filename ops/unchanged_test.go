package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// A pod is back and all is green for 40 s, which is less than the default of stableFor: what
// ends the wait sooner is a cluster state that nothing has changed.
func TestAClusterStateThatNothingChangesEndsTheWaitBeforeTheClock(t *testing.T) {
	waits := func(s *situation) bool {
		d := ops.Decide(s.d, s.o, s.r, model.Policy{}, s.o.At)
		for _, reason := range d.Waits {
			if reason.Name == "stable-for" {
				require.Equal(t, model.StepStable, d.Record.Operation.Step)
				return true
			}
		}
		return false
	}
	ago := func(s *situation, span time.Duration) time.Time { return s.o.At.Add(-span) }
	unchanged := func(span time.Duration) func(*situation) {
		return func(s *situation) { s.o.Stable.Unchanged = ago(s, span) }
	}
	// onlyOne: no other pod of the set runs what the pod that came back runs.
	onlyOne := func(then func(*situation)) func(*situation) {
		return func(s *situation) {
			then(s)
			for i := range s.o.Pods {
				if p := &s.o.Pods[i]; p.Name != s.r.Operation.Restart.Pod {
					p.Template = "t1"
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*situation)
		waits  bool
	}{
		{"nobody knows the version of the cluster state", func(*situation) {}, true},
		{"it has been the same for 4 s", unchanged(4 * time.Second), true},
		{"it has been the same for 5 s", unchanged(5 * time.Second), false},
		{"the definition says a time, and is held to the clock", func(s *situation) {
			s.d.Operations.StableFor = time.Minute
			unchanged(39 * time.Second)(s)
		}, true},
		{"the state is older than the end of the restart's step", func(s *situation) {
			s.r.Operation.Restart.Since = ago(s, 4*time.Second)
			unchanged(time.Hour)(s)
		}, true},
		{"the first pod on another template, for 29 s", onlyOne(unchanged(29 * time.Second)), true},
		{"the first pod on another template, for 30 s", onlyOne(unchanged(30 * time.Second)), false},
		{"the clock has run out, whatever has changed", func(s *situation) {
			s.r.Operation.Restart.Since, s.o.Stable.Since = ago(s, time.Minute), ago(s, time.Minute)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := restarting(t, model.StepStable)
			s.d.Operations.StableFor = 0
			for i := range s.o.Pods {
				s.o.Pods[i].Template, s.o.Pods[i].Started = "t2", ago(s, time.Hour)
			}
			s.r.Operation.Restart.Since, s.o.Stable.Since, s.o.Stable.Unchanged = ago(s, 40*time.Second), ago(s, 40*time.Second), time.Time{}
			c.change(s)
			assert.Equal(t, c.waits, waits(s))
		})
	}
}

// A restart that was interrupted, for its StatefulSet was recreated, begins anew right after a node has come back.
func TestAPodGoesOnlyOnceTheClusterHasStood(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		waits  bool
	}{
		{"a node has just come back", func(*situation) {}, true},
		{"the same nodes for stableFor", func(s *situation) { s.o.Stable.Since = s.o.At.Add(-time.Hour) }, false},
		{"the same nodes, of which one has ended and joined again between two readings (6420168585)", func(s *situation) {
			s.o.Stable.Since = s.o.At.Add(-time.Hour)
			s.podOf(hot + "-1").Started = s.o.At.Add(-10 * time.Second)
		}, true},
		{"the cluster state has been the same for a while", func(s *situation) { s.o.Stable.Unchanged = s.o.At.Add(-time.Minute) }, false},
		{"the pod that goes is not ready, and may be so in a moment", func(s *situation) { s.podOf(hot + "-0").Ready = false }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := restarting(t, model.StepNext)
			s.d.Operations.StableFor, s.o.Stable.Since, s.o.Stable.Unchanged = 0, s.o.At, s.o.At
			for i := range s.o.Pods {
				s.o.Pods[i].Started = s.o.At.Add(-time.Hour)
			}
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.waits, slices.Contains(reasons(d.Waits), "stable-for"), "%v", d.Waits)
			assert.Equal(t, !c.waits, d.Record.Lock != nil, "%v", d.Waits)
		})
	}
}

// The last look before a pod goes can find what the reading did not, and lets it stay.
func TestAPodThatStayedIsNotSaidToBeBack(t *testing.T) {
	for stayed, says := range map[bool]string{false: "pod " + hot + "-0 is back; the cluster has to be green", true: "the cluster has to be green"} {
		s := restarting(t, model.StepStable)
		s.o.Stable.Since = s.o.At
		r := s.r.Operation.Restart
		require.Equal(t, hot+"-0", r.Pod)
		if stayed {
			r.PodUID, r.Done = s.podOf(r.Pod).UID, nil
		}
		d := s.decide()
		require.Equal(t, []string{"stable-for"}, reasons(d.Waits))
		assert.True(t, strings.HasPrefix(d.Waits[0].Message, says), "%t: %s", stayed, d.Waits[0].Message)
	}
}
