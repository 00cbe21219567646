package gates

import (
	"fmt"
	"slices"
	"strings"
)

// AttributesUnusableRule is the rule volume-attributes-class-unusable.
var AttributesUnusableRule = Rule{
	Name:    "volume-attributes-class-unusable",
	Kind:    Refuses,
	Webhook: "expand_storage",
	Says: "Volumes get a VolumeAttributesClass only if it is there, and of the driver that made them: its driverName is the provisioner of the claim's storage class. " +
		"Where the daemon may not read these classes nothing is refused for it, and the claim's condition tells.",
	Do:     "Create the VolumeAttributesClass, or name another one in the definition; it goes on by itself.",
	Source: "Kubernetes, Volume Attributes Classes",
}

// AttributesClass is a VolumeAttributesClass of the Kubernetes cluster.
type AttributesClass struct{ Name, Driver string }

// AttributesProblem says why volumes of a storage class ("": of the default one) cannot have this
// VolumeAttributesClass; "" where nothing is known against it.
func AttributesProblem(name, class string, there []AttributesClass, classes []StorageClass) string {
	i := slices.IndexFunc(there, func(c AttributesClass) bool { return c.Name == name })
	if i < 0 {
		names := make([]string, 0, len(there))
		for _, c := range there {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		has := "there is none"
		if len(names) > 0 {
			has = "there are " + strings.Join(names, ", ")
		}
		return fmt.Sprintf("the VolumeAttributesClass %s does not exist (%s)", name, has)
	}
	for _, c := range classes {
		if of := c.Name == class || class == "" && c.Default; of && c.Provisioner != there[i].Driver {
			return fmt.Sprintf("the VolumeAttributesClass %s is of the driver %s, and the volumes of the storage class %s are of %s", name, there[i].Driver, c.Name, c.Provisioner)
		}
	}
	return ""
}

// AttributesUnusable says which volumes cannot have a class: each problem with their claims.
func AttributesUnusable(problems []string) (Reason, bool) {
	if len(problems) == 0 {
		return Reason{}, false
	}
	return AttributesUnusableRule.because("nothing of the change is applied: %s; create the class, or name another one in the definition", strings.Join(problems, "; ")), true
}
