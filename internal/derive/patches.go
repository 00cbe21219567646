package derive

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
)

// patch is one of spec.patches that the definition gets.
type patch struct {
	// subject says what it keeps, for the comment over it.
	subject string
	kind    string
	// name is "" for all StatefulSets.
	name, text string
}

const (
	jmxFetch  = "fetch-jmx-exporter"
	jmxVolume = "jmxdir"
	javaOpts  = "CRATE_JAVA_OPTS"
)

// podFields are the fields of a pod that may be as somebody wrote them: where it may run, and as whom.
var podFields = []string{
	"affinity", "automountServiceAccountToken", "dnsConfig", "dnsPolicy", "hostAliases", "imagePullSecrets", "nodeSelector",
	"priorityClassName", "runtimeClassName", "schedulerName", "securityContext", "serviceAccountName",
	"terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints",
}

// fragment is what a patch of one StatefulSet adds to its pod template.
type fragment struct {
	annotations                         map[string]any
	containers, inits, volumes          []any
	mounts, variables                   []any
	withoutSysctl                       bool
	claimed                             map[string]bool
	live, rendered, liveCrate, newCrate map[string]any
}

// patchesFor are the patches that keep what is live and that no field says. One that is the same for
// each StatefulSet is for all of them.
func (d *draft) patchesFor(rendered []*unstructured.Unstructured) []patch {
	type subject struct {
		words string
		of    func(f *fragment)
	}
	subjects := []subject{
		{"the SQL exporter", d.keepSQLExporter},
		{"the JMX exporter, and what Prometheus finds it by", d.keepJMXExporter},
		{"what somebody added to the pods", d.keepOthers},
	}
	var all []patch
	fragments := map[string]*fragment{}
	for _, g := range d.groups {
		fragments[g.set.Name] = fragmentOf(bare(g.live), bare(byName(rendered, kindStatefulSet, g.set.Name)))
	}
	for _, s := range subjects {
		all = append(all, d.same(s.words, func(set string) string {
			f := fragments[set]
			f.reset()
			s.of(f)
			return f.text()
		})...)
	}
	all = append(all, d.same("where the pods may run", func(set string) string { return fieldsPatch(fragments[set]) })...)
	if text := d.servicePatch(byName(rendered, kindService, names.Service(d.in.Cluster))); text != "" {
		all = append(all, patch{"the kind of Service", kindService, names.Service(d.in.Cluster), text})
	}
	return all
}

// same makes one patch where each StatefulSet gets the same text, else one for each that gets any.
func (d *draft) same(subject string, text func(set string) string) (all []patch) {
	texts := map[string]bool{}
	for _, g := range d.groups {
		t := text(g.set.Name)
		texts[t] = true
		if t != "" {
			all = append(all, patch{subject, kindStatefulSet, g.set.Name, t})
		}
	}
	if len(texts) == 1 && len(all) > 1 {
		all = all[:1]
	}
	if len(texts) == 1 && len(all) == 1 {
		all[0].name = ""
	}
	return all
}

func fragmentOf(live, rendered *unstructured.Unstructured) *fragment {
	f := &fragment{
		live: mapAt(live.Object, "spec", "template"), rendered: mapAt(rendered.Object, "spec", "template"),
		claimed: map[string]bool{},
	}
	f.liveCrate, f.newCrate = f.crateOf(f.live), f.crateOf(f.rendered)
	return f
}

func (f *fragment) crateOf(template map[string]any) map[string]any {
	c, _ := itemOf(mapAt(template, "spec")["containers"], manifest.CrateContainer).(map[string]any)
	return c
}

func (f *fragment) reset() {
	f.annotations, f.containers, f.inits, f.volumes, f.mounts, f.variables, f.withoutSysctl = nil, nil, nil, nil, nil, nil, false
}

// added are the named items of a list that rendering does not make, and no subject before has taken.
func (f *fragment) added(live, rendered map[string]any, field string) (items []map[string]any) {
	for _, item := range mapsAt(live, field) {
		name := fmt.Sprint(item["name"])
		if itemOf(rendered[field], name) == nil && !f.claimed[field+"/"+name] {
			items = append(items, item)
		}
	}
	return items
}

// withVolumes takes the volumes that the mounts of an item name.
func (f *fragment) withVolumes(items ...any) {
	for _, item := range items {
		m, _ := item.(map[string]any)
		mounts := mapsAt(m, "volumeMounts")
		if m["mountPath"] != nil {
			mounts = []map[string]any{m}
		}
		for _, mount := range mounts {
			for _, volume := range f.added(mapAt(f.live, "spec"), mapAt(f.rendered, "spec"), "volumes") {
				if volume["name"] == mount["name"] {
					f.claimed["volumes/"+fmt.Sprint(volume["name"])] = true
					f.volumes = append(f.volumes, volume)
				}
			}
		}
	}
}

