package render

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

const (
	pod       = "/spec/template/spec"
	crate     = pod + "/containers/0"
	sysctl    = pod + "/initContainers/0"
	matchName = "/labelSelector/matchExpressions/1/values"
)

// statefulSet adds a group's StatefulSet. The patches' order matters: what
// inserts into lists (the exporters) comes last, since the others count on the
// base's positions.
func (m *model) statefulSet(a *assembly, g group) error {
	name := m.def.StatefulSet(g.Name, g.dedicatedMaster)
	a.resource("statefulset.yaml", name)
	ops, err := m.groupOperations(g)
	if err != nil {
		return fmt.Errorf("group %s: %w", g.Name, err)
	}
	if strings.EqualFold(g.Nodepool, "shared") {
		a.patch("StatefulSet", name, ops...)
		a.patchFile("StatefulSet", name, "shared-nodes.yaml")
	} else {
		a.patch("StatefulSet", name, append(ops,
			set(pod+"/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0"+matchName, []string{m.def.Name}))...)
	}
	if _, ok := zoneCommands[m.cfg.CloudProvider]; ok {
		a.patchFile("StatefulSet", name, "zone-spread.yaml")
		a.patch("StatefulSet", name, set(pod+"/topologySpreadConstraints/0"+matchName, []string{m.def.Name}))
	}
	if m.cfg.CloudProvider == CloudAWS && g.names == nil {
		a.patchFile("StatefulSet", name, "aws-heapdump.yaml")
	}
	if ssl := m.def.Spec.Cluster.SSL; ssl != nil {
		a.patchFile("StatefulSet", name, "tls.yaml")
		a.patch("StatefulSet", name,
			set(crate+"/env/2/valueFrom/secretKeyRef", map[string]string{"name": ssl.KeystoreKeyPassword.Name, "key": ssl.KeystoreKeyPassword.Key}),
			set(crate+"/env/3/valueFrom/secretKeyRef", map[string]string{"name": ssl.KeystorePassword.Name, "key": ssl.KeystorePassword.Key}),
			set(pod+"/volumes/0/secret/secretName", ssl.Keystore.Name),
			set(pod+"/volumes/0/secret/items/0/key", ssl.Keystore.Key),
		)
	}
	if m.jmxExporter() {
		a.patchFile("StatefulSet", name, "jmx-exporter.yaml")
		fetch := pod + "/initContainers/1"
		ops := []operation{
			set(fetch+"/env/0/value", m.cfg.JMXExporterURL),
			set(fetch+"/env/1/value", m.cfg.JMXExporterSHA256),
		}
		if m.cfg.InitImage != "" {
			ops = append(ops, set(fetch+"/image", m.cfg.InitImage))
		}
		a.patch("StatefulSet", name, ops...)
	}
	if m.sqlExporter() {
		a.patchFile("StatefulSet", name, "sql-exporter.yaml")
		a.patch("StatefulSet", name,
			set(pod+"/containers/1/image", m.cfg.SQLExporterImage),
			set(pod+"/containers/1/command/2", fmt.Sprintf("-web.listen-address=:%d", m.def.Spec.Ports.Exporter)),
			set(pod+"/containers/1/ports/0/containerPort", m.def.Spec.Ports.Exporter),
			set(pod+"/volumes/0/configMap/name", names.SQLExporterConfigMap(m.def.Name)))
	}
	if m.def.Spec.Operations.Sysctl == definition.SysctlHost {
		a.patch("StatefulSet", name, remove(sysctl)) // last: the others count on its place
	}
	return nil
}

