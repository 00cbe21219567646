package ops

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

func TestWhenToLookAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		policy time.Duration
		op     *model.Operation
		ends   []time.Duration
		want   time.Duration
	}{
		"nothing in progress":                 {want: model.DefaultPoll},
		"as the policy says":                  {policy: 5 * time.Second, want: 5 * time.Second},
		"an operation has just begun":         {op: &model.Operation{Started: now}, want: pass.Soonest},
		"it has been going on for a while":    {op: &model.Operation{Started: ago(4 * time.Second)}, want: time.Second},
		"for long":                            {op: &model.Operation{Started: ago(time.Hour)}, want: model.DefaultPoll},
		"its step has just begun":             {op: &model.Operation{Started: ago(time.Hour), Restart: &model.Restart{Since: now}}, want: pass.Soonest},
		"its drain has just begun":            {op: &model.Operation{Started: ago(time.Hour), Shrink: &model.Shrink{Since: ago(2 * time.Second)}}, want: 500 * time.Millisecond},
		"it begins in the future":             {op: &model.Operation{Started: now.Add(time.Hour)}, want: pass.Soonest},
		"a wait ends before that":             {ends: []time.Duration{time.Second, 100 * time.Millisecond, 3 * time.Second}, want: 100 * time.Millisecond},
		"a wait ends later":                   {ends: []time.Duration{time.Minute}, want: model.DefaultPoll},
		"the policy is faster than the start": {policy: 100 * time.Millisecond, op: &model.Operation{Started: now}, want: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pass.Pass{View: view.View{Policy: model.Policy{Poll: c.policy}, Record: model.Record{Operation: c.op}, Now: now}}
			for _, end := range c.ends {
				p.EndsIn(end)
			}
			assert.Equal(t, c.want, p.Poll())
		})
	}
}
