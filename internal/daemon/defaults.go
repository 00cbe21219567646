package daemon

// dropDefaults takes out of a live object what the API server has filled in
// where our apply owns a list or a field as a whole (volumeClaimTemplates,
// fieldRef: x-kubernetes-list-type and -map-type atomic) or by a key with a
// default (a port's protocol). Rebuilding what was applied from what is live
// would otherwise find differences that nobody made. What wanted says itself
// stays.
func dropDefaults(live, wanted map[string]any) {
	dropIn("", live, wanted)
}

// filledIn reports whether the API server writes this value by itself.
func filledIn(parent, key string, value any) bool {
	switch parent + "." + key {
	case "ports.protocol":
		return value == "TCP"
	case "volumeClaimTemplates.apiVersion", "fieldRef.apiVersion":
		return value == "v1"
	case "volumeClaimTemplates.kind":
		return value == "PersistentVolumeClaim"
	case "volumeClaimTemplates.status":
		return true
	case "volumeClaimTemplates.spec.volumeMode":
		return value == "Filesystem"
	case "resourceFieldRef.divisor":
		return value == "0"
	case "spec.persistentVolumeClaimRetentionPolicy":
		// An adopted StatefulSet has it, as it was written down whole. Another one deletes claims.
		policy, _ := value.(map[string]any)
		return policy["whenDeleted"] == "Retain" && policy["whenScaled"] == "Retain"
	}
	return key == "creationTimestamp" && value == nil
}

func dropIn(parent string, live, wanted map[string]any) {
	for key, value := range live {
		want, wantedToo := wanted[key]
		if !wantedToo && filledIn(parent, key, value) {
			delete(live, key)
			continue
		}
		name := key
		if parent == "volumeClaimTemplates" {
			name = parent + "." + key
		}
		switch value := value.(type) {
		case map[string]any:
			inner, _ := want.(map[string]any)
			dropIn(name, value, inner)
		case []any:
			others, _ := want.([]any)
			for i := range value {
				if item, ok := value[i].(map[string]any); ok {
					dropIn(name, item, sameItem(item, others))
				}
			}
		}
	}
}

// sameItem finds the item of a list that names the same thing; nil for none.
func sameItem(item map[string]any, others []any) map[string]any {
	for _, other := range others {
		other, ok := other.(map[string]any)
		if ok && itemName(other) != nil && itemName(other) == itemName(item) {
			return other
		}
	}
	return nil
}

func itemName(item map[string]any) any {
	if metadata, ok := item["metadata"].(map[string]any); ok {
		item = metadata
	}
	if name, ok := item["name"].(string); ok {
		return name
	}
	return nil
}
