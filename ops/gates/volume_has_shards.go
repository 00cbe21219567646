package gates

// VolumeHasShardsRule is the rule volume-has-shards.
var VolumeHasShardsRule = Rule{
	Name:   "volume-has-shards",
	Kind:   Waits,
	Says:   "A node leaves only when no shard's folder lies on its volume any more. CrateDB deletes a folder a moment after every copy of the shard is started elsewhere; one that it has missed goes when the allocation is retried, which is done.",
	Do:     "Wait. If it lasts, no table that CrateDB knows may own the folder: CrateDB leaves it there for ever. Look at it with `kubectl exec`, copy it if somebody may need it, and remove it.",
	Source: "docs/safety.md, invariant A",
}

// VolumeHasShards names some of the folders.
func VolumeHasShards(pod string, folders []string) Reason {
	return VolumeHasShardsRule.because("%d shard folder(s) are left on the volume of pod %s: %s", len(folders), pod, some(folders))
}
