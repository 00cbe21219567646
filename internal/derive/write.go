package derive

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "gopkg.in/yaml.v3"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

// files are the definition, what travels with it, and the kustomization.
func (d *draft) files() []File {
	files := []File{{d.in.Cluster + ".yaml", d.text()}}
	for _, o := range d.travels {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			continue // what was read as JSON can be written
		}
		files = append(files, File{o.GetName() + ".yaml",
			"# The SQL exporter's collectors, as they run: dashboards ask for these metrics.\n" + string(text)})
	}
	list := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, f := range files {
		list += "- " + f.Name + "\n"
	}
	return append(files, File{"kustomization.yaml", list})
}

// page is YAML that is being written, two spaces a level, lists under their key.
type page struct{ strings.Builder }

func (p *page) line(level int, format string, args ...any) {
	p.WriteString(strings.Repeat("  ", level))
	fmt.Fprintf(&p.Builder, format+"\n", args...)
}

// scalar is a text as YAML takes it back for the same text, in a list or a map of one line too.
func scalar(text string) string {
	out, err := yamlv3.Marshal(text)
	plain := strings.TrimSuffix(string(out), "\n")
	if err != nil || strings.ContainsAny(plain, "\n,[]{}") {
		quoted, _ := json.Marshal(text)
		return string(quoted)
	}
	return plain
}

func (p *page) field(level int, name, value string) {
	if value != "" {
		p.line(level, "%s: %s", name, scalar(value))
	}
}

// strings writes a map, sorted; nothing for an empty one.
func (p *page) texts(level int, name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	p.line(level, "%s:", name)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		p.line(level+1, "%s: %s", scalar(key), scalar(m[key]))
	}
}

func (p *page) settings(level int, list []definition.Setting) {
	if len(list) == 0 {
		return
	}
	p.line(level, "settings:")
	for _, s := range list {
		p.line(level+1, "%s: %s", scalar(s.Name), scalar(s.Value))
	}
}

func (p *page) secret(level int, name string, ref *definition.SecretKeyRef) {
	if ref != nil {
		p.line(level, "%s: {secretKeyRef: {name: %s, key: %s}}", name, scalar(ref.Name), scalar(ref.Key))
	}
}

func (d *draft) text() string {
	p := &page{}
	p.line(0, "# As the cluster ran when stevedore import read it. It is yours from here on.")
	p.line(0, "apiVersion: %s/%s", definition.Group, definition.Version)
	p.line(0, "kind: %s", definition.Kind)
	p.line(0, "metadata:")
	p.field(1, "name", d.in.Cluster)
	p.field(1, "namespace", d.in.Namespace)
	p.texts(1, "labels", d.labels)
	p.line(0, "spec:")
	d.writeCluster(p)
	d.writeNodes(p)
	d.writeUsers(p)
	if len(d.ports) > 0 {
		p.line(1, "ports:")
		for _, port := range d.ports {
			p.line(2, "%s: %d", port.name, port.value)
		}
	}
	d.writeBackups(p)
	d.writeOperations(p)
	d.writePatches(p)
	return p.String()
}

func (d *draft) writeCluster(p *page) {
	p.line(1, "cluster:")
	p.field(2, "name", d.clusterName)
	p.field(2, "imageRegistry", d.image)
	p.field(2, "version", d.version)
	p.secret(2, "license", d.license)
	p.settings(2, d.settings)
	if d.ssl != nil {
		p.line(2, "ssl:")
		p.secret(3, "keystore", &d.ssl.Keystore)
		p.secret(3, "keystorePassword", &d.ssl.KeystorePassword)
		p.secret(3, "keystoreKeyPassword", &d.ssl.KeystoreKeyPassword)
	}
	if len(d.service.cidrs) > 0 {
		p.line(2, "allowedCIDRs:")
		for _, cidr := range d.service.cidrs {
			p.line(2, "- %s", scalar(cidr))
		}
	}
	p.field(2, "externalDNS", d.service.dns)
	if len(d.service.annotations) > 0 {
		p.line(2, "service:")
		p.texts(3, "annotations", d.service.annotations)
	}
}

func (d *draft) writeNodes(p *page) {
	p.line(1, "nodes:")
	first := true
	for _, g := range d.groups {
		switch {
		case g.master:
			p.line(2, "master:")
			d.writeGroup(p, 3, g)
			continue
		case first:
			p.line(2, "data:")
			if g.eligible && len(d.groups) > 1 {
				p.line(2, "# The first group elects the master.")
			}
			first = false
		}
		p.line(2, "- name: %s", scalar(g.group))
		d.writeGroup(p, 3, g)
	}
}

