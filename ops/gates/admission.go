package gates

import "strings"

// ChangedByAdmissionRule is the rule changed-by-admission.
var ChangedByAdmissionRule = Rule{
	Name:    "changed-by-admission",
	Kind:    Waits,
	Informs: true,
	Says:    "An admission webhook or policy of this Kubernetes stores an object otherwise than it was applied: that is not fought over, and holds nothing back.",
	Do: "Write what is stored into the definition (`spec.patches`), or have the namespace exempted: `kubectl get mutatingwebhookconfigurations,mutatingadmissionpolicies` shows who may do it. " +
		"Once nobody does any more, take the annotation `stevedore.dev/applied` off the object, and it is applied again.",
	Source: "Kubernetes' manual, Dynamic Admission Control",
}

// ChangedByAdmission names objects and their fields.
func ChangedByAdmission(altered []string) (Reason, bool) {
	if len(altered) == 0 {
		return Reason{}, false
	}
	return ChangedByAdmissionRule.because("%d object(s) are stored otherwise than they were applied, by an admission webhook or policy: %s",
		len(altered), strings.Join(firstOf(altered, 8), "; ")), true
}
