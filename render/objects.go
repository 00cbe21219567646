package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/base"
)

// operation is one of a JSON 6902 patch. Such a patch fails when the base has
// no such place, so that the base and what Go computes cannot drift apart.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func set(path string, value any) operation { return operation{"add", path, value} }

// pointer escapes a key for a JSON pointer (RFC 6901).
func pointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// assembly is a kustomization in the making: the base's documents under their
// real names, and patches.
type assembly struct {
	base      fs.FS
	namespace string
	fsys      filesys.FileSystem
	resources []string
	patches   []objectPatch
	err       error // the first one; the base is ours, so there is no second
}

func (a *assembly) resource(file, name string) {
	if a.err != nil {
		return
	}
	data, err := fs.ReadFile(a.base, file)
	if err != nil {
		a.err = fmt.Errorf("reading the base: %w", err)
		return
	}
	node, err := yaml.Parse(string(data))
	if err != nil {
		a.err = fmt.Errorf("reading %s of the base: %w", file, err)
		return
	}
	for _, err := range []error{node.SetName(name), node.SetNamespace(a.namespace)} {
		if err != nil {
			a.err = fmt.Errorf("naming %s of the base: %w", file, err)
			return
		}
	}
	path := fmt.Sprintf("%02d-%s", len(a.resources), file)
	text, err := node.String()
	if err == nil {
		err = a.fsys.WriteFile("/"+path, []byte(text))
	}
	if err != nil {
		a.err = fmt.Errorf("copying %s of the base: %w", file, err)
		return
	}
	a.resources = append(a.resources, path)
}

// objectPatch is everything that is done to one object: one patch an object
// instead of one a concern takes kustomize a third of the time.
type objectPatch struct {
	kind, name string
	operations []operation
}

// patchFile adds one of the base's own patches.
func (a *assembly) patchFile(kind, name, file string) {
	data, err := fs.ReadFile(a.base, "patches/"+file)
	var operations []operation
	if err == nil {
		err = sigsyaml.UnmarshalStrict(data, &operations)
	}
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("reading patches/%s of the base: %w", file, err)
	}
	a.patch(kind, name, operations...)
}

// patch adds operations behind those that the object has.
func (a *assembly) patch(kind, name string, operations ...operation) {
	for i := range a.patches {
		if a.patches[i].kind == kind && a.patches[i].name == name {
			a.patches[i].operations = append(a.patches[i].operations, operations...)
			return
		}
	}
	a.patches = append(a.patches, objectPatch{kind, name, operations})
}

func (a *assembly) run() ([]*unstructured.Unstructured, error) {
	if a.err != nil {
		return nil, a.err
	}
	patches := make([]map[string]any, 0, len(a.patches))
	for _, p := range a.patches {
		text, err := json.Marshal(p.operations)
		if err != nil {
			return nil, fmt.Errorf("computing a patch of %s %s: %w", p.kind, p.name, err)
		}
		patches = append(patches, map[string]any{
			"patch":  string(text),
			"target": map[string]string{"kind": p.kind, "name": regexp.QuoteMeta(p.name)},
		})
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"resources": a.resources, "patches": patches,
	})
	if err != nil {
		return nil, err
	}
	if err := a.fsys.WriteFile("/kustomization.yaml", text); err != nil {
		return nil, err
	}
	m, err := kustomize(a.fsys, "/")
	if err != nil {
		return nil, err
	}
	return objectsOf(m)
}