func (d *draft) writeGroup(p *page, level int, g *group) {
	comment := ""
	if d.suspended && g.replicas == 0 {
		comment = " # suspended; nothing says how many there were"
		if g.before > 0 {
			comment = fmt.Sprintf(" # suspended; there were %d, says %s", g.before, g.beforeFrom)
		}
	}
	p.line(level, "replicas: %d%s", g.replicas, comment)
	p.field(level, "nodepool", g.nodepool)
	p.texts(level, "labels", g.labels)
	p.texts(level, "annotations", g.annotations)
	p.settings(level, g.settings)
	p.line(level, "resources:")
	p.line(level+1, "limits: {cpu: %s, memory: %s}", g.limits.cpu, scalar(g.limits.memory))
	var requests []string
	if g.requests.cpu != "" && g.requests.cpu != g.limits.cpu {
		requests = append(requests, "cpu: "+g.requests.cpu)
	}
	if g.requests.memory != "" && g.requests.memory != g.limits.memory {
		requests = append(requests, "memory: "+scalar(g.requests.memory))
	}
	if len(requests) > 0 {
		p.line(level+1, "requests: {%s}", strings.Join(requests, ", "))
	}
	disk := fmt.Sprintf("count: %d, size: %s, storageClass: %s", g.disks, scalar(g.disk.size), scalar(g.disk.class))
	if g.disk.attributes != "" {
		disk += ", volumeAttributesClass: " + scalar(g.disk.attributes)
	}
	p.line(level+1, "disk: {%s}", disk)
	p.line(level+1, "heapRatio: %s", g.heapRatio)
}

func (d *draft) writeUsers(p *page) {
	if len(d.users) == 0 {
		return
	}
	p.line(1, "users:")
	for _, user := range d.users {
		p.line(1, "- name: %s", scalar(user.Name))
		p.secret(2, "password", &user.Password)
	}
}

// backupFields are the fields of spec.backups that crate-operator knows, in the manual's order.
var backupFields = map[string][]string{
	"aws":        {"accessKeyId", "secretAccessKey", "bucket", "region", "endpointUrl", "basePath", "cron"},
	"azure_blob": {"accountName", "accountKey", "container", "region", "cron"},
}

func (d *draft) writeBackups(p *page) {
	begun := false
	for _, place := range slices.Sorted(maps.Keys(backupFields)) {
		of := mapAt(d.backups, place)
		if len(of) == 0 {
			continue
		}
		if !begun {
			p.line(1, "backups:")
			begun = true
		}
		p.line(2, "%s:", place)
		for _, field := range backupFields[place] {
			p.secret(3, field, refOf(of, field))
			if text, ok := of[field].(string); ok {
				p.field(3, field, text)
			}
		}
	}
}

func (d *draft) writeOperations(p *page) {
	p.line(1, "operations:")
	if d.suspended {
		p.line(2, "consent: [suspend]")
	}
	p.line(2, "# What crate-operator owns is taken over. Leave it out once that is done.")
	p.line(2, "adoption: always")
	if d.base == base.V1 {
		p.line(2, "# The pods are as crate-operator makes them. With a newer base each node would restart.")
	}
	p.line(2, "base: %s", d.base)
	if d.debug.size != "" {
		p.line(2, "# Claims never change, so this is what they were made with.")
		class := ""
		if d.debug.class != "" {
			class = ", storageClass: " + scalar(d.debug.class)
		}
		p.line(2, "debugVolume: {size: %s%s}", scalar(d.debug.size), class)
	}
	if d.sysctl != "" {
		p.line(2, "sysctl: %s", d.sysctl)
	}
}

func (d *draft) writePatches(p *page) {
	if len(d.patches) == 0 {
		return
	}
	p.line(1, "patches:")
	for _, each := range d.patches {
		p.line(1, "# Keeps %s.", each.subject)
		target := "kind: " + each.kind
		if each.name != "" {
			target += ", name: " + scalar(each.name)
		}
		p.line(1, "- target: {%s}", target)
		p.line(1, "  patch: |")
		for line := range strings.Lines(each.text) {
			p.line(3, "%s", strings.TrimSuffix(line, "\n"))
		}
	}
}
