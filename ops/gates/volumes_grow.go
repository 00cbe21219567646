package gates

import (
	"fmt"
	"slices"
	"strings"
)

// VolumesGrowRule is the rule volumes-grow.
var VolumesGrowRule = Rule{
	Name:   "volumes-grow",
	Kind:   Waits,
	Passes: true,
	Says:   "Volumes of claims are being made larger, or get another VolumeAttributesClass. The first claim of a StatefulSet goes alone: the others follow once its volume is as desired. No pod restarts for it.",
	Do: "Nothing. If it stays at one claim, look at its events with `kubectl describe pvc`. " +
		"A driver that cannot expand a volume in use (it works offline) waits for its pod to go: restart the cluster, or write `spec.operations.offlineResize: restart`.",
	Source: "Kubernetes, persistent volumes, Expanding Persistent Volumes Claims",
}

// GrowingClaim is a claim that has not the desired size.
type GrowingClaim struct {
	Name string
	// Capacity and Desired are in bytes.
	Capacity, Desired int64
	// Waits says what it waits for; "" for nothing that is known.
	Waits string
	// Class says how it gets another VolumeAttributesClass; "" where it has the desired one.
	Class string
}

// VolumesGrow counts the claims and names those that have not the size.
func VolumesGrow(done, total int, growing []GrowingClaim) (Reason, bool) {
	if len(growing) == 0 {
		return Reason{}, false
	}
	var parts []string
	for i := range growing {
		c := &growing[i]
		parts = append(parts, c.words())
		if len(parts) == 5 && len(growing) > 5 {
			parts = append(parts, fmt.Sprintf("and %d more", len(growing)-5))
			break
		}
	}
	what := "size"
	if slices.ContainsFunc(growing, func(c GrowingClaim) bool { return c.Class != "" }) {
		what = "size and class"
	}
	return VolumesGrowRule.because("%d of %d volume claims have the desired %s: %s", done, total, what, strings.Join(parts, ", ")), true
}

func (c *GrowingClaim) words() string {
	if c.Class != "" && c.Capacity >= c.Desired {
		return c.Name + " " + c.Class
	}
	text := fmt.Sprintf("%s has %s of %s", c.Name, Bytes(c.Capacity), Bytes(c.Desired))
	if c.Waits != "" {
		text += " (" + c.Waits + ")"
	}
	if c.Class != "" {
		text += " and " + c.Class
	}
	return text
}
