package gates

// SettingNotEffectiveRule is the rule setting-not-effective.
var SettingNotEffectiveRule = Rule{
	Name:   "setting-not-effective",
	Kind:   Waits,
	Says:   "A cluster setting of the definition has another value in the database, which somebody has set, or which a transient one hides; or some nodes do not show it.",
	Do:     "See who set it. `RESET GLOBAL \"<setting>\"` takes every value off that was set by SQL, and the definition's is then set; or write theirs into the definition.",
	Source: "CrateDB manual, SET and RESET: transient settings win over persistent ones",
}

// SettingNotEffective names the setting, the desired and the shown value, and the
// pod where only some nodes show it.
func SettingNotEffective(name, wanted, shown, pod string) Reason {
	if pod != "" {
		return SettingNotEffectiveRule.because("%s is %q on the node in pod %s and is to be %s, as others have it: it has not come to that node yet, or RESET GLOBAL has taken it off. Run SET GLOBAL PERSISTENT %q = '%s', or restart the pod", name, shown, pod, wanted, name, wanted)
	}
	return SettingNotEffectiveRule.because("%s is %q in the database and is to be %s: somebody has set it, or a transient value hides ours; it is left as it is. Run RESET GLOBAL %q, and ours is set within a minute", name, shown, wanted, name)
}