func (f *fragment) takeContainer(field string, c map[string]any) {
	f.claimed[field+"/"+fmt.Sprint(c["name"])] = true
	if field == "containers" {
		f.containers = append(f.containers, c)
	} else {
		f.inits = append(f.inits, c)
	}
	f.withVolumes(c)
}

// keepSQLExporter keeps the container and, beside the definition, the ConfigMap with its collectors:
// the daemon's own exporter would have other metrics.
func (d *draft) keepSQLExporter(f *fragment) {
	if d.config.SQLExporterImage != "" {
		f.claimed["containers/"+sqlExporter] = true
		return
	}
	for _, c := range f.added(mapAt(f.live, "spec"), mapAt(f.rendered, "spec"), "containers") {
		if c["name"] != sqlExporter {
			continue
		}
		f.takeContainer("containers", c)
		o := d.live("ConfigMap", names.SQLExporterConfigMap(d.in.Cluster))
		if o == nil {
			d.note("not-live", true, "there is no ConfigMap %s with the collectors of the SQL exporter, and pods that restart wait for it", names.SQLExporterConfigMap(d.in.Cluster))
			continue
		}
		// Of its own name no other object may travel: it is the daemon's exporter's.
		for i, volume := range f.volumes {
			copied := runtime.DeepCopyJSON(volume.(map[string]any))
			if source := mapAt(copied, "configMap"); source["name"] == o.GetName() {
				source["name"] = collectors(d.in.Cluster)
				f.volumes[i] = copied
			}
		}
		if len(d.travels) == 0 {
			d.travels = append(d.travels, travelling(o, collectors(d.in.Cluster)))
		}
	}
}

// collectors is the name of the ConfigMap that stands beside a definition.
func collectors(cluster string) string { return "sql-exporter-" + cluster }

