package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// arguments are CrateDB's settings on its command line, in the order in which
// they were first set. A later value takes an earlier one's place, so that the
// definition's own settings win and the order stays crate-operator's.
type arguments struct {
	order  []string
	values map[string]string
}

func (a *arguments) set(name, value string) {
	if a.values == nil {
		a.values = map[string]string{}
	}
	if _, ok := a.values[name]; !ok {
		a.order = append(a.order, name)
	}
	a.values[name] = value
}

func (a *arguments) command() []string {
	command := []string{"/docker-entrypoint.sh", "crate"}
	for _, name := range a.order {
		command = append(command, "-C"+name+"="+a.values[name])
	}
	return command
}

// zoneCommands ask the cloud's metadata service, on the node itself, for the
// zone when a pod starts.
var zoneCommands = map[CloudProvider]string{
	CloudAWS: "$(curl -s -X PUT 'http://169.254.169.254/latest/api/token' -H 'X-aws-ec2-metadata-token-ttl-seconds: 120'" +
		" | xargs -I {} curl -s 'http://169.254.169.254/latest/meta-data/placement/availability-zone' -H 'X-aws-ec2-metadata-token: {}')",
	CloudAzure: "$(curl -s 'http://169.254.169.254/metadata/instance/compute/zone?api-version=2020-06-01&format=text' -H 'Metadata: true')",
	CloudGCP:   "$(curl -s 'http://169.254.169.254/computeMetadata/v1/instance/zone' -H 'Metadata-Flavor: Google' | awk -F'/' '{print $NF}')",
}

// command is what the crate container of a group runs.
func (m *model) command(g group) []string {
	var a arguments
	a.set("stats.enabled", "true")
	a.set("cluster.name", m.def.Spec.Cluster.Name)
	// The pod's hostname ends with its ordinal.
	a.set("node.name", g.prefix()+"-$(hostname | awk -F- '{print $NF}')")
	if founders := m.masterNodes(); len(founders) > 0 { // none while suspended
		a.set("cluster.initial_master_nodes", strings.Join(founders, ","))
	}
	a.set("discovery.seed_providers", "srv")
	a.set("discovery.srv.query", "_cluster._tcp."+names.DiscoveryService(m.def.Name)+"."+m.namespace+".svc.cluster.local")
	recoverAfter, expected, count := "gateway.recover_after_data_nodes", "gateway.expected_data_nodes", m.dataNodes()
	if m.version.before(4, 7, 0) {
		// Before 4.7 only the settings that count every node exist.
		recoverAfter, expected, count = "gateway.recover_after_nodes", "gateway.expected_nodes", m.allNodes()
	}
	a.set(recoverAfter, strconv.Itoa(count/2+1))
	a.set(expected, strconv.Itoa(count))
	a.set("auth.host_based.enabled", "true")
	a.set("auth.host_based.config.0.user", "crate")
	a.set("auth.host_based.config.0.address", "_local_")
	a.set("auth.host_based.config.0.method", "trust")
	a.set("auth.host_based.config.99.method", "password")
	g.folders(&a)
	a.set("processors", strconv.Itoa(int(math.Ceil(g.Resources.LimitCPU))))
	a.set("node.master", strconv.FormatBool(g.masterEligible))
	a.set("node.data", strconv.FormatBool(!g.dedicatedMaster))
	a.set("node.attr.node_name", g.Name)
	if m.def.Spec.Cluster.SSL != nil {
		a.set("ssl.http.enabled", "true")
		a.set("ssl.psql.enabled", "true")
		a.set("ssl.keystore_filepath", "/var/lib/crate/ssl/keystore.jks")
		// CrateDB takes these from its environment. bin/crate has a shell evaluate its
		// arguments, which would put the secret into those of the process: hence the
		// backslash.
		a.set("ssl.keystore_password", `\${KEYSTORE_PASSWORD}`)
		a.set("ssl.keystore_key_password", `\${KEYSTORE_KEY_PASSWORD}`)
		a.set("auth.host_based.config.99.ssl", "on")
	}
	if !m.version.before(5, 7, 2) {
		// The method jwt came with 5.7; an older CrateDB does not start with it.
		a.set("auth.host_based.config.98.method", "jwt")
		a.set("auth.host_based.config.98.protocol", "http")
		a.set("auth.host_based.config.98.ssl", "on")
	}
	if zone, ok := zoneCommands[m.cfg.CloudProvider]; ok {
		a.set("node.attr.zone", zone)
	}
	for _, s := range m.def.Spec.Cluster.Settings {
		a.set(s.Name, s.Value)
	}
	for _, s := range g.Settings {
		a.set(s.Name, s.Value)
	}
	return a.command()
}

