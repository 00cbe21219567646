package definition

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/internal/located"
)

// Names are those of a data group whose StatefulSet somebody else has made: what Kubernetes never
// changes of it, and what its data and its place among the nodes hang on. They stay for the life of
// the group.
type Names struct {
	Group       string            `json:"group"`
	StatefulSet string            `json:"statefulSet"`
	ServiceName string            `json:"serviceName"`
	Selector    map[string]string `json:"selector"`
	// Claim is the name of its one claim template, which is mounted at MountPath. CrateDB's
	// path.data is DataPath, which is MountPath or lies below it.
	Claim     string `json:"claim"`
	MountPath string `json:"mountPath"`
	DataPath  string `json:"dataPath"`
	// NodePrefix is what the names of its nodes begin with: a dash and the pod's ordinal follow.
	NodePrefix string `json:"nodePrefix"`
}

// NamesOf are the names that a data group has from somebody else; nil where they are stevedore's.
func (o *Operations) NamesOf(group string) *Names {
	if i := slices.IndexFunc(o.Adopt, func(n Names) bool { return n.Group == group }); i >= 0 {
		return &o.Adopt[i]
	}
	return nil
}

// StatefulSet is the name of a group's StatefulSet.
func (db *CrateDB) StatefulSet(group string, master bool) string {
	if n := db.Spec.Operations.NamesOf(group); n != nil && !master {
		return n.StatefulSet
	}
	return names.StatefulSet(db.Name, group, master)
}

func adoptField() field {
	return list("adopt", "group", object("",
		text("group", checkGroupName).req(),
		text("statefulSet", checkAdoptedName).req(),
		text("serviceName", checkServiceName),
		free("selector", checkLabelKey, checkLabelValue, located.Text).req(),
		text("claim", checkClaim).req(),
		text("mountPath", checkFolder),
		text("dataPath", checkFolder),
		text("nodePrefix", checkNodePrefix),
	))
}

func checkAdoptedName(s string) string {
	if len(validation.IsDNS1123Label(s)) == 0 {
		return ""
	}
	return "is no name of a StatefulSet: " + nameRule + ", at most 63 characters"
}

func checkServiceName(s string) string {
	if s == "" || len(validation.IsDNS1123Label(s)) == 0 {
		return ""
	}
	return "is no name of a Service: " + nameRule
}

// checkClaim: which claims have shards is known by their name, wherever it is asked.
func checkClaim(s string) string {
	switch {
	case len(validation.IsDNS1123Label(s)) > 0:
		return "is no name of a volume claim template: " + nameRule
	case !DataClaim(s):
		return "has not data in its name, by which CrateDB's volumes are known: a StatefulSet with such a claim cannot be taken over"
	}
	return ""
}

// DataClaim reports whether CrateDB keeps shards on the claims of the template of this name: of ours
// "data0" and so on, and of another's what says so ("cratedb-data").
func DataClaim(template string) bool { return strings.Contains(template, "data") }

var folderPattern = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

func checkFolder(s string) string {
	if folderPattern.MatchString(s) {
		return ""
	}
	return "is no folder: write an absolute path such as /data"
}

var nodePrefixPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func checkNodePrefix(s string) string {
	if nodePrefixPattern.MatchString(s) {
		return ""
	}
	return "is no beginning of a node's name: use letters, digits, -, _ and ., beginning and ending with a letter or digit"
}

// adoptRules are those of spec.operations.adopt that look at more than one field.
func adoptRules(n *yaml.Node, name string, data []*yaml.Node, add reporter) {
	list := located.Get(n, "spec", "operations", "adopt")
	taken := map[string]string{} // names of StatefulSets, and beginnings of node names
	groups := map[string]*yaml.Node{}
	for _, g := range data {
		group := str(g, "name")
		groups[group] = g
		taken["StatefulSet "+names.StatefulSet(name, group, false)] = "group " + group
		taken["nodes "+names.NodePrefix(group, false)] = "group " + group
	}
	seen := map[string]bool{}
	for i, entry := range located.Items(list) {
		path := []any{"spec", "operations", "adopt", i}
		at := func(key string, message string) {
			node := located.Get(entry, key)
			if node == nil {
				add(entry, path, message)
				return
			}
			add(node, append(slices.Clone(path), key), message)
		}
		group := str(entry, "group")
		node, known := groups[group]
		switch {
		case group == "":
		case seen[group]:
			at("group", "group "+group+" stands here twice: keep one")
		case !known:
			at("group", "there is no data group "+group+" in spec.nodes.data: name the group whose StatefulSet it is")
		default:
			if count, ok := located.Float(located.Get(node, "resources", "disk", "count")); ok && count != 1 {
				at("claim", fmt.Sprintf("is the only volume of each node of group %s, and its resources.disk.count is %g: write 1; a group that is added beside it may have more", group, count))
			}
		}
		seen[group] = true
		names := namesOf(entry)
		for _, one := range []struct{ key, field string }{{"StatefulSet " + names.StatefulSet, "statefulSet"}, {"nodes " + names.NodePrefix, "nodePrefix"}} {
			if other, there := taken[one.key]; there {
				at(one.field, one.key+" is taken by "+other+": each group has its own")
			}
			taken[one.key] = "group " + group
		}
		if names.DataPath != names.MountPath && !strings.HasPrefix(names.DataPath, names.MountPath+"/") {
			at("dataPath", "does not lie on the volume, which is mounted at "+names.MountPath)
		}
		selectorRules(names.Selector, name, at)
	}
}

// selectorRules: the pods have stevedore's labels in addition, and a label has one value.
func selectorRules(selector map[string]string, cluster string, at func(string, string)) {
	if len(selector) == 0 {
		at("selector", "is empty: write spec.selector.matchLabels of the StatefulSet")
	}
	values := map[string]string{names.NameLabel: cluster, names.ComponentLabel: names.Component, names.PartOfLabel: "cratedb"}
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		want, same := values[key]
		switch {
		case same && selector[key] != want && key == names.NameLabel:
			at("selector", fmt.Sprintf("has %s: %s, and stevedore's pods have the cluster's name there: call the cluster %s (metadata.name)", key, selector[key], selector[key]))
		case same && selector[key] != want:
			at("selector", fmt.Sprintf("has %s: %s, and stevedore's pods have %s there: such a StatefulSet cannot be taken over", key, selector[key], want))
		case key == names.ManagedByLabel, key == names.NodeNameLabel, key == names.NodeDataLabel, strings.HasPrefix(key, names.Prefix):
			at("selector", fmt.Sprintf("has %s, which stevedore sets itself: such a StatefulSet cannot be taken over", key))
		}
	}
}

// namesOf reads an entry of spec.operations.adopt.
func namesOf(n *yaml.Node) Names {
	out := Names{
		Group: str(n, "group"), StatefulSet: str(n, "statefulSet"), ServiceName: str(n, "serviceName"), Selector: texts(n, "selector"),
		Claim: str(n, "claim"), MountPath: str(n, "mountPath"), DataPath: str(n, "dataPath"), NodePrefix: str(n, "nodePrefix"),
	}
	if out.MountPath == "" {
		out.MountPath = "/data"
	}
	if out.DataPath == "" {
		out.DataPath = out.MountPath
	}
	if out.NodePrefix == "" {
		out.NodePrefix = out.StatefulSet
	}
	return out
}
