package gates

import "cmp"

// PrivilegesKnownRule is the rule privileges-known.
var PrivilegesKnownRule = Rule{
	Name:   "privileges-known",
	Kind:   Waits,
	Says:   "Before a node is removed for good it is known what the user `system` is denied: its privileges and roles have been read.",
	Do:     "Wait for the next reading; if it stays, run `SELECT * FROM sys.privileges` as `system`.",
	Source: "docs/safety.md, invariant A",
}

// PrivilegesKnown says why they are not known.
func PrivilegesKnown(known bool, why string) (Reason, bool) {
	if known {
		return Reason{}, false
	}
	return PrivilegesKnownRule.because("it is not known whether tables are hidden from the user system: %s", cmp.Or(why, "sys.privileges was not read yet")), true
}
