package gates

// ImageRule is the rule image-change-not-supported.
var ImageRule = Rule{
	Name:   "image-change-not-supported",
	Kind:   Refuses,
	Says:   "Another image of CrateDB of the same version is not supported yet.",
	Do:     "Put the image back.",
	Source: "docs/safety.md, what is refused",
}

// Image gives both.
func Image(set, old, wanted string) Reason {
	return ImageRule.because("%s: image %s runs and %s is wanted, which is not supported yet; the StatefulSets stay as they are: take the change back", set, old, wanted)
}
