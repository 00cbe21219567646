package gates

// ImmutableRule is the rule immutable-field.
var ImmutableRule = Rule{
	Name:   "immutable-field",
	Kind:   Refuses,
	Says:   "Kubernetes never changes some fields of a StatefulSet.",
	Do:     "Put the old value back; another group with the new one can take its place.",
	Source: "Kubernetes, StatefulSet update",
}

// Immutable gives the field and both values.
func Immutable(set, path, from, to string) Reason {
	return ImmutableRule.because("%s: %s is %q and %q is desired, which Kubernetes does not change; take the patch back", set, path, from, to)
}
