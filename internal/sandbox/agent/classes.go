package agent

import "time"

// StorageClass is a storage class of the sandbox. All have one provisioner, and differ
// in how a volume grows.
type StorageClass struct {
	Name string
	// Expands is allowVolumeExpansion. Without it the API server itself refuses that a
	// claim asks for more.
	Expands bool
	growth  growth
}

// growth is how the volumes of a class grow, where that differs from the usual: within
// moments, while a pod has the volume mounted.
type growth struct {
	// offline: a node grows the file system only when it mounts the volume for a pod.
	offline bool
	// rounds: sizes are whole GiB, rounded up, and no node has to do anything, as of a
	// file system that is reached over the network.
	rounds bool
	// takes is how long the provider of the volume needs; GrowthTakesAnnotation changes it.
	takes time.Duration
	// most is the size in bytes above which the provider refuses; 0: none.
	most int64
	// sized: the volume is a file system of its size, which a real CrateDB sees and can fill.
	// Only who may mount one gets it; for others the claim stays Pending.
	sized bool
	// shared: nodes of many pods may have the volume at the same time (ReadWriteMany).
	shared bool
	// never: the provider neither fails nor ends.
	never bool
}

// GrowthTakesAnnotation on a claim is how long the provider of the volume needs to make it
// larger, such as 10m. It is read all the time: a test sets an hour, and 0s to go on.
const GrowthTakesAnnotation = "sandbox.stevedore.dev/growth-takes"

// StorageClasses are all classes of a sandbox; the first is the default one.
var StorageClasses = []StorageClass{
	{Name: "default", Expands: true},
	{Name: "fast", Expands: true},
	{Name: "slow", Expands: true}, // a slow disk; it grows like the others
	{Name: "fixed"},
	{Name: "offline", Expands: true, growth: growth{offline: true}},
	{Name: "rounds-up", Expands: true, growth: growth{rounds: true}},
	{Name: "shared", Expands: true, growth: growth{rounds: true, shared: true}},
	{Name: "slow-growth", Expands: true, growth: growth{takes: 3 * time.Second}},
	{Name: "infeasible", Expands: true, growth: growth{most: 1 << 40}},
	{Name: "sized", Expands: true, growth: growth{sized: true}},
	{Name: "never", Expands: true, growth: growth{never: true}},
}

// growthOf is how the volumes of a class grow. A class that is not the sandbox's own
// grows as usual.
func growthOf(class string) growth {
	for _, each := range StorageClasses {
		if each.Name == class {
			return each.growth
		}
	}
	return growth{}
}
