package ops

import "stevedore.dev/stevedore/ops/gates"

// forgetHold takes the annotations off that explain what is held no longer: of a
// cluster that is let go nothing is applied any more, which would do it. Nobody
// who comes later, without the record, is to give back what somebody else has set.
func (t *turn) forgetHold() {
	if t.r.Hold != nil || t.r.Exclusions != nil {
		return
	}
	for i := range t.o.Sets {
		if live := &t.o.Sets[i]; live.Ours && live.Hold != "" {
			t.harmless(Action{Kind: ActionForgetHold, Set: live.Name, SetUID: live.UID})
		}
	}
}

// LetGo is true once a release has been carried out: the command was seen, what
// was held in the database is given back, the budgets stand at 1, and nothing is
// waited for any more.
func (r *Record) LetGo() bool {
	return r.Command.Commands.Released == "true" && r.Hold == nil && r.Exclusions == nil &&
		r.Shown.Verdict == Wait.String() && len(r.Shown.Reasons) == 1 && r.Shown.Reasons[0].Name == gates.ReleasedRule.Name
}