// folders are where CrateDB keeps its data. Nodes of a StatefulSet that somebody else has made find
// theirs where it is, and their blobs where the image has them: in another folder there would be none.
func (g group) folders(a *arguments) {
	if g.names != nil {
		a.set("path.data", g.names.DataPath)
		return
	}
	var data, blobs []string
	for i := range g.Resources.Disk.Count {
		dir := fmt.Sprintf("/data/data%d", i)
		data, blobs = append(data, dir), append(blobs, dir+"/blobs")
	}
	a.set("path.data", strings.Join(data, ","))
	a.set("blobs.path", strings.Join(blobs, ","))
}

// javaOptions are CRATE_JAVA_OPTS: JMX for tools inside the pod's own network,
// and a heap dump onto the debug volume instead of into the container. Without that volume there is
// none: it would fill the disk of the Kubernetes node, or that of the data.
func (m *model) javaOptions(g group) string {
	jmx := strconv.Itoa(m.def.Spec.Ports.JMX)
	options := []string{
		"-Dcom.sun.management.jmxremote.port=" + jmx,
		"-Dcom.sun.management.jmxremote.ssl=false",
		"-Dcom.sun.management.jmxremote.authenticate=false",
		"-Dcom.sun.management.jmxremote.local.only=false",
		"-Dcom.sun.management.jmxremote.rmi.port=" + jmx,
		"-Djava.rmi.server.hostname=127.0.0.1",
	}
	if m.jmxExporter() {
		options = append(options, fmt.Sprintf("-javaagent:/var/lib/crate/crate-jmx-exporter.jar=%d", m.def.Spec.Ports.Prometheus))
	}
	if g.names == nil {
		options = append(options, "-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=/resource/heapdump")
	}
	return strings.Join(append(options, "-Dlog4j2.formatMsgNoLookups=true"), " ")
}

// release is CrateDB's version as far as settings depend on it.
type release struct {
	major, minor, patch int
	known               bool
}

// parseRelease reads "5.10.7" and "5.10.7-1"; what has no number ("nightly")
// is newer than all.
func parseRelease(version string) release {
	numbers, _, _ := strings.Cut(version, "-")
	var r release
	parts := strings.Split(numbers, ".")
	for i, into := range []*int{&r.major, &r.minor, &r.patch} {
		if i >= len(parts) {
			break
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return release{}
		}
		*into, r.known = n, true
	}
	return r
}

func (r release) before(major, minor, patch int) bool {
	if !r.known {
		return false
	}
	if r.major != major {
		return r.major < major
	}
	if r.minor != minor {
		return r.minor < minor
	}
	return r.patch < patch
}

// group is one StatefulSet's worth of nodes.
type group struct {
	definition.NodeGroup
	dedicatedMaster bool
	masterEligible  bool
	// names are those of a StatefulSet that somebody else has made; nil for stevedore's.
	names *definition.Names
}

// prefix is what the node names of the group begin with.
func (g group) prefix() string {
	if g.names != nil {
		return g.names.NodePrefix
	}
	return names.NodePrefix(g.Name, g.dedicatedMaster)
}
