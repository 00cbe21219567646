package render

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

// model is a definition with what follows from it, the configuration and the
// pins: which groups there are, which of them may elect, and how many nodes.
type model struct {
	def       *definition.CrateDB
	namespace string
	cfg       Config
	pins      Pins
	version   release
	groups    []group // dedicated masters first, then the definition's order
}

func newModel(c Cluster, cfg Config, pins Pins) (*model, []definition.Problem) {
	def := c.Definition
	m := &model{def: def, namespace: c.Namespace, cfg: cfg, pins: pins, version: parseRelease(def.Spec.Cluster.Version)}
	if m.namespace == "" {
		m.namespace = def.Namespace
	}
	var problems []definition.Problem
	refuse := func(path, format string, args ...any) {
		problems = append(problems, definition.Problem{
			File: def.File, Line: def.Line, Path: path,
			Message: fmt.Sprintf(format, args...), Cluster: m.namespace + "/" + def.Name,
		})
	}
	if pins.Base == "" { // a new cluster
		m.pins.DebugClass, m.pins.DebugSize = cfg.DebugStorageClass, cfg.DebugVolumeSize
	}
	debug := def.Spec.Operations.DebugVolume
	m.pins.DebugClass = cmp.Or(debug.StorageClass, m.pins.DebugClass)
	m.pins.DebugSize = cmp.Or(debug.Size, m.pins.DebugSize)
	if def.Spec.Operations.Base != "" {
		m.pins.Base = def.Spec.Operations.Base
	}
	if m.pins.Base == "" {
		m.pins.Base = base.Newest()
	}
	if _, err := base.Open(m.pins.Base); err != nil {
		refuse("spec.operations.base", "%v", err)
	}
	if def.Spec.Operations.Sysctl == definition.SysctlHost && m.pins.Base == base.V1 {
		refuse("spec.operations.sysctl", "host is of the base v2 on, and this cluster has the base v1: leave the field out")
	}
	if (cfg.JMXExporterURL == "") != (cfg.JMXExporterSHA256 == "") {
		refuse("", "the JMX exporter is configured by half: give stevedore its URL and its SHA-256, or neither")
	}
	if len(def.Spec.Nodes.Data) == 0 {
		refuse("spec.nodes.data", "there is no data group; a cluster has one at least")
		return nil, problems
	}
	if m.pins.MasterGroup == "" {
		// Later it comes from the record: kustomize may change the order of
		// groups, and the masters must not move with it.
		m.pins.MasterGroup = def.Spec.Nodes.Data[0].Name
		if def.Spec.Nodes.Master != nil {
			m.pins.MasterGroup = names.MasterGroup
		}
	}
	if def.Spec.Nodes.Master != nil {
		g := group{NodeGroup: *def.Spec.Nodes.Master, dedicatedMaster: true, masterEligible: true}
		g.Name = names.MasterGroup
		m.groups = append(m.groups, g)
	}
	found := def.Spec.Nodes.Master != nil && m.pins.MasterGroup == names.MasterGroup
	for _, d := range def.Spec.Nodes.Data {
		eligible := !found && d.Name == m.pins.MasterGroup
		m.groups = append(m.groups, group{NodeGroup: d, masterEligible: eligible, names: def.Spec.Operations.NamesOf(d.Name)})
		found = found || eligible
	}
	if !found {
		path, at := "spec.nodes.data", def.DataAt
		if m.pins.MasterGroup == names.MasterGroup {
			path, at = "spec.nodes.master", def.MasterAt
		}
		refuse(path, "the running cluster elects its master among the nodes of group %q, which is missing here; put it back: the master-eligible group of a cluster cannot be removed or renamed", m.pins.MasterGroup)
		if p := &problems[len(problems)-1]; at.Line > 0 {
			p.File, p.Line, p.Column = at.File, at.Line, at.Column
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return m, nil
}

// dedicated reports whether the cluster has masters that hold no data.
func (m *model) dedicated() bool { return m.def.Spec.Nodes.Master != nil }

func (m *model) jmxExporter() bool { return m.cfg.JMXExporterURL != "" }
func (m *model) sqlExporter() bool { return m.cfg.SQLExporterImage != "" }

// masterNodes are the nodes that found the cluster: those of the group that
// the pins name.
func (m *model) masterNodes() []string {
	var nodes []string
	for _, g := range m.groups {
		if g.masterEligible && (g.Name == m.pins.MasterGroup) {
			for i := range g.Replicas {
				nodes = append(nodes, g.prefix()+"-"+strconv.Itoa(i))
			}
		}
	}
	return nodes
}

func (m *model) dataNodes() int {
	n := 0
	for _, g := range m.groups {
		if !g.dedicatedMaster {
			n += g.Replicas
		}
	}
	return n
}

func (m *model) allNodes() int {
	n := 0
	for _, g := range m.groups {
		n += g.Replicas
	}
	return n
}

// identity are the labels by which crate-operator, its tools and we know the
// objects of a cluster. They always win over a user's.
func (m *model) identity() map[string]string {
	return map[string]string{
		names.ComponentLabel: names.Component,
		names.NameLabel:      m.def.Name,
		names.PartOfLabel:    "cratedb",
		names.ManagedByLabel: names.FieldManager,
	}
}

// labels are an object's: the definition's own, then ours.
func (m *model) labels() map[string]string {
	l := maps.Clone(m.def.Labels)
	if l == nil {
		l = map[string]string{}
	}
	maps.Copy(l, m.identity())
	l[names.ClusterLabel] = m.def.Name
	return l
}

// podLabels are those of a group's pods. They lack stevedore.dev/cluster: pods
// are known by crate-operator's labels, and its clusters keep their templates.
func (m *model) podLabels(g group) map[string]string {
	l := maps.Clone(m.def.Labels)
	if l == nil {
		l = map[string]string{}
	}
	maps.Copy(l, g.Labels)
	if g.names != nil {
		maps.Copy(l, g.names.Selector)
	}
	maps.Copy(l, m.identity())
	l[names.NodeNameLabel] = g.Name
	l[names.NodeDataLabel] = strconv.FormatBool(!g.dedicatedMaster)
	return l
}

// selector matches every pod of the cluster.
func (m *model) selector() map[string]string {
	return map[string]string{names.ComponentLabel: names.Component, names.NameLabel: m.def.Name}
}

func with(labels map[string]string, key, value string) map[string]string {
	labels[key] = value
	return labels
}
