package gates

import "strings"

// AttributesStayRule is the rule volume-attributes-class-stays.
var AttributesStayRule = Rule{
	Name:    "volume-attributes-class-stays",
	Kind:    Refuses,
	Webhook: "expand_storage",
	Says: "A volume that has a VolumeAttributesClass gets another one, and never none: Kubernetes allows that only until the first class has come into effect. " +
		"A class that a person has given a claim by hand, without the definition, refuses nothing.",
	Do: "Write resources.disk.volumeAttributesClass of the group again: the class that its volumes have, or another one, " +
		"such as one with the parameters that the driver takes by itself.",
	Source: "Kubernetes 1.34 and later, validation of PersistentVolumeClaim updates",
}

// AttributesStay names the class, and the claims whose volumes have one.
func AttributesStay(class string, claims []string) (Reason, bool) {
	if len(claims) == 0 {
		return Reason{}, false
	}
	return AttributesStayRule.because("%s: the volumes have %s, and Kubernetes takes no class away: nothing of the change is applied; set resources.disk.volumeAttributesClass of the group to %q or to another one",
		strings.Join(claims, ", "), ClassName(class), class), true
}

// ClassName is a VolumeAttributesClass in words; "" is none.
func ClassName(class string) string {
	if class == "" {
		return "no VolumeAttributesClass"
	}
	return "the VolumeAttributesClass " + class
}
