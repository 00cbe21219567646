package derive

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/base"
	"stevedore.dev/stevedore/render/definition"
)

// draft is a definition that is being written.
type draft struct {
	in     Input
	object *unstructured.Unstructured
	config render.Config

	clusterName, image, version string
	labels                      map[string]string
	settings                    []definition.Setting
	ssl                         *definition.SSL
	license                     *definition.SecretKeyRef
	service                     service
	groups                      []*group
	users                       []definition.User
	ports                       []port
	backups                     map[string]any
	base                        string
	debug                       volume
	sysctl                      string
	suspended                   bool
	patches                     []patch
	// travels are the objects that go with the definition.
	travels []*unstructured.Unstructured
	notes   []Note
}

type service struct {
	cidrs       []string
	dns         string
	annotations map[string]string
}

// port is one that is not the default.
type port struct {
	name  string
	value int32
}

type volume struct{ size, class, attributes string }

// group is one of spec.nodes.
type group struct {
	foundSet
	replicas int32
	// before are the replicas that a suspended group had, and where that is known from; 0 for unknown.
	before      int32
	beforeFrom  string
	eligible    bool
	nodepool    string
	labels      map[string]string
	annotations map[string]string
	settings    []definition.Setting
	limits      amounts
	requests    amounts
	heapRatio   string
	disks       int
	disk        volume
	// command are CrateDB's settings, in their order.
	command []definition.Setting
}

type amounts struct{ cpu, memory string }

func (d *draft) note(code string, person bool, format string, args ...any) {
	note := Note{Code: code, Text: fmt.Sprintf(format, args...), Person: person}
	if !slices.Contains(d.notes, note) {
		d.notes = append(d.notes, note)
	}
}

// read takes everything that needs no rendering out of what is live.
func (d *draft) read(sets []foundSet) error {
	for _, s := range sets {
		g, err := d.readGroup(s)
		if err != nil {
			return fmt.Errorf("StatefulSet %s: %w", s.set.Name, err)
		}
		d.groups = append(d.groups, g)
	}
	d.order()
	first := d.groups[0]
	d.clusterName = argument(first.crate().Command, "cluster.name")
	d.readImage()
	d.readLabels()
	d.readSSL()
	d.readService()
	d.readPorts()
	d.readBase()
	d.readObject()
	d.readSuspension()
	d.readCloud()
	return nil
}

func (d *draft) readGroup(s foundSet) (*group, error) {
	crate := s.crate()
	g := &group{foundSet: s, replicas: 1}
	if s.set.Spec.Replicas != nil {
		g.replicas = *s.set.Spec.Replicas
	}
	g.command = settingsIn(append(slices.Clone(crate.Command), crate.Args...))
	g.eligible = s.master || argument(crate.Command, "node.master") == "true"
	g.limits = amountsOf(crate.Resources.Limits)
	g.requests = amountsOf(crate.Resources.Requests)
	if g.limits.cpu == "" || g.limits.memory == "" {
		return nil, fmt.Errorf("container crate has no limits of CPU and memory, which a definition has to have")
	}
	ratio, exact := d.ratioOf(g)
	if g.heapRatio = ratio; !exact {
		d.note("not-live", false, "the heap of %s (CRATE_HEAP_SIZE %q) is no share of its memory limit: heapRatio is %s", s.set.Name, env(crate, "CRATE_HEAP_SIZE"), ratio)
	}
	d.readDisks(g)
	g.nodepool = d.nodepoolOf(g)
	return g, nil
}

// settingsIn are the settings of a command line, the last value of each.
func settingsIn(command []string) (all []definition.Setting) {
	for _, text := range command {
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "-C"), "=")
		if !ok || !strings.HasPrefix(text, "-C") {
			continue
		}
		if at := slices.IndexFunc(all, func(s definition.Setting) bool { return s.Name == name }); at >= 0 {
			all[at].Value = value
			continue
		}
		all = append(all, definition.Setting{Name: name, Value: value})
	}
	return all
}

