package view

// SoleVoter is the set of the only master-eligible node; "" where there are more, or none.
func SoleVoter(v *View) string {
	voters, set := 0, ""
	for _, s := range v.Record.Sets {
		if w := v.DesiredSet(s.Name); w != nil && w.MasterEligible && s.Replicas > 0 {
			voters += s.Replicas
			set = s.Name
		}
	}
	if voters != 1 {
		return ""
	}
	return set
}

// HasMaster reports whether there is contact and a master. Without a master no node can join.
func HasMaster(v *View) bool { return v.Contact() && v.Observed.Database.MasterNode != "" }

// Votes reports whether the definition makes the nodes of a set master-eligible.
func Votes(v *View, set string) bool {
	w := v.DesiredSet(set)
	return w != nil && w.MasterEligible
}
