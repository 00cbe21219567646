package derive

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

func typed(o *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)
}

// readSSL reads the keystore off the container that uses it.
func (d *draft) readSSL() {
	first := d.groups[0]
	ref := func(name string) (r definition.SecretKeyRef) {
		for _, e := range first.crate().Env {
			if e.Name == name && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				r = definition.SecretKeyRef{Name: e.ValueFrom.SecretKeyRef.Name, Key: e.ValueFrom.SecretKeyRef.Key}
			}
		}
		return r
	}
	ssl := definition.SSL{KeystorePassword: ref("KEYSTORE_PASSWORD"), KeystoreKeyPassword: ref("KEYSTORE_KEY_PASSWORD")}
	for _, v := range first.set.Spec.Template.Spec.Volumes {
		if v.Name == "keystore" && v.Secret != nil && len(v.Secret.Items) == 1 {
			ssl.Keystore = definition.SecretKeyRef{Name: v.Secret.SecretName, Key: v.Secret.Items[0].Key}
		}
	}
	if ssl.Keystore.Name != "" && ssl.KeystorePassword.Name != "" && ssl.KeystoreKeyPassword.Name != "" {
		d.ssl = &ssl
	}
}

const dnsAnnotation = "external-dns.alpha.kubernetes.io/hostname"

// readService reads what a definition says of the service for clients. What the cloud adds is taken
// out later, when it is known what rendering adds.
func (d *draft) readService() {
	o := d.live(kindService, names.Service(d.in.Cluster))
	if o == nil {
		d.note("not-live", false, "there is no Service %s: it will be made", names.Service(d.in.Cluster))
		return
	}
	d.service.cidrs, _, _ = unstructured.NestedStringSlice(o.Object, "spec", "loadBalancerSourceRanges")
	d.service.annotations = map[string]string{}
	for key, value := range o.GetAnnotations() {
		switch {
		case key == dnsAnnotation:
			d.service.dns = value
		case !foreignAnnotation(key) || strings.HasPrefix(key, prometheusPrefix):
			d.service.annotations[key] = value
		}
	}
}

var defaultPorts = []port{{"http", 4200}, {"postgres", 5432}, {"transport", 4300}, {"jmx", 6666}, {"prometheus", 7071}, {"exporter", 9399}}

func (d *draft) readPorts() {
	live := map[string]int32{}
	for _, c := range d.groups[0].set.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			switch c.Name {
			case sqlExporter:
				live["exporter"] = p.ContainerPort
			case "crate":
				live[p.Name] = p.ContainerPort
			}
		}
	}
	for _, p := range defaultPorts {
		if value := live[p.name]; value != 0 && value != p.value {
			d.ports = append(d.ports, port{p.name, value})
		}
	}
}

// readObject takes out of the CrateDB object what nothing that runs shows, and says where the object
// asks for something else than what runs.
func (d *draft) readObject() {
	if d.object == nil {
		d.note("users-unknown", true, "there is no CrateDB object, and nothing else says which users the cluster has: write spec.users, or leave it out, and stevedore sets no password but that of %s", names.SystemUser)
		return
	}
	spec := mapAt(d.object.Object, "spec")
	for _, one := range mapsAt(spec, "users") {
		name, _ := one["name"].(string)
		if name == "crate" || name == names.SystemUser {
			d.note("left-out", true, "the user %s of spec.users is left out: that name is taken", name)
			continue
		}
		if ref := refOf(one, "password"); ref != nil {
			d.users = append(d.users, definition.User{Name: name, Password: *ref})
		}
	}
	d.license = refOf(mapAt(spec, "cluster"), "license")
	d.backups = mapAt(spec, "backups")
	if len(d.backups) > 0 {
		d.note("snapshots", false, "spec.backups makes stevedore the scheduler of snapshots, in a folder of their own below basePath: the adoption suspends crate-operator's CronJob. Its snapshots stay where they are, and no restore of stevedore's reads them")
	}
	d.leftOut(spec)
	d.unfinished(spec)
}

func refOf(o map[string]any, field string) *definition.SecretKeyRef {
	ref := mapAt(o, field, "secretKeyRef")
	name, _ := ref["name"].(string)
	key, _ := ref["key"].(string)
	if name == "" || key == "" {
		return nil
	}
	return &definition.SecretKeyRef{Name: name, Key: key}
}

// leftOut says which fields of the CrateDB object are of no use here.
func (d *draft) leftOut(spec map[string]any) {
	cluster := mapAt(spec, "cluster")
	if snapshot := mapAt(cluster, "restoreSnapshot"); len(snapshot) > 0 {
		d.note("left-out", false, "spec.cluster.restoreSnapshot is not taken: it would restore snapshot %v into the cluster that runs", snapshot["snapshot"])
	}
	if len(mapAt(spec, "grandCentral")) > 0 {
		d.note("left-out", true, "spec.grandCentral is not supported: its Deployment, Service and Ingress belong to the CrateDB object, and who looks after them is to be decided before that goes")
	}
	if exposure, _ := cluster["exposure"].(string); exposure != "" && exposure != "loadbalancer" {
		d.note("left-out", true, "spec.cluster.exposure: %s is not supported: the Service is written as it is, and the objects of %s stay with the CrateDB object", exposure, exposure)
	}
}