// objectsOf turns kustomize's result into objects, in its order.
func objectsOf(m resmap.ResMap) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, m.Size())
	for _, r := range m.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading %s from kustomize: %w", r.CurId(), err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(data); err != nil {
			return nil, fmt.Errorf("%s has no apiVersion or kind any more", r.CurId())
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// ownObjects are the cluster's objects before the user's patches, in a fixed
// order: configuration, services, budgets, StatefulSets.
func (m *model) ownObjects() ([]*unstructured.Unstructured, error) {
	files, err := base.Open(m.pins.Base)
	if err != nil {
		return nil, err
	}
	name := m.def.Name
	a := &assembly{base: files, namespace: m.namespace, fsys: filesys.MakeFsInMemory()}
	if m.sqlExporter() {
		a.resource("sql-exporter.yaml", names.SQLExporterConfigMap(name))
		a.patch("ConfigMap", names.SQLExporterConfigMap(name), set("/metadata/labels", m.labels()))
	}
	m.services(a)
	m.budgets(a)
	for _, g := range m.groups {
		if err := m.statefulSet(a, g); err != nil {
			return nil, err
		}
	}
	objects, err := a.run()
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		dropEmpty(o.Object, "metadata", "annotations")
		dropEmpty(o.Object, "spec", "template", "metadata", "annotations")
		dropEmpty(o.Object, "spec", "template", "spec", "volumes")
	}
	return objects, nil
}

// dropEmpty removes a list or map that has nothing in it: the server would
// drop it too, and what is applied should be what is stored.
func dropEmpty(o map[string]any, path ...string) {
	v, ok, _ := unstructured.NestedFieldNoCopy(o, path...)
	if !ok {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		ok = len(v) == 0
	case []any:
		ok = len(v) == 0
	default:
		ok = v == nil
	}
	if ok {
		unstructured.RemoveNestedField(o, path...)
	}
}

// transportPort is CrateDB's default for transport.tcp.port, where it always
// listens: a definition cannot set another.
const transportPort = 4300

func (m *model) services(a *assembly) {
	spec, name := m.def.Spec, names.Service(m.def.Name)
	a.resource("service.yaml", name)
	switch m.cfg.CloudProvider {
	case CloudAWS:
		a.patchFile("Service", name, "aws-load-balancer.yaml")
	case CloudAzure:
		a.patchFile("Service", name, "azure-load-balancer.yaml")
	}
	selector := m.selector()
	if m.dedicated() {
		selector = with(selector, names.NodeDataLabel, "true")
	}
	ops := []operation{
		set("/metadata/labels", m.labels()),
		set("/spec/ports/0/port", spec.Ports.HTTP),
		set("/spec/ports/1/port", spec.Ports.Postgres),
		set("/spec/selector", selector),
	}
	if spec.Cluster.ExternalDNS != "" {
		ops = append(ops, set("/metadata/annotations/external-dns.alpha.kubernetes.io~1hostname", spec.Cluster.ExternalDNS))
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Cluster.ServiceAnnotations)) {
		ops = append(ops, set("/metadata/annotations/"+pointer(key), spec.Cluster.ServiceAnnotations[key]))
	}
	if len(spec.Cluster.AllowedCIDRs) > 0 {
		ops = append(ops, set("/spec/loadBalancerSourceRanges", spec.Cluster.AllowedCIDRs))
	}
	a.patch("Service", name, ops...)

	discovery := names.DiscoveryService(m.def.Name)
	a.resource("discovery-service.yaml", discovery)
	ops = []operation{
		set("/metadata/labels", m.labels()),
		set("/spec/ports/0/port", spec.Ports.Transport),
		set("/spec/ports/1/port", spec.Ports.HTTP),
		set("/spec/ports/2/port", spec.Ports.Postgres),
		set("/spec/selector", m.selector()),
	}
	if spec.Ports.Transport != transportPort {
		// SRV records of a headless service carry the target port, and nodes
		// would look for each other where none listens.
		ops = append(ops, set("/spec/ports/0/targetPort", transportPort))
	}
	a.patch("Service", discovery, ops...)
}

func (m *model) budgets(a *assembly) {
	data := names.DataBudget(m.def.Name)
	a.resource("data-budget.yaml", data)
	a.patch("PodDisruptionBudget", data,
		set("/metadata/labels", m.labels()),
		set("/spec/selector/matchLabels", with(m.selector(), names.NodeDataLabel, "true")))
	if !m.dedicated() {
		return
	}
	master := names.MasterBudget(m.def.Name)
	a.resource("master-budget.yaml", master)
	a.patch("PodDisruptionBudget", master,
		set("/metadata/labels", m.labels()),
		set("/spec/selector/matchLabels", with(m.selector(), names.NodeNameLabel, names.MasterGroup)))
}
