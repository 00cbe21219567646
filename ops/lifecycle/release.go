package lifecycle

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// forgetOwned removes the annotations of owned settings that have been given back: to a released cluster nothing
// is applied any more, which would do it. Nobody who comes later, without the record, is to give back what
// somebody else has set.
func forgetOwned(t *pass.Pass) {
	if t.Record.Lock != nil || t.Record.Exclusions != nil {
		return
	}
	for live := range model.Each(t.Observed.Sets) {
		if live.Ours && live.Hold != "" {
			t.Harmless(model.Action{Kind: model.ActionForgetOwned, Set: live.Name, SetUID: live.UID})
		}
	}
}
