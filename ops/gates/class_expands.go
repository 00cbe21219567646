package gates

import "strings"

// ClassExpandsRule is the rule storage-class-not-expandable.
var ClassExpandsRule = Rule{
	Name:    "storage-class-not-expandable",
	Kind:    Refuses,
	Webhook: "expand_storage",
	Says: "A claim grows only if the storage class that it names is there and says allowVolumeExpansion: true. " +
		"Where the daemon may not read storage classes nothing is refused for it, and the API server refuses the claim.",
	Do: "If the driver can expand volumes, set allowVolumeExpansion: true on the class that is named: it counts for claims that are there. " +
		"Otherwise put the old size back: a new group of another class can take the place of this one.",
	Source: "Kubernetes, storage classes, Volume expansion; admission PersistentVolumeClaimResize",
}

// ClassExpands looks at the classes that claims name which are to grow. Each of asking is a
// class with its claims in words.
func ClassExpands(asking [][2]string, there []StorageClass) (Reason, bool) {
	var problems []string
	for _, a := range asking {
		class, claims := a[0], a[1]
		why := ""
		switch c := classNamed(there, class); {
		case class == "":
			why = "they name no storage class, and such volumes are never expanded"
		case c == nil:
			why = "the storage class " + class + " does not exist"
		case !c.Expands:
			why = "the storage class " + class + " does not say allowVolumeExpansion: true"
		default:
			continue
		}
		problems = append(problems, claims+": "+why)
	}
	if len(problems) == 0 {
		return Reason{}, false
	}
	return ClassExpandsRule.because("the volumes cannot grow, and nothing of the change is applied: %s; if the driver can expand volumes, say so on the class, else put the old size back", strings.Join(problems, "; ")), true
}

func classNamed(there []StorageClass, name string) *StorageClass {
	for i := range there {
		if there[i].Name == name {
			return &there[i]
		}
	}
	return nil
}
