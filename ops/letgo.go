package ops

import "stevedore.dev/stevedore/ops/gates"

// LetGo is true once a release has been carried out: the command was seen, what
// was held in the database is given back, the budgets stand at 1, and nothing is
// waited for any more.
func (r *Record) LetGo() bool {
	return r.Command.Commands.Released == "true" && r.Hold == nil && r.Exclusions == nil &&
		r.Shown.Verdict == Wait.String() && len(r.Shown.Reasons) == 1 && r.Shown.Reasons[0].Name == gates.ReleasedRule.Name
}
