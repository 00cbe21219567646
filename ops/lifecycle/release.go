package lifecycle

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// forgetHold takes the annotations off that explain what is held no longer: of a
// cluster that is let go nothing is applied any more, which would do it. Nobody
// who comes later, without the record, is to give back what somebody else has set.
func forgetHold(t *pass.Pass) {
	if t.Record.Hold != nil || t.Record.Exclusions != nil {
		return
	}
	for i := range t.Observed.Sets {
		if live := &t.Observed.Sets[i]; live.Ours && live.Hold != "" {
			t.Harmless(model.Action{Kind: model.ActionForgetHold, Set: live.Name, SetUID: live.UID})
		}
	}
}