func amountsOf(list corev1.ResourceList) (a amounts) {
	if cpu, ok := list[corev1.ResourceCPU]; ok {
		a.cpu = strconv.FormatFloat(float64(cpu.MilliValue())/1000, 'f', -1, 64)
	}
	if memory, ok := list[corev1.ResourceMemory]; ok {
		a.memory = memory.String()
	}
	return a
}

func env(c *corev1.Container, name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// ratioOf is the shortest heapRatio that gives exactly the heap that is live. The CrateDB object's
// own is tried first.
func (d *draft) ratioOf(g *group) (ratio string, exact bool) {
	memory := resource.MustParse(g.limits.memory)
	heap, err := strconv.ParseInt(env(g.crate(), "CRATE_HEAP_SIZE"), 10, 64)
	asked, _ := d.ofGroup(g, "resources", "heapRatio")
	gives := func(text string) bool {
		f, err := strconv.ParseFloat(text, 64)
		return err == nil && f > 0 && f <= 1 && int64(float64(memory.Value())*f) == heap
	}
	if text := plainNumber(asked); err == nil && gives(text) {
		return text, true
	} else if err != nil {
		return "0.25", false
	}
	share := float64(heap) / float64(memory.Value())
	for digits := 1; digits <= 17; digits++ {
		for _, up := range []float64{0, 1} {
			step := 1.0
			for range digits {
				step /= 10
			}
			if text := strconv.FormatFloat(share+up*step/2, 'f', digits, 64); gives(text) {
				return strings.TrimRight(text, "0"), true
			}
		}
	}
	return strconv.FormatFloat(share, 'f', 3, 64), false
}

func plainNumber(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// ofGroup is a field of the group in the CrateDB object.
func (d *draft) ofGroup(g *group, path ...string) (any, bool) {
	if d.object == nil {
		return nil, false
	}
	if g.master {
		v, ok, _ := unstructured.NestedFieldNoCopy(d.object.Object, append([]string{"spec", "nodes", "master"}, path...)...)
		return v, ok
	}
	for _, one := range d.objectGroups() {
		if one["name"] == g.group {
			v, ok, _ := unstructured.NestedFieldNoCopy(one, path...)
			return v, ok
		}
	}
	return nil, false
}

// objectGroups are spec.nodes.data of the CrateDB object.
func (d *draft) objectGroups() []map[string]any {
	if d.object == nil {
		return nil
	}
	return mapsAt(mapAt(d.object.Object, "spec", "nodes"), "data")
}

// sharedNodes is the nodepool whose pods may stand on one Kubernetes node.
const sharedNodes = "shared"

func (d *draft) nodepoolOf(g *group) string {
	for _, t := range g.set.Spec.Template.Spec.Tolerations {
		if t.Key == "cratedb" && t.Value == sharedNodes {
			return sharedNodes
		}
	}
	asked, _ := d.ofGroup(g, "nodepool")
	if text, _ := asked.(string); !strings.EqualFold(text, sharedNodes) {
		return text
	}
	return ""
}

// order puts dedicated masters first, then the data group that elects, which a new record takes the
// first one for, then the others as the CrateDB object has them, or by name.
func (d *draft) order() {
	rank := func(g *group) int {
		switch {
		case g.master:
			return -2
		case g.eligible:
			return -1
		}
		return slices.IndexFunc(d.objectGroups(), func(one map[string]any) bool { return one["name"] == g.group }) + 1
	}
	slices.SortFunc(d.groups, func(a, b *group) int {
		if by := rank(a) - rank(b); by != 0 {
			return by
		}
		return strings.Compare(a.group, b.group)
	})
}

// readImage takes the image that most nodes have: one definition has one version.
func (d *draft) readImage() {
	nodes := map[string]int32{}
	for _, g := range d.groups {
		nodes[g.crate().Image] += g.replicas + 1
	}
	images := slices.SortedFunc(maps.Keys(nodes), func(a, b string) int { return int(nodes[b]-nodes[a])*2 + strings.Compare(a, b) })
	d.image, d.version = splitImage(images[0])
	if len(images) > 1 {
		d.note("unfinished", true, "the groups have several images (%s): an upgrade is not finished. The definition has %s", strings.Join(images, ", "), images[0])
	}
}

// readLabels tells the labels of the cluster, which its services have too, from those of a group.
func (d *draft) readLabels() {
	for i, g := range d.groups {
		g.labels = ownLabels(g.set.Spec.Template.Labels)
		if i == 0 {
			d.labels = maps.Clone(g.labels)
		}
		keepCommon(d.labels, g.labels)
		g.annotations = map[string]string{}
		for key, value := range g.set.Spec.Template.Annotations {
			if g.set.Annotations[key] == value && !foreignAnnotation(key) {
				g.annotations[key] = value
			}
		}
	}
	for _, name := range []string{names.Service(d.in.Cluster), names.DiscoveryService(d.in.Cluster)} {
		if o := d.live(kindService, name); o != nil {
			keepCommon(d.labels, o.GetLabels())
		}
	}
	for _, g := range d.groups {
		maps.DeleteFunc(g.labels, func(key, value string) bool { return d.labels[key] == value })
	}
}

func keepCommon(labels, other map[string]string) {
	maps.DeleteFunc(labels, func(key, value string) bool { return other[key] != value })
}

// ownLabels are labels without those that mark what an object is, or who looks after it.
func ownLabels(labels map[string]string) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(key, _ string) bool {
		switch key {
		case names.ManagedByLabel, names.ComponentLabel, names.NameLabel, names.PartOfLabel, names.NodeNameLabel, names.NodeDataLabel:
			return true
		}
		return strings.HasPrefix(key, names.Prefix) || tracking(key)
	})
	if out == nil {
		out = map[string]string{}
	}
	return out
}

