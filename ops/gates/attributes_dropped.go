package gates

// AttributesDroppedRule is the rule volume-attributes-class-dropped.
var AttributesDroppedRule = Rule{
	Name: "volume-attributes-class-dropped",
	Kind: Waits,
	Says: "Kubernetes has dropped the VolumeAttributesClass of a claim without a word: before 1.34 it does not know the field, or the feature is switched off. " +
		"The claim is asked again after an hour, or after another push. Sizes go on growing meanwhile, and nothing restarts.",
	Do:     "Upgrade Kubernetes to 1.34 or later, or take resources.disk.volumeAttributesClass out of the definition.",
	Source: "Kubernetes, Volume Attributes Classes, feature gate VolumeAttributesClass",
}

// AttributesDropped names the StatefulSets, joined by commas.
func AttributesDropped(sets string) Reason {
	return AttributesDroppedRule.because("claims of %s were asked for a VolumeAttributesClass, and Kubernetes has dropped that without a word: it needs Kubernetes 1.34 or later", sets)
}
