package derive

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
)

// Unsupported is a cluster that runs in a StatefulSet which no definition can render: another name,
// other claims, or another way to start CrateDB.
type Unsupported struct {
	StatefulSet string
	// Why are the parts that cannot be rendered, a sentence each.
	Why []string
	// Entry is what spec.operations.adopt of a definition would say of it, in one line of YAML; "" where
	// it has more than one claim, or none.
	Entry string
}

func (u *Unsupported) Error() string {
	way := "With one stop of the cluster its volumes go to a new one"
	if u.Entry != "" {
		way = "It is taken over under its own names by a definition that a person writes, with spec.operations.adopt: [" + u.Entry + "]"
	}
	return fmt.Sprintf("StatefulSet %s runs CrateDB, and not as crate-operator makes it: %s. What Kubernetes never changes is among that, so import writes no definition of it. %s: docs/moving-in.md, \"A StatefulSet that somebody wrote\"",
		u.StatefulSet, strings.Join(u.Why, "; "), way)
}

// NotFound is a cluster that does not run in the namespace.
type NotFound struct {
	Namespace, Cluster string
	// Clusters are those that do, Others the StatefulSets of CrateDB that are not crate-operator's.
	Clusters, Others []string
	// Object: there is a CrateDB object of the name.
	Object bool
}

func (n *NotFound) Error() string {
	text := fmt.Sprintf("no StatefulSet of namespace %s belongs to a cluster %s", n.Namespace, n.Cluster)
	if n.Object {
		text += ", though there is its CrateDB object: nothing runs, and the object itself is a definition (docs/compatibility.md)"
	}
	if len(n.Clusters) > 0 {
		text += "; the clusters there are " + strings.Join(n.Clusters, ", ")
	}
	if len(n.Others) > 0 {
		text += "; StatefulSets that somebody wrote run CrateDB too: " + strings.Join(n.Others, ", ")
	}
	return text
}

// foundSet is a StatefulSet of the cluster, as it is and typed.
type foundSet struct {
	live  *unstructured.Unstructured
	set   *appsv1.StatefulSet
	group string
	// master: its nodes carry no data.
	master bool
}

// crate is CrateDB's container.
func (f foundSet) crate() *corev1.Container {
	for i := range f.set.Spec.Template.Spec.Containers {
		if c := &f.set.Spec.Template.Spec.Containers[i]; c.Name == manifest.CrateContainer {
			return c
		}
	}
	return &corev1.Container{}
}

// findSets are the StatefulSets of the cluster; one at least. Two clusters may share a namespace, and
// crate-data-a-b-c belongs to the cluster that its selector names, which never changes.
func findSets(in Input) ([]foundSet, error) {
	missing := &NotFound{Namespace: in.Namespace, Cluster: in.Cluster, Object: in.Object != nil}
	var found []foundSet
	var refused *Unsupported
	for _, o := range in.Live {
		if o.GetKind() != kindStatefulSet || o.GetNamespace() != in.Namespace {
			continue
		}
		set := &appsv1.StatefulSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(compact(o), set); err != nil {
			return nil, fmt.Errorf("reading StatefulSet %s: %w", o.GetName(), err)
		}
		command := commandOf(set)
		if !runsCrateDB(set, command) {
			continue
		}
		cluster, group, master := placeOf(set)
		why := otherThanOperators(set, cluster, group, master)
		named := in.Cluster == cluster || in.Cluster == set.Name || in.Cluster == argument(command, "cluster.name") && cluster == ""
		switch {
		case named && len(why) > 0:
			refused = &Unsupported{StatefulSet: set.Name, Why: why, Entry: entryOf(set, command)}
		case in.Cluster == cluster:
			found = append(found, foundSet{live: o, set: set, group: group, master: master})
		case len(why) > 0:
			missing.Others = append(missing.Others, set.Name)
		case !slices.Contains(missing.Clusters, cluster):
			missing.Clusters = append(missing.Clusters, cluster)
		}
	}
	slices.Sort(missing.Clusters)
	slices.Sort(missing.Others)
	switch {
	case refused != nil:
		return nil, refused
	case len(found) == 0:
		return nil, missing
	}
	return found, nil
}

// compact is the object without what a typed one cannot have: maps with null.
func compact(o *unstructured.Unstructured) map[string]any {
	c := o.DeepCopy()
	delete(c.Object, "status")
	return c.Object
}

// placeOf reads the cluster and the group off the selector; "" where it names none.
func placeOf(set *appsv1.StatefulSet) (cluster, group string, master bool) {
	if set.Spec.Selector == nil || set.Spec.Selector.MatchLabels[names.ComponentLabel] != names.Component {
		return "", "", false
	}
	cluster, group = set.Spec.Selector.MatchLabels[names.NameLabel], set.Spec.Selector.MatchLabels[names.NodeNameLabel]
	return cluster, group, group == names.MasterGroup
}