// travelling is an object as it is written to a file, under another name.
func travelling(o *unstructured.Unstructured, name string) *unstructured.Unstructured {
	t := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind()}}
	t.SetName(name)
	t.SetNamespace(o.GetNamespace())
	for _, field := range []string{"data", "binaryData"} {
		if value, ok := o.Object[field]; ok {
			t.Object[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	return t
}

// keepJMXExporter keeps the jar as it is fetched today, whatever its version: where it is mounted and
// how the JVM loads it go with it.
func (d *draft) keepJMXExporter(f *fragment) {
	if d.config.JMXExporterURL != "" {
		f.claimed["initContainers/"+jmxFetch], f.claimed["mounts/"+jmxVolume], f.claimed["volumes/"+jmxVolume] = true, true, true
		f.claimed["env/"+javaOpts] = true
		return
	}
	for _, c := range f.added(mapAt(f.live, "spec"), mapAt(f.rendered, "spec"), "initContainers") {
		if c["name"] == jmxFetch {
			f.takeContainer("initContainers", c)
		}
	}
	for _, mount := range mapsAt(f.liveCrate, "volumeMounts") {
		if mount["name"] == jmxVolume {
			f.claimed["mounts/"+jmxVolume] = true
			f.mounts = append(f.mounts, mount)
			f.withVolumes(mount)
		}
	}
	if len(f.inits)+len(f.mounts) > 0 {
		f.keepVariable(javaOpts)
	}
	for key, value := range mapAt(f.live, "metadata", "annotations") {
		if strings.HasPrefix(key, prometheusPrefix) && mapAt(f.rendered, "metadata", "annotations")[key] != value {
			f.annotate(key, value)
		}
	}
}

func (f *fragment) annotate(key string, value any) {
	if f.annotations == nil {
		f.annotations = map[string]any{}
	}
	f.annotations[key] = value
}

// keepVariable keeps a variable of CrateDB's container that is live with another value, or that
// rendering does not make.
func (f *fragment) keepVariable(name string) {
	live, rendered := itemOf(f.liveCrate["env"], name), itemOf(f.newCrate["env"], name)
	if live != nil && !f.claimed["env/"+name] && !reflect.DeepEqual(live, rendered) {
		f.claimed["env/"+name] = true
		f.variables = append(f.variables, live)
	}
}

// keepOthers keeps containers, volumes, variables and annotations that rendering does not make.
func (d *draft) keepOthers(f *fragment) {
	for _, field := range []string{"containers", "initContainers"} {
		for _, c := range f.added(mapAt(f.live, "spec"), mapAt(f.rendered, "spec"), field) {
			f.takeContainer(field, c)
		}
	}
	liveInits, newInits := mapAt(f.live, "spec")["initContainers"], mapAt(f.rendered, "spec")["initContainers"]
	if live, made := itemOf(liveInits, initSysctl), itemOf(newInits, initSysctl); live == nil && made != nil {
		f.withoutSysctl = true
	} else if live != nil && made != nil && !reflect.DeepEqual(live, made) {
		f.inits = append(f.inits, live)
	}
	for _, mount := range f.added(f.liveCrate, f.newCrate, "volumeMounts") {
		name := fmt.Sprint(mount["name"])
		if itemOf(mapAt(f.live, "spec")["volumes"], name) != nil && !f.claimed["mounts/"+name] {
			f.mounts = append(f.mounts, mount)
			f.withVolumes(mount)
		}
	}
	for _, variable := range mapsAt(f.liveCrate, "env") {
		if name := fmt.Sprint(variable["name"]); !slices.Contains(crateEnv, name) {
			f.keepVariable(name)
		}
	}
	for key, value := range mapAt(f.live, "metadata", "annotations") {
		if !foreignAnnotation(key) && mapAt(f.rendered, "metadata", "annotations")[key] != value {
			f.annotate(key, value)
		}
	}
}

// text is the fragment as a strategic-merge patch; "" for an empty one.
func (f *fragment) text() string {
	pod, crate := map[string]any{}, map[string]any{}
	put := func(into map[string]any, field string, items []any) {
		if len(items) > 0 {
			into[field] = items
		}
	}
	put(crate, "env", f.variables)
	put(crate, "volumeMounts", f.mounts)
	containers := f.containers
	if len(crate) > 0 {
		crate["name"] = manifest.CrateContainer
		containers = append(slices.Clone(containers), crate)
	}
	inits := f.inits
	if f.withoutSysctl {
		inits = append(slices.Clone(inits), map[string]any{"name": initSysctl, "$patch": "delete"})
	}
	put(pod, "containers", containers)
	put(pod, "initContainers", f.inOrder(inits))
	put(pod, "volumes", f.volumes)
	template := map[string]any{}
	if len(pod) > 0 {
		template["spec"] = pod
	}
	if len(f.annotations) > 0 {
		template["metadata"] = map[string]any{"annotations": f.annotations}
	}
	if len(template) == 0 {
		return ""
	}
	return mergePatch("apps/v1", kindStatefulSet, map[string]any{"template": template})
}

// inOrder lists init containers as they are live, with those that stay as they are by their name
// alone: so kustomize puts the new ones where they were.
func (f *fragment) inOrder(items []any) (ordered []any) {
	const field = "initContainers"
	if len(items) == 0 {
		return nil
	}
	rest := slices.Clone(items)
	for _, live := range mapsAt(mapAt(f.live, "spec"), field) {
		name := live["name"]
		is := func(item any) bool { return item.(map[string]any)["name"] == name }
		switch at := slices.IndexFunc(rest, is); {
		case at >= 0:
			ordered = append(ordered, rest[at])
			rest = slices.Delete(rest, at, at+1)
		case itemOf(mapAt(f.rendered, "spec")[field], fmt.Sprint(name)) != nil || f.claimed[field+"/"+fmt.Sprint(name)]:
			ordered = append(ordered, map[string]any{"name": name})
		}
	}
	return append(ordered, rest...)
}

func mergePatch(apiVersion, kind string, spec map[string]any) string {
	text, err := yaml.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return "" // values of JSON can be written
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: any}\n%s", apiVersion, kind, text)
}

// fieldsPatch gives the pod the fields that are live, as a JSON 6902 patch: lists are taken as they
// are, and not merged.
func fieldsPatch(f *fragment) string {
	var lines []string
	live, rendered := mapAt(f.live, "spec"), mapAt(f.rendered, "spec")
	for _, field := range podFields {
		is, made := pruned(live[field]), pruned(rendered[field])
		if reflect.DeepEqual(is, made) {
			continue
		}
		if is == nil {
			lines = append(lines, fmt.Sprintf("- {op: remove, path: /spec/template/spec/%s}", field))
			continue
		}
		value, err := json.Marshal(is)
		if err != nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("- {op: add, path: /spec/template/spec/%s, value: %s}", field, value))
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// servicePatch keeps how clients come to the Service.
func (d *draft) servicePatch(rendered *unstructured.Unstructured) string {
	o := d.live(kindService, names.Service(d.in.Cluster))
	if o == nil {
		return ""
	}
	live, made := mapAt(bare(o).Object, "spec"), mapAt(bare(rendered).Object, "spec")
	spec := map[string]any{}
	for _, field := range []string{"type", "externalTrafficPolicy", "loadBalancerClass", "loadBalancerIP", "sessionAffinity", "internalTrafficPolicy"} {
		if !reflect.DeepEqual(live[field], made[field]) {
			spec[field] = live[field] // null takes it off
		}
	}
	if _, other := spec["type"]; other && spec["type"] == nil {
		spec["type"] = "ClusterIP"
	}
	if len(spec) == 0 {
		return ""
	}
	return mergePatch("v1", kindService, spec)
}
