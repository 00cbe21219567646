package gates

// TableAgesKnownRule is the rule table-ages-known.
var TableAgesKnownRule = Rule{
	Name:   "table-ages-known",
	Kind:   Waits,
	Says:   "Before an upgrade to another major version, or to a release that loses data of old tables, it is known of every table and partition with which version it was created: what could not be read is unknown, never new.",
	Do:     "Nothing, if it is short. If it lasts, look at information_schema.tables.version as the user system, and why it cannot be read.",
	Source: "CrateDB manual, information_schema.tables; docs/safety.md, what always holds",
}

// NeedsTableAges is true of an upgrade that depends on the age of tables.
func NeedsTableAges(from, to string) bool { return crossesMajor(from, to) || LosesData(to) }

// TableAgesKnown counts what is not known, where an upgrade depends on it.
func TableAgesKnown(from, to string, tables []TableAge, known bool) (Reason, bool) {
	if !NeedsTableAges(from, to) {
		return Reason{}, false
	}
	if !known {
		return TableAgesKnownRule.because("the tables could not be read yet, and whether CrateDB %s takes them depends on their age: the upgrade from %s has not begun", to, from), true
	}
	var unknown []string
	for i := range tables {
		if tables[i].Created == "" {
			unknown = append(unknown, tables[i].Name)
		}
	}
	if len(unknown) == 0 {
		return Reason{}, false
	}
	return TableAgesKnownRule.because("of %d table(s) it could not be read with which version they were created (%s), and whether CrateDB %s takes them depends on it: the upgrade from %s has not begun", len(unknown), some(unknown), to, from), true
}
