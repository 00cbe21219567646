package gates

// PausedRule is the rule paused.
var PausedRule = Rule{
	Name:   "paused",
	Kind:   Waits,
	Says:   "A cluster that is paused by its annotation or by `stevedore pause` is left alone until it is resumed or, for a command, until its render changes.",
	Do:     "Nothing, if the pause is meant. Else take the annotation off, or run `stevedore resume NAMESPACE/CLUSTER`.",
	Source: "docs/definition.md, stevedore.dev/paused",
}

// Paused says who paused it.
func Paused(byCommand bool) Reason {
	if byCommand {
		return PausedRule.because("paused by command: nothing is done until `stevedore resume`, or until the definition changes")
	}
	return PausedRule.because("paused by the annotation stevedore.dev/paused in the definition: nothing is done until it is taken off")
}
