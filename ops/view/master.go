package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// SoleVoter is the set of the only master-eligible node; "" where there are more, or none.
func SoleVoter(v *View) string {
	set := ""
	for at := range Expected(v, Voting(v)) {
		if set != "" {
			return ""
		}
		set = at.Set
	}
	return set
}

// VotersAnswer counts the master-eligible nodes that answer, and names the pods of the others.
func VotersAnswer(v *View) (answer, all int, others []string) {
	for at := range Expected(v, Voting(v)) {
		if all++; v.Answer(at.Name()) != nil {
			answer++
		} else {
			others = append(others, at.Name())
		}
	}
	return answer, all, others
}

// Voting are the recorded sets whose nodes the definition makes master-eligible.
func Voting(v *View) []model.RecordedSet {
	abstains := func(s model.RecordedSet) bool { return !Votes(v, s.Name) }
	if !slices.ContainsFunc(v.Record.Sets, abstains) {
		return v.Record.Sets
	}
	return slices.DeleteFunc(slices.Clone(v.Record.Sets), abstains)
}

// HasMaster reports whether there is contact and a master. Without a master no node can join.
func HasMaster(v *View) bool { return v.Contact() && v.Observed.Database.MasterNode != "" }

// Votes reports whether the definition makes the nodes of a set master-eligible.
func Votes(v *View, set string) bool {
	w := v.DesiredSet(set)
	return w != nil && w.MasterEligible
}
