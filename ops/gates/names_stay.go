package gates

// NamesStayRule is the rule names-stay.
var NamesStayRule = Rule{
	Name:    "names-stay",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "The names of a group stay for the life of the group: those that spec.operations.adopt says of a StatefulSet that somebody else has made, and without it stevedore's own. Its StatefulSet, its volumes, the folder of its data and the names of its nodes hang on them.",
	Do:      "Put the entry of the group in `spec.operations.adopt` back as it was. Another group that is added has stevedore's names.",
	Source:  "docs/moving-in.md, a StatefulSet that somebody wrote",
}

// NamesStay names the group with the names that it has and those that are asked for, as they are
// annotated; "" is stevedore's own.
func NamesStay(group, set, has, asked string) Reason {
	words := func(names string) string {
		if names == "" {
			return "stevedore's own"
		}
		return names
	}
	return NamesStayRule.because("group %s runs as StatefulSet %s with the names %s, and the definition has %s: put its entry in spec.operations.adopt back", group, set, words(has), words(asked))
}