// otherThanOperators says what of a StatefulSet crate-operator would have made otherwise, and no
// update can change; nil where it is one of its.
func otherThanOperators(set *appsv1.StatefulSet, cluster, group string, master bool) (why []string) {
	if cluster == "" || group == "" || set.Name != names.StatefulSet(cluster, group, master) {
		why = append(why, "its name or selector is of no group (crate-data-GROUP-CLUSTER)")
	}
	if set.Spec.ServiceName != "cratedb" {
		why = append(why, fmt.Sprintf("serviceName is %q, not cratedb", set.Spec.ServiceName))
	}
	if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		why = append(why, "podManagementPolicy is not Parallel")
	}
	disks, debug := 0, false
	var other []string
	for _, claim := range set.Spec.VolumeClaimTemplates {
		switch {
		case claim.Name == debugClaim:
			debug = true
		case claim.Name == "data"+strconv.Itoa(disks):
			disks++
		default:
			other = append(other, claim.Name)
		}
	}
	if disks == 0 || !debug || len(other) > 0 {
		why = append(why, "its claims are "+strings.Join(claimNames(set), ", ")+", not data0 and so on, and debug")
	}
	if set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		why = append(why, "updateStrategy is not OnDelete: Kubernetes restarts its pods by itself")
	}
	if (foundSet{set: set}).crate().Name == "" {
		why = append(why, "it has no container crate")
	}
	return why
}

// entryOf is what spec.operations.adopt says of a StatefulSet: its group is a name that a person may change.
func entryOf(set *appsv1.StatefulSet, command []string) string {
	if len(set.Spec.VolumeClaimTemplates) != 1 || set.Spec.Selector == nil {
		return ""
	}
	claim, folder := set.Spec.VolumeClaimTemplates[0].Name, ""
	for _, m := range (foundSet{set: set}).crate().VolumeMounts {
		if m.Name == claim && m.SubPath == "" {
			folder = m.MountPath
		}
	}
	if folder == "" {
		return ""
	}
	// Without the setting it is the image's.
	data := cmp.Or(argument(command, "path.data"), "/data/data")
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(set.Spec.Selector.MatchLabels)) {
		labels = append(labels, scalar(key)+": "+scalar(set.Spec.Selector.MatchLabels[key]))
	}
	return fmt.Sprintf("{group: hot, statefulSet: %s, serviceName: %s, selector: {%s}, claim: %s, mountPath: %s, dataPath: %s, nodePrefix: %s}",
		scalar(set.Name), scalar(set.Spec.ServiceName), strings.Join(labels, ", "), scalar(claim), scalar(folder), scalar(data), scalar(prefixOf(set.Name, argument(command, "node.name"))))
}

// prefixOf is what the names of nodes begin with; those of an unknown pattern are asked for by adopt.
func prefixOf(set, name string) string {
	if prefix, _, ok := strings.Cut(name, "-$("); ok {
		return prefix
	}
	return set
}

const debugClaim = "debug"

func claimNames(set *appsv1.StatefulSet) []string {
	var out []string
	for _, claim := range set.Spec.VolumeClaimTemplates {
		out = append(out, claim.Name)
	}
	return out
}

// runsCrateDB: it starts CrateDB with a setting of it, or from an image of that name.
func runsCrateDB(set *appsv1.StatefulSet, command []string) bool {
	if argument(command, "cluster.name") != "" || argument(command, "node.name") != "" {
		return true
	}
	return slices.ContainsFunc(set.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		registry, _ := splitImage(c.Image)
		return registry[strings.LastIndexByte(registry, '/')+1:] == "crate" || strings.HasSuffix(registry, "/cratedb")
	})
}

// commandOf are the command and arguments of all containers.
func commandOf(set *appsv1.StatefulSet) (all []string) {
	for _, c := range set.Spec.Template.Spec.Containers {
		all = append(append(all, c.Command...), c.Args...)
	}
	return all
}

// argument is the last value of a setting on a command line; "" for none.
func argument(command []string, name string) (value string) {
	for _, text := range command {
		if v, ok := strings.CutPrefix(text, "-C"+name+"="); ok {
			value = v
		}
	}
	return value
}

// splitImage tells an image from its tag; a digest counts as part of the tag.
func splitImage(image string) (registry, tag string) {
	digest := ""
	if name, d, ok := strings.Cut(image, "@"); ok {
		image, digest = name, "@"+d
	}
	at := strings.LastIndexByte(image, ':')
	if at < 0 || strings.Contains(image[at:], "/") {
		return image, digest
	}
	return image[:at], image[at+1:] + digest
}
