package gates

import (
	"cmp"
	"fmt"
	"strings"
)

// AdoptedTemplateRule is the rule adopted-template.
var AdoptedTemplateRule = Rule{
	Name:    "adopted-template",
	Kind:    Waits,
	Informs: true,
	Says:    "A StatefulSet keeps the pod template that it was adopted with until a person asks for a restart, and a pod that is evicted comes back on it. Nothing waits for it: the cluster grows, shrinks, stops and starts as it is.",
	Do:      "Run `stevedore restart NAMESPACE/CLUSTER` when a rolling restart suits you. The annotation `stevedore.dev/restartedAt`, another version and any other change of the pod template in the definition do the same. `stevedore diff` shows every field that the restart changes.",
	Source:  "docs/ownership.md, an adopted cluster",
}

// fieldsNamed is how many fields a message names: a plan has them all.
const fieldsNamed = 8

// AdoptedTemplate says which fields of a pod template a restart changes; from is the tool that made
// it, "" where nobody says.
func AdoptedTemplate(set, from, cluster string, fields []string) Reason {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = strings.TrimPrefix(f, "spec.template.")
	}
	changes := "nothing but stevedore's mark on its pods"
	if len(names) > 0 {
		changes = fmt.Sprintf("%d field(s): %s", len(names), strings.Join(firstOf(names, fieldsNamed), ", "))
	}
	return AdoptedTemplateRule.because("%s: its pods keep the template of %s that they were adopted with; a restart changes %s; `stevedore restart %s` asks for it, and so does a change of the pod template in the definition",
		set, cmp.Or(from, "another tool"), changes, cluster)
}
