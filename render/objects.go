package render

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/resmap"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/base"
)

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
	a, err := m.assembly()
	if err != nil {
		return nil, err
	}
	objects, err := a.run()
	if err != nil {
		return nil, err
	}
	return withoutEmpty(objects), nil
}

func (m *model) assembly() (*assembly, error) {
	files, err := base.Open(m.pins.Base)
	if err != nil {
		return nil, err
	}
	name := m.def.Name
	a := &assembly{version: m.pins.Base, base: files, namespace: m.namespace}
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
	return a, nil
}

// withoutEmpty takes out what the base has for the definition to fill, and that
// stayed empty.
func withoutEmpty(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, o := range objects {
		dropEmpty(o.Object, "metadata", "annotations")
		dropEmpty(o.Object, "spec", "template", "metadata", "annotations")
		dropEmpty(o.Object, "spec", "template", "spec", "volumes")
	}
	return objects
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
