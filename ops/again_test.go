package ops

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWhenToLookAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		policy time.Duration
		op     *Operation
		ends   []time.Duration
		want   time.Duration
	}{
		"nothing in progress":                 {want: DefaultPoll},
		"as the policy says":                  {policy: 5 * time.Second, want: 5 * time.Second},
		"an operation has just begun":         {op: &Operation{Started: now}, want: soonest},
		"it has been going on for a while":    {op: &Operation{Started: ago(4 * time.Second)}, want: time.Second},
		"for long":                            {op: &Operation{Started: ago(time.Hour)}, want: DefaultPoll},
		"its step has just begun":             {op: &Operation{Started: ago(time.Hour), Restart: &Restart{Since: now}}, want: soonest},
		"its drain has just begun":            {op: &Operation{Started: ago(time.Hour), Shrink: &Shrink{Since: ago(2 * time.Second)}}, want: 500 * time.Millisecond},
		"it begins in the future":             {op: &Operation{Started: now.Add(time.Hour)}, want: soonest},
		"a wait ends before that":             {ends: []time.Duration{time.Second, 100 * time.Millisecond, 3 * time.Second}, want: 100 * time.Millisecond},
		"a wait ends later":                   {ends: []time.Duration{time.Minute}, want: DefaultPoll},
		"the policy is faster than the start": {policy: 100 * time.Millisecond, op: &Operation{Started: now}, want: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := turn{p: Policy{Poll: c.policy}, r: Record{Operation: c.op}, now: now}
			for _, end := range c.ends {
				turn.endsIn(end)
			}
			assert.Equal(t, c.want, turn.poll())
		})
	}
}
