package guard

import (
	"slices"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/internal/located"
)

// oldWords are booleans to kustomize, which reads its own file as YAML 1.1, and
// texts to everybody who reads YAML 1.2.
var oldWords = []string{"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"}

// oldBooleans reports words without quotes that are meant as texts; a namespace
// called n stopped a build with an error that named no line.
func oldBooleans(n *yaml.Node, path []any, add func(n *yaml.Node, path []any, message string)) {
	under := func(step any) []any { return append(append([]any{}, path...), step) }
	switch n.Kind {
	case yaml.MappingNode:
		for _, p := range located.Pairs(n) {
			oldBooleans(p.Value, under(p.Key.Value), add)
		}
	case yaml.SequenceNode:
		for i, item := range located.Items(n) {
			oldBooleans(item, under(i), add)
		}
	case yaml.ScalarNode:
		if n.Style == 0 && n.ShortTag() == "!!str" && slices.Contains(oldWords, n.Value) {
			add(n, path, "is true or false to kustomize, which reads YAML 1.1: write \""+n.Value+"\" with quotes")
		}
	}
}
