package gates

// SettingChangedRule is the rule setting-changed.
var SettingChangedRule = Rule{
	Name:    "setting-changed",
	Kind:    Waits,
	Informs: true,
	Says:    "Somebody has changed a cluster setting after it was set for the definition: theirs is left, and nothing waits for it.",
	Do:      "Write the new value into the definition, or set the definition's again with SET GLOBAL PERSISTENT.",
	Source:  "docs/safety.md, invariant C",
}

// SettingChanged names the setting, ours and theirs.
func SettingChanged(name, ours, shown string) Reason {
	return SettingChangedRule.because("%s was set to %s for the definition and is %q by now: somebody has changed it, and theirs is left. Write it into the definition, or run SET GLOBAL PERSISTENT %q = '%s'", name, ours, shown, name, ours)
}