func (m *model) groupOperations(g group) ([]operation, error) {
	spec := m.def.Spec
	image := spec.Cluster.ImageRegistry + ":" + spec.Cluster.Version
	labels := m.podLabels(g)
	objectLabels := with(maps.Clone(labels), names.ClusterLabel, m.def.Name)
	podAnnotations := maps.Clone(g.Annotations)
	if m.jmxExporter() {
		if podAnnotations == nil {
			podAnnotations = map[string]string{}
		}
		podAnnotations["prometheus.io/port"] = strconv.Itoa(spec.Ports.Prometheus)
		podAnnotations["prometheus.io/scrape"] = "true"
	}
	memory, err := quantity(g.Resources.LimitMemory)
	if err != nil {
		return nil, fmt.Errorf("limits.memory: %w", err)
	}
	limits, err := resources(g.Resources.LimitCPU, g.Resources.LimitMemory)
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	requests, err := resources(g.Resources.RequestCPU, g.Resources.RequestMemory)
	if err != nil {
		return nil, fmt.Errorf("requests: %w", err)
	}
	heap := int64(float64(memory.Value()) * g.Resources.HeapRatio)
	ops := []operation{
		set("/metadata/labels", objectLabels),
		set("/spec/replicas", g.Replicas),
		set("/spec/selector/matchLabels", with(m.selector(), names.NodeNameLabel, g.Name)),
		set("/spec/template/metadata/labels", labels),
		set(pod+"/initContainers/1/image", image),
		set(crate+"/image", image),
		set(crate+"/command", m.command(g)),
		set(crate+"/env/0/value", strconv.FormatInt(heap, 10)),
		set(crate+"/env/1/value", m.javaOptions(g)),
		set(crate+"/ports/0/containerPort", spec.Ports.HTTP),
		set(crate+"/ports/1/containerPort", spec.Ports.JMX),
		set(crate+"/ports/2/containerPort", spec.Ports.Postgres),
		set(crate+"/ports/3/containerPort", spec.Ports.Prometheus),
		set(crate+"/ports/4/containerPort", spec.Ports.Transport),
		set(crate+"/resources", map[string]any{"limits": limits, "requests": requests}),
	}
	if annotations := g.annotations(); len(annotations) > 0 {
		ops = append(ops, set("/metadata/annotations", annotations))
	}
	if len(podAnnotations) > 0 {
		ops = append(ops, set("/spec/template/metadata/annotations", podAnnotations))
	}
	if m.cfg.InitImage != "" {
		ops = append(ops, set(sysctl+"/image", m.cfg.InitImage))
	}
	if g.names != nil {
		return m.adopted(ops, g)
	}
	return m.volumes(ops, g)
}

// volumes adds a claim and a mount for each disk, before the debug claim, as
// crate-operator orders them: the claims can never be changed again.
func (m *model) volumes(ops []operation, g group) ([]operation, error) {
	spec, err := g.claimSpec()
	if err != nil {
		return nil, err
	}
	for i := range g.Resources.Disk.Count {
		name := "data" + strconv.Itoa(i)
		ops = append(ops,
			set(fmt.Sprintf("/spec/volumeClaimTemplates/%d", i), map[string]any{"metadata": map[string]any{"name": name}, "spec": spec}),
			set(crate+"/volumeMounts/-", map[string]any{"name": name, "mountPath": "/data/" + name}),
		)
	}
	debug := fmt.Sprintf("/spec/volumeClaimTemplates/%d/spec", g.Resources.Disk.Count)
	if m.pins.DebugSize != "" {
		size, err := quantity(m.pins.DebugSize)
		if err != nil {
			return nil, fmt.Errorf("the size %q of the claim debug: %w", m.pins.DebugSize, err)
		}
		ops = append(ops, set(debug+"/resources/requests/storage", size.String()))
	}
	if class := m.debugClass(g); class != "" {
		ops = append(ops, set(debug+"/storageClassName", class))
	}
	return ops, nil
}

// claimSpec is that of each data disk.
func (g group) claimSpec() (map[string]any, error) {
	size, err := quantity(g.Resources.Disk.Size)
	if err != nil {
		return nil, fmt.Errorf("disk.size: %w", err)
	}
	spec := map[string]any{
		"accessModes":      []string{"ReadWriteOnce"},
		"resources":        map[string]any{"requests": map[string]any{"storage": size.String()}},
		"storageClassName": g.Resources.Disk.StorageClass,
	}
	if class := g.Resources.Disk.VolumeAttributesClass; class != "" {
		spec["volumeAttributesClassName"] = class
	}
	return spec, nil
}

// debugClass is the storage class of a group's claim debug; empty: what the base
// says.
func (m *model) debugClass(g group) string {
	if m.pins.DebugClass == "" && m.pins.Base != base.V1 {
		return g.Resources.Disk.StorageClass
	}
	return m.pins.DebugClass
}

// resources leaves out what is zero or empty.
func resources(cpu float64, memory string) (map[string]string, error) {
	r := map[string]string{}
	if cpu > 0 {
		c, err := cores(cpu)
		if err != nil {
			return nil, fmt.Errorf("cpu: %w", err)
		}
		r["cpu"] = c
	}
	if memory != "" {
		q, err := quantity(memory)
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		r["memory"] = q.String()
	}
	return r, nil
}