// tracking: another tool takes an object with this label or annotation for its own.
func tracking(key string) bool {
	for _, prefix := range []string{"argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "meta.helm.sh/", "kapp.k14s.io/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// foreignAnnotation: what a tool notes for itself, and what an exporter's patch carries.
func foreignAnnotation(key string) bool {
	for _, prefix := range []string{names.OperatorPrefix, names.Prefix, "kubectl.kubernetes.io/", prometheusPrefix} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return tracking(key)
}

// prometheusPrefix begins the annotations by which Prometheus finds an exporter.
const prometheusPrefix = "prometheus.io/"

// readBase takes crate-operator's: anything of another base that its pods do not have would restart
// each node.
func (d *draft) readBase() {
	d.base = base.V1
	first := d.groups[0]
	if token := first.set.Spec.Template.Spec.AutomountServiceAccountToken; token != nil && !*token {
		d.base = base.Newest()
	}
	hasSysctl := slices.ContainsFunc(first.set.Spec.Template.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == initSysctl })
	if !hasSysctl && d.base != base.V1 {
		d.sysctl = definition.SysctlHost
	}
	d.readDebug()
	if first.live.GetLabels()[names.ClusterLabel] != "" {
		d.note("managed", true, "stevedore looks after this cluster already: its definition is in the source that `stevedore status` names")
	}
}

const initSysctl = "init-sysctl"

// readCloud finds out where nodes learn their zone from.
func (d *draft) readCloud() {
	zone := argument(d.groups[0].crate().Command, "node.attr.zone")
	cloud := render.CloudNone
	switch {
	case strings.Contains(zone, "latest/meta-data/placement/availability-zone"):
		cloud = render.CloudAWS
	case strings.Contains(zone, "metadata/instance/compute/zone"):
		cloud = render.CloudAzure
	case strings.Contains(zone, "computeMetadata/v1/instance/zone"):
		cloud = render.CloudGCP
	}
	switch {
	case d.config.CloudProvider == cloud:
	case d.config.CloudProvider == render.CloudNone:
		d.config.CloudProvider = cloud
		d.note("daemon-flag", true, "the nodes learn their zone from %s: the daemon needs --cloud-provider %s, or each node would restart without it", cloud, cloud)
	default:
		d.note("daemon-flag", true, "the nodes do not learn their zone from %s, which --cloud-provider says: see the differences", d.config.CloudProvider)
	}
}

// live is an object of the namespace; nil for none.
func (d *draft) live(kind, name string) *unstructured.Unstructured {
	for _, o := range d.in.Live {
		if o.GetKind() == kind && o.GetName() == name && o.GetNamespace() == d.in.Namespace {
			return o
		}
	}
	return nil
}
