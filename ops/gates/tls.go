package gates

// TLSRule is the rule tls-change-not-supported.
var TLSRule = Rule{
	Name:   "tls-change-not-supported",
	Kind:   Refuses,
	Says:   "Turning TLS on or off needs a restart: not supported yet.",
	Do:     "Put `spec.cluster.ssl` back as it was.",
	Source: "CrateDB manual, secured communications",
}

// TLS says which way it would change.
func TLS(effective, wanted bool) (Reason, bool) {
	if effective == wanted {
		return Reason{}, false
	}
	way := "on"
	if effective {
		way = "off"
	}
	return TLSRule.because("turning TLS %s needs a restart, which is not supported yet; nothing of it is applied: set spec.cluster.ssl back", way), true
}