// readSuspension finds the sizes that a suspended cluster had.
func (d *draft) readSuspension() {
	d.suspended = !slices.ContainsFunc(d.groups, func(g *group) bool { return !g.master && g.replicas > 0 })
	if !d.suspended {
		return
	}
	var groups []*group
	for _, g := range d.groups {
		if g.replicas == 0 {
			groups = append(groups, g)
		}
	}
	data := len(d.groups)
	if d.groups[0].master {
		data--
	}
	for _, g := range groups {
		asked, _ := d.ofGroup(g, "replicas")
		n, _ := strconv.Atoi(plainNumber(asked))
		founders := strings.FieldsFunc(argument(g.crate().Command, "cluster.initial_master_nodes"), func(r rune) bool { return r == ',' })
		expected, _ := strconv.Atoi(argument(g.crate().Command, "gateway.expected_data_nodes"))
		switch claims := len(d.claimsOf(g, "data0")); {
		case n > 0:
			g.before, g.beforeFrom = int32(n), "the CrateDB object"
		case expected > 0 && data == 1 && !g.master:
			g.before, g.beforeFrom = int32(expected), "gateway.expected_data_nodes of its nodes"
		case len(founders) > 0 && g.eligible:
			g.before, g.beforeFrom = int32(len(founders)), "cluster.initial_master_nodes of its nodes"
		case claims > 0:
			d.note("suspended", true, "group %s had at most %d nodes, which is how many have volumes: write how many it is to have", g.group, claims)
			continue
		default:
			d.note("suspended", true, "nothing says how many nodes group %s had: write it", g.group)
			continue
		}
		d.note("suspended", false, "group %s had %d nodes, says %s: write that to resume", g.group, g.before, g.beforeFrom)
	}
	d.note("suspended", true, "the cluster is suspended: the definition says so, with the consent suspend, and keeps it so. Take the consent out when it is to run again")
}

// SecretRef is a key of a Secret that a definition needs, and what for.
type SecretRef struct{ Name, Key, For string }

// Needed are the Secrets that the definition of a cluster will refer to: what to read before From.
// It is nil where From would fail.
func Needed(in Input) []SecretRef {
	sets, err := findSets(in)
	if err != nil {
		return nil
	}
	d := &draft{in: in, config: render.Config{}, object: in.Object}
	if err := d.read(sets); err != nil {
		return nil
	}
	return d.needs()
}

func (d *draft) needs() []SecretRef {
	needs := []SecretRef{{names.SystemSecret(d.in.Cluster), "password", "the user " + names.SystemUser}}
	add := func(ref *definition.SecretKeyRef, what string) {
		if ref != nil {
			needs = append(needs, SecretRef{ref.Name, ref.Key, what})
		}
	}
	for _, user := range d.users {
		add(&user.Password, "the user "+user.Name)
	}
	if d.ssl != nil {
		add(&d.ssl.Keystore, "TLS")
		add(&d.ssl.KeystorePassword, "TLS")
		add(&d.ssl.KeystoreKeyPassword, "TLS")
	}
	add(d.license, "the licence")
	for _, place := range slices.Sorted(maps.Keys(d.backups)) {
		fields := mapAt(d.backups, place)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			add(refOf(fields, field), "snapshots")
		}
	}
	return needs
}

// checkSecrets says which Secrets are not there.
func (d *draft) checkSecrets() {
	if d.in.Secrets == nil {
		d.note("secret-unread", false, "which Secrets there are could not be read: the definition needs %s", strings.Join(secretNames(d.needs()), ", "))
		return
	}
	for _, need := range d.needs() {
		keys, found := d.in.Secrets[need.Name]
		switch {
		case !found:
			d.note("secret-missing", true, "Secret %s is needed for %s, and is not there", need.Name, need.For)
		case !slices.Contains(keys, need.Key):
			d.note("secret-missing", true, "Secret %s is needed for %s, and has no key %s", need.Name, need.For, need.Key)
		}
	}
}

func secretNames(needs []SecretRef) (all []string) {
	for _, need := range needs {
		if !slices.Contains(all, need.Name) {
			all = append(all, need.Name)
		}
	}
	return all
}

const sqlExporter = "sql-exporter"

// crateEnv are the variables of CrateDB's container that a definition makes.
var crateEnv = []string{"CRATE_HEAP_SIZE", "KEYSTORE_KEY_PASSWORD", "KEYSTORE_PASSWORD"}
