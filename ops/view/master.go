package view

// SoleVoter is the set of the only node that may vote; "" where there are more.
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

// HasMaster: there is contact, and a master that lets nodes join.
func HasMaster(v *View) bool { return v.Contact() && v.Observed.Database.MasterNode != "" }

func Votes(v *View, set string) bool {
	w := v.DesiredSet(set)
	return w != nil && w.MasterEligible
}
