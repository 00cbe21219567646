package gates

import (
	"fmt"
	"slices"
	"strings"
)

// StorageClassRule is the rule storage-class-missing.
var StorageClassRule = Rule{
	Name: "storage-class-missing",
	Kind: Refuses,
	Says: "A new cluster, or a new group, is made only of storage classes that are there and that a volume can be made of: without one its pods would wait for ever, " +
		"and the class of a claim can never be changed. It holds nothing up that has its StatefulSet or a claim, and where the daemon may not read storage classes nothing is refused for them.",
	Do:     "Create the storage class, or name another one in the definition; it goes on by itself.",
	Source: "Kubernetes, storage classes and StatefulSet volumeClaimTemplates",
}

// StorageClass is one of the Kubernetes cluster.
type StorageClass struct {
	Name, Provisioner string
	// Default: a claim that names no class gets this one.
	Default bool
	// Expands: it says allowVolumeExpansion: true.
	Expands bool
}

// removedProvisioners were built into Kubernetes up to 1.25, and nothing answers to
// their names any more.
var removedProvisioners = []string{"kubernetes.io/flocker", "kubernetes.io/glusterfs", "kubernetes.io/quobyte", "kubernetes.io/storageos"}

// ClassProblem says why no volume is made for a claim of this class ("": of the default
// one), and what to do; "" where nothing is known against it. free are the classes of the
// volumes that are there for anybody: a claim takes one of those without its class.
func ClassProblem(class string, there []StorageClass, free []string) string {
	if slices.Contains(free, class) {
		return ""
	}
	var names []string
	for _, c := range there {
		if c.Name == class || class == "" && c.Default {
			if !slices.Contains(removedProvisioners, c.Provisioner) {
				return ""
			}
			return fmt.Sprintf("the storage class %s has the provisioner %s, which Kubernetes has no more: recreate the class with a CSI driver, or name another class", c.Name, c.Provisioner)
		}
		names = append(names, c.Name)
	}
	slices.Sort(names)
	has := "there is none"
	if len(names) > 0 {
		has = "there are " + strings.Join(names, ", ")
	}
	if class == "" {
		return "no storage class is named, and none is the default one (" + has + "): name one, or mark one as the default"
	}
	return fmt.Sprintf("the storage class %s does not exist (%s): create it, or name another one in the definition", class, has)
}

// StorageClassMissing says what cannot be made: each problem with the claims that have it.
func StorageClassMissing(problems []string) (Reason, bool) {
	if len(problems) == 0 {
		return Reason{}, false
	}
	return StorageClassRule.because("%s", strings.Join(problems, "; ")), true
}
