package definition_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/definition"
)

// valid has each part that a row below changes; line numbers in the rows are
// those of this text.
const valid = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata:
  name: orders
  namespace: prod
  labels: {team: payments}
  annotations: {example.com/owner: storage}
spec:
  cluster:
    imageRegistry: crate
    name: orders
    version: 6.4.3
    allowedCIDRs: [192.0.2.0/24]
    settings: {stats.enabled: true}
  nodes:
    master:
      replicas: 3
      resources:
        limits: {cpu: 1, memory: 1Gi}
        disk: {count: 1, size: 16GiB, storageClass: default}
        heapRatio: 0.5
    data:
    - name: hot
      replicas: 3
      resources:
        limits: {cpu: 4, memory: 4Gi}
        disk: {count: 1, size: 128GiB, storageClass: default}
        heapRatio: 0.25
    - name: cold
      replicas: 2
      resources:
        cpus: 0.5
        memory: 4GiB
        disk: {count: 1, size: 128GiB, storageClass: default}
        heapRatio: 0.25
  users:
  - name: app
    password: {secretKeyRef: {key: password, name: orders-app}}
  ports: {http: 4200}
  operations: {consent: [leave-zone]}
`

func TestEveryRefusal(t *testing.T) {
	const name = "name: orders\n  namespace"
	long := strings.Repeat("a", 64)
	for title, c := range map[string]struct {
		old, new string
		want     []string
		rawOnly  bool // what kustomize's result cannot have any more
	}{
		"nothing changed is well": {},

		// Fields.
		"unknown field, a slip of the fingers": {"replicas: 3\n      resources:\n        limits: {cpu: 4", "repilcas: 3\n      resources:\n        limits: {cpu: 4",
			[]string{"24:7: spec.nodes.data[0].repilcas: unknown field: did you mean replicas?",
				"23:7: spec.nodes.data[0].replicas: is missing: write a whole number from 0 to 1000"}, false},
		"unknown field, other case": {"heapRatio: 0.5", "heapratio: 0.5",
			[]string{"21:9: spec.nodes.master.resources.heapratio: unknown field: did you mean heapRatio?",
				"19:9: spec.nodes.master.resources.heapRatio: is missing: write a number"}, false},
		"unknown field that exists elsewhere": {"  ports:", "  version: 6.4.3\n  ports:",
			[]string{"39:3: spec.version: unknown field: it belongs under spec.cluster"}, false},
		"unknown field that exists nearby": {"cpus: 0.5", "cpus: 0.5\n        storageClass: fast",
			[]string{"33:9: spec.nodes.data[1].resources.storageClass: unknown field: it belongs under spec.nodes.data[].resources.disk"}, false},
		"unknown field that exists in two places": {"cpus: 0.5", "cpus: 0.5\n        cpu: 1",
			[]string{"33:9: spec.nodes.data[1].resources.cpu: unknown field: it belongs under spec.nodes.data[].resources.limits or spec.nodes.data[].resources.requests"}, false},
		"unknown field like no other": {"{secretKeyRef:", "{zzz: 1, secretKeyRef:",
			[]string{"38:16: spec.users[0].password.zzz: unknown field: known are secretKeyRef"}, false},
		"status": {"spec:", "status: {}\nspec:",
			[]string{"8:1: status: unknown field: known are apiVersion, kind, metadata, spec"}, false},
		"a key twice": {"    version: 6.4.3", "    version: 6.4.3\n    version: 6.4.2",
			[]string{"13:5: spec.cluster.version: stands twice, first one line above: keep one"}, true},
		"a key twice on one line": {"{http: 4200}", "{http: 4200, http: 4201}",
			[]string{"39:23: spec.ports.http: stands twice, first on the same line: keep one"}, true},
		"a key twice in a free mapping": {"{team: payments}", "{team: payments, team: b}",
			[]string{"6:28: metadata.labels.team: stands twice, first on the same line: keep one"}, true},
		"a merged key is written out": {"    - name: cold\n      replicas: 2\n", "    - name: cold\n      <<: {replicas: -2}\n",
			[]string{"30:22: spec.nodes.data[1].replicas: is out of range: write a whole number from 0 to 1000"}, false},
		"everything missing": {valid[strings.Index(valid, "  cluster:"):], "  cluster: {}\n  nodes: {}\n",
			[]string{
				"9:12: spec.cluster.imageRegistry: is missing: write a text",
				"9:12: spec.cluster.name: is missing: write a text",
				"9:12: spec.cluster.version: is missing: write a text",
				"10:10: spec.nodes.data: is missing: write a list"}, false},
		"no spec": {valid[strings.Index(valid, "spec:"):], "",
			[]string{"1:1: spec: is missing: write a mapping with cluster, nodes"}, false},
		"the wrong apiVersion": {"cloud.crate.io/v1", "cloud.crate.io/v1beta1",
			[]string{"1:13: apiVersion: is not that of a definition: write cloud.crate.io/v1"}, true},
		"the wrong kind": {"kind: CrateDB", "kind: CrateDb",
			[]string{"2:7: kind: is not that of a definition: write CrateDB"}, true},
		"no apiVersion": {"apiVersion: cloud.crate.io/v1\n", "",
			[]string{"1:1: apiVersion: is missing: write cloud.crate.io/v1"}, true},
		"what the API server writes": {"  namespace: prod", "  namespace: prod\n  creationTimestamp: null\n  uid: a\n  generateName: x\n  finalizers: []",
			[]string{
				"7:8: metadata.uid: is written by the API server: leave it out",
				"8:17: metadata.generateName: a cluster has a fixed name: write metadata.name",
				"9:15: metadata.finalizers: keeps nothing here, the definition is not stored in Kubernetes: leave it out"}, false},

		// Types.
		"a number in quotes": {"replicas: 2", `replicas: "2"`,
			[]string{"30:17: spec.nodes.data[1].replicas: is a text: write 2 without quotes"}, false},
		"a text without quotes": {"version: 6.4.3", "version: 6.4",
			[]string{`12:14: spec.cluster.version: is no release of CrateDB: write one such as 6.4.3`}, false},
		"a label that is true": {"{team: payments}", "{team: true}",
			[]string{`6:18: metadata.labels.team: is true or false: write "true" with quotes`}, false},
		"a fraction of a node": {"replicas: 2", "replicas: 2.5",
			[]string{"30:17: spec.nodes.data[1].replicas: is no whole number: write a whole number from 0 to 1000"}, false},
		"a whole number with a point is well": {"replicas: 2", "replicas: 2.0", nil, false},
		"a word for a number": {"replicas: 2", "replicas: two",
			[]string{"30:17: spec.nodes.data[1].replicas: is a text: write a whole number from 0 to 1000"}, false},
		"infinity": {"heapRatio: 0.5", "heapRatio: .inf",
			[]string{"21:20: spec.nodes.master.resources.heapRatio: is a number: write a number"}, true},
		"a mapping for a list": {"allowedCIDRs: [192.0.2.0/24]", "allowedCIDRs: {a: b}",
			[]string{"13:19: spec.cluster.allowedCIDRs: is a mapping: write a list"}, false},
		"a list for a mapping": {"{http: 4200}", "[4200]",
			[]string{"39:10: spec.ports: is a list: write a mapping"}, false},
		"a text for a secret, not quoted": {"{secretKeyRef: {key: password, name: orders-app}}", "geheim",
			[]string{"38:15: spec.users[0].password: is a text: write a mapping with secretKeyRef"}, false},
		"nothing": {"{http: 4200}", "",
			[]string{"39:9: spec.ports: has no value: write a mapping, or leave the field out"}, false},
		"a directive in a whole document": {"  ports:", "  $patch: delete\n  ports:",
			[]string{"39:3: spec.$patch: a directive stands only in a strategic-merge patch"}, false},

		// Names.
		"a cluster's name": {name, "name: my_orders\n  namespace",
			[]string{"4:9: metadata.name: cannot be part of the names of Kubernetes objects: use lower case letters, digits and -, beginning and ending with a letter or digit"}, false},
		"a cluster's name beyond a label": {name, "name: " + long + "\n  namespace",
			[]string{"4:9: metadata.name: is too long: the StatefulSet crate-data-cold-" + long + " has 80 characters, its pods' labels leave room for 52: shorten it by 28"}, false},
		"a service's name too long": {name, "name: " + long[:48] + "\n  namespace",
			[]string{"4:9: metadata.name: is too long: the StatefulSet crate-data-cold-" + long[:48] + " has 64 characters, its pods' labels leave room for 52: shorten it by 12"}, false},
		"StatefulSets' names too long": {name, "name: " + long[:40] + "\n  namespace",
			[]string{
				"4:9: metadata.name: is too long: the StatefulSet crate-data-cold-" + long[:40] + " has 56 characters, its pods' labels leave room for 52: shorten it by 4"}, false},
		"a group's StatefulSet's name too long": {"name: cold", "name: " + long[:35],
			[]string{"29:13: spec.nodes.data[1].name: is too long: the StatefulSet crate-data-" + long[:35] + "-orders has 53 characters, its pods' labels leave room for 52: shorten the name of the group, or of the cluster, by 1"}, false},
		"a group's name beyond a label": {"name: cold", "name: " + long,
			[]string{"29:13: spec.nodes.data[1].name: is too long: the StatefulSet crate-data-" + long + "-orders has 82 characters, its pods' labels leave room for 52: shorten the name of the group, or of the cluster, by 30"}, false},
		"a StatefulSet's name of 52 is well": {"name: cold", "name: " + long[:34], nil, false},
		"a namespace": {"namespace: prod", "namespace: Prod",
			[]string{"5:14: metadata.namespace: is no name of a namespace: use lower case letters, digits and -, beginning and ending with a letter or digit, at most 63 characters"}, false},
		"no namespace is well": {"  namespace: prod\n", "", nil, false},
		"a group's name that crate-operator takes": {"name: cold", "name: Cold_1.a",
			[]string{"29:13: spec.nodes.data[1].name: cannot be part of a StatefulSet's name: use lower case letters, digits and -, beginning and ending with a letter or digit"}, false},
		"an empty group's name": {"name: cold", `name: ""`,
			[]string{"29:13: spec.nodes.data[1].name: cannot be part of a StatefulSet's name: use lower case letters, digits and -, beginning and ending with a letter or digit"}, false},
		"a group named master": {"name: cold", "name: master",
			[]string{"29:13: spec.nodes.data[1].name: master is the name of the dedicated masters: take another"}, false},
		"two groups of one name": {"name: cold", "name: hot",
			[]string{`29:13: spec.nodes.data[1].name: "hot" stands twice, first in spec.nodes.data[0]`}, false},
		"CrateDB's cluster name": {"    name: orders", "    name: Orders",
			[]string{"11:11: spec.cluster.name: use lower case letters, digits and -, beginning and ending with a letter or digit, at most 63 characters"}, false},

		// Users.
		"the user crate": {"name: app", "name: crate",
			[]string{"37:11: spec.users[0].name: crate is CrateDB's superuser: creating a user of that name takes its place and its privileges away; take another name"}, false},
		"the user system": {"name: app", "name: system",
			[]string{"37:11: spec.users[0].name: system is the user that stevedore works as: take another name"}, false},
		"a user without a name": {"name: app", `name: ""`,
			[]string{"37:11: spec.users[0].name: is empty: write the user's name"}, false},
		"a user's name with a line break": {"name: app", `name: "a\nb"`,
			[]string{"37:11: spec.users[0].name: has a control character"}, false},
		"two users of one name": {"  ports:", "  - {name: app, password: {secretKeyRef: {key: a, name: b}}}\n  ports:",
			[]string{`39:12: spec.users[1].name: "app" stands twice, first in spec.users[0]`}, false},
		"a Secret's name and key": {"{key: password, name: orders-app}", "{key: pass word, name: Orders}",
			[]string{
				"38:36: spec.users[0].password.secretKeyRef.key: is no key of a Secret: use letters, digits, -, _ and .",
				"38:53: spec.users[0].password.secretKeyRef.name: is no name of a Secret: use lower case letters, digits, - and ."}, false},
		"a Secret without a key": {"{key: password, name: orders-app}", "{name: orders-app}",
			[]string{"38:30: spec.users[0].password.secretKeyRef.key: is missing: write a text"}, false},

		// Image and version.
		"an image with a tag": {"imageRegistry: crate", "imageRegistry: crate:6.4.3",
			[]string{"10:20: spec.cluster.imageRegistry: has a tag or digest: write the image's name only, the version goes to spec.cluster.version"}, false},
		"an image with a numeric tag": {"imageRegistry: crate", "imageRegistry: 'crate:6'",
			[]string{"10:20: spec.cluster.imageRegistry: has a tag or digest: write the image's name only, the version goes to spec.cluster.version"}, false},
		"an image of a registry with a port is well": {"imageRegistry: crate", "imageRegistry: registry.example.com:5000/mirror/crate", nil, false},
		"an image that is none": {"imageRegistry: crate", "imageRegistry: Crate DB",
			[]string{"10:20: spec.cluster.imageRegistry: is no name of an image: write for example crate or registry.example.com/crate"}, false},
		"a nightly": {"version: 6.4.3", "version: nightly-6.5.0-2026-11-01-00-02",
			[]string{"12:14: spec.cluster.version: names no release, so an upgrade could not be told from a downgrade: write one such as 6.4.3"}, false},
		"a version with a v": {"version: 6.4.3", "version: v6.4.3",
			[]string{"12:14: spec.cluster.version: is no release of CrateDB: write one such as 6.4.3"}, false},
		"a version before 4": {"version: 6.4.3", "version: 3.3.5",
			[]string{"12:14: spec.cluster.version: is older than 4.0.0, which is the oldest that can be run"}, false},

		// Networks.
		"a CIDR without its prefix": {"192.0.2.0/24", "192.0.2.7",
			[]string{"13:20: spec.cluster.allowedCIDRs[0]: is a single address: write 192.0.2.7/32"}, false},
		"a CIDR with bits after its prefix": {"192.0.2.0/24", "192.0.2.7/24",
			[]string{"13:20: spec.cluster.allowedCIDRs[0]: has bits after its prefix, which Kubernetes refuses: write 192.0.2.0/24"}, false},
		"a CIDR that is none": {"192.0.2.0/24", "office",
			[]string{"13:20: spec.cluster.allowedCIDRs[0]: is no network: write for example 192.0.2.0/24"}, false},
		"external DNS": {"    settings:", "    externalDNS: Orders!\n    settings:",
			[]string{"14:18: spec.cluster.externalDNS: is no DNS name: write for example orders.example.com."}, false},
		"exposure by traefik": {"    settings:", "    exposure: traefik\n    settings:",
			[]string{"14:15: spec.cluster.exposure: exposure-not-supported: only loadbalancer is supported yet: leave the field out"}, false},
		"exposure by something else": {"    settings:", "    exposure: nginx\n    settings:",
			[]string{"14:15: spec.cluster.exposure: is none of loadbalancer, traefik"}, false},
		"exposure by the load balancer is well": {"    settings:", "    exposure: loadbalancer\n    settings:", nil, false},
		"two ports that are one": {"{http: 4200}", "{http: 5432, jmx: 7000, prometheus: 7000}",
			[]string{
				"39:17: spec.ports.http: 5432 is the port of postgres too: take another",
				"39:46: spec.ports.prometheus: 7000 is the port of jmx too: take another"}, false},
		"ports swapped are well": {"{http: 4200}", "{http: 5432, postgres: 4200}", nil, false},
		"a port out of range": {"{http: 4200}", "{http: 70000}",
			[]string{"39:17: spec.ports.http: is out of range: write a whole number from 1 to 65535"}, false},

		// Counts.
		"even masters": {"master:\n      replicas: 3", "master:\n      replicas: 4",
			[]string{"17:17: spec.nodes.master.replicas: is even, which bears no more losses than one fewer: write 3 or 5"}, false},
		"one master": {"master:\n      replicas: 3", "master:\n      replicas: 1",
			[]string{"17:17: spec.nodes.master.replicas: is out of range: write an odd number, at least 3, or leave spec.nodes.master out: fewer masters cannot lose one"}, false},
		"no master": {"master:\n      replicas: 3", "master:\n      replicas: 0",
			[]string{"17:17: spec.nodes.master.replicas: is out of range: write an odd number, at least 3, or leave spec.nodes.master out: fewer masters cannot lose one"}, false},
		"fewer than no nodes": {"replicas: 2", "replicas: -1",
			[]string{"30:17: spec.nodes.data[1].replicas: is out of range: write a whole number from 0 to 1000"}, false},
		"no groups": {valid[strings.Index(valid, "    data:\n"):strings.Index(valid, "  users:")], "    data: []\n",
			[]string{"22:11: spec.nodes.data: has no entry: write at least 1"}, false},

		// Sizes.
		"memory without a unit": {"memory: 4GiB", "memory: 4",
			[]string{`33:17: spec.nodes.data[1].resources.memory: has no unit: write 4GiB or 4MiB`}, false},
		"memory in quotes without a unit": {"memory: 4GiB", `memory: "4"`,
			[]string{"33:17: spec.nodes.data[1].resources.memory: has no unit: write 4GiB or 4MiB"}, false},
		"memory that is none": {"memory: 4GiB", "memory: 4 gigs",
			[]string{"33:17: spec.nodes.data[1].resources.memory: is no size: write for example 128GiB or 512MiB"}, false},
		"memory too little": {"memory: 4GiB", "memory: 4MiB",
			[]string{"33:17: spec.nodes.data[1].resources.memory: is too little for CrateDB to start: write at least 128MiB"}, false},
		"a disk of nothing": {"size: 16GiB", "size: 0GiB",
			[]string{"20:32: spec.nodes.master.resources.disk.size: is nothing: write for example 128GiB or 512MiB"}, false},
		"a disk beyond everything": {"size: 16GiB", "size: 9000000PiB",
			[]string{"20:32: spec.nodes.master.resources.disk.size: is out of range: write at most 4096PiB"}, false},
		"other spellings of sizes are well": {"size: 16GiB", "size: 1.5T", nil, false},
		"no disk": {"{count: 1, size: 16GiB", "{count: 0, size: 16GiB",
			[]string{"20:23: spec.nodes.master.resources.disk.count: is out of range: write a whole number from 1 to 64"}, false},
		"a VolumeAttributesClass": {"size: 16GiB, storageClass: default", "size: 16GiB, storageClass: default, volumeAttributesClass: Many IOPS",
			[]string{"20:85: spec.nodes.master.resources.disk.volumeAttributesClass: is no name of a VolumeAttributesClass: use lower case letters, digits, - and ."}, false},
		"a storage class": {"size: 16GiB, storageClass: default", "size: 16GiB, storageClass: Fast SSD",
			[]string{"20:53: spec.nodes.master.resources.disk.storageClass: is no name of a storage class: use lower case letters, digits, - and ."}, false},
		"no cpu": {"cpus: 0.5", "cpus: 0",
			[]string{"32:15: spec.nodes.data[1].resources.cpus: is out of range: write more than 0"}, false},
		"thousandths of a core": {"{cpu: 1, memory: 1Gi}", "{cpu: 500m, memory: 1Gi}",
			[]string{"19:23: spec.nodes.master.resources.limits.cpu: is a text: write 0.5"}, false},
		"finer than thousandths": {"cpus: 0.5", "cpus: 0.00001",
			[]string{"32:15: spec.nodes.data[1].resources.cpus: is finer than Kubernetes counts: write at most three digits after the point"}, false},
		"far too many cores": {"cpus: 0.5", "cpus: 5000000",
			[]string{"32:15: spec.nodes.data[1].resources.cpus: is out of range: write the number of cores"}, false},
		"no limits at all": {"        cpus: 0.5\n        memory: 4GiB\n", "",
			[]string{
				"32:9: spec.nodes.data[1].resources.limits.cpu: is missing: write a number of cores",
				"32:9: spec.nodes.data[1].resources.limits.memory: is missing: write a size such as 4Gi"}, false},
		"requests over limits": {"limits: {cpu: 1, memory: 1Gi}", "limits: {cpu: 1, memory: 1Gi}\n        requests: {cpu: 2, memory: 2Gi}",
			[]string{
				"20:25: spec.nodes.master.resources.requests.cpu: is more than the limit: Kubernetes refuses the pod",
				"20:36: spec.nodes.master.resources.requests.memory: is more than the limit: Kubernetes refuses the pod"}, false},
		"old and new spelling differ": {"limits: {cpu: 1, memory: 1Gi}", "limits: {cpu: 1, memory: 1Gi}\n        cpus: 2\n        memory: 2Gi",
			[]string{
				"20:15: spec.nodes.master.resources.cpus: is the old spelling of limits.cpu and differs from it: leave it out",
				"21:17: spec.nodes.master.resources.memory: is the old spelling of limits.memory and differs from it: leave it out"}, false},
		"old and new spelling agree": {"limits: {cpu: 1, memory: 1Gi}", "limits: {cpu: 1, memory: 1Gi}\n        cpus: 1.0\n        memory: 1024Mi", nil, false},
		"all of the memory as heap": {"heapRatio: 0.5", "heapRatio: 1",
			[]string{"21:20: spec.nodes.master.resources.heapRatio: is out of range: write a number between 0 and 1, such as 0.25"}, false},

		// Settings.
		"settings that break identity": {"{stats.enabled: true}", `
      cluster.name: a
      node.name: a
      cluster.initial_master_nodes: a
      node.master: true
      node.data: false
      path.data: /tmp
      path.repo: /backup
      blobs.path: /tmp
      discovery.seed_hosts: a
      auth.host_based.enabled: false
      auth.host_based.config.0.method: trust
      auth.host_based.config.99.method: trust
      http.port: 80`,
			[]string{
				"15:7: spec.cluster.settings[\"cluster.name\"]: cannot be set here: comes from spec.cluster.name",
				"16:7: spec.cluster.settings[\"node.name\"]: cannot be set here: comes from the pod's name: two nodes of one name cannot join",
				"17:7: spec.cluster.settings[\"cluster.initial_master_nodes\"]: cannot be set here: is written once, when the cluster is created: later it would found a second cluster",
				"18:7: spec.cluster.settings[\"node.master\"]: cannot be set here: comes from spec.nodes.master and the order of the groups",
				"19:7: spec.cluster.settings[\"node.data\"]: cannot be set here: comes from the group",
				"20:7: spec.cluster.settings[\"path.data\"]: cannot be set here: would put data outside of the volumes, where it is lost with the pod",
				"22:7: spec.cluster.settings[\"blobs.path\"]: cannot be set here: would put data outside of the volumes, where it is lost with the pod",
				"23:7: spec.cluster.settings[\"discovery.seed_hosts\"]: cannot be set here: nodes find each other through the discovery service: another way would join another cluster or none",
				"24:7: spec.cluster.settings[\"auth.host_based.enabled\"]: cannot be set here: is always on, without it everyone is the superuser: leave it out",
				"25:7: spec.cluster.settings[\"auth.host_based.config.0.method\"]: cannot be set here: entry 0 lets the superuser in from its own node, which bootstrap needs: take another number",
				"26:7: spec.cluster.settings[\"auth.host_based.config.99.method\"]: cannot be set here: entry 99 asks everyone for a password: take a smaller number, it wins",
				"27:7: spec.cluster.settings[\"http.port\"]: cannot be set here: write spec.ports.http"}, false},
		"settings as a tree": {"{stats.enabled: true}", "{stats: {enabled: true}}",
			[]string{"14:23: spec.cluster.settings.stats: is a mapping: write the name in full, with dots"}, false},
		"a setting's name and value": {"{stats.enabled: true}", `{"a b": 1, c: "$(id)", d: [1], e: null}`,
			[]string{
				`14:16: spec.cluster.settings["a b"]: is no name of a setting: write it with dots, as in the manual`,
				"14:29: spec.cluster.settings.c: has a character that the shell which starts CrateDB would read (a space, a quote or one of $ ` \\ ; & | < > ( ) { } #): set it with SET GLOBAL PERSISTENT instead",
				"14:41: spec.cluster.settings.d: is a list: write a text, a number, true or false",
				"14:49: spec.cluster.settings.e: has no value: write a text, a number, true or false, or leave the field out"}, false},
		"a setting's value with a control character": {"{stats.enabled: true}", `{a: "\x01"}`,
			[]string{"14:19: spec.cluster.settings.a: has a control character"}, false},

		// Labels and annotations.
		"labels of a group": {"    - name: cold", "    - labels: {app.kubernetes.io/name: a, stevedore.dev/cluster: b, a/b/c: d, tier: 'no way'}\n      annotations: {stevedore.dev/applied: a, '-': b, Mixed.Case/ok: c}\n      nodepool: no way\n      name: cold",
			[]string{
				`29:16: spec.nodes.data[1].labels["app.kubernetes.io/name"]: is set by stevedore: take another key`,
				`29:43: spec.nodes.data[1].labels["stevedore.dev/cluster"]: is set by stevedore: take another key`,
				`29:69: spec.nodes.data[1].labels["a/b/c"]: is no key of a label: write name or prefix/name, with letters, digits, -, _ and ., at most 63 characters after the prefix`,
				`29:85: spec.nodes.data[1].labels.tier: is no value of a label: use letters, digits, -, _ and ., at most 63 characters`,
				`30:21: spec.nodes.data[1].annotations["stevedore.dev/applied"]: is set by stevedore: take another key`,
				`30:47: spec.nodes.data[1].annotations[-]: is no key of an annotation: write name or prefix/name, with letters, digits, -, _ and ., at most 63 characters after the prefix`,
				`31:17: spec.nodes.data[1].nodepool: is no value of a node's label: use letters, digits, -, _ and ., at most 63 characters`}, false},
		"annotations of the definition": {"{example.com/owner: storage}", `{stevedore.dev/pausd: "true", stevedore.dev/paused: "yes", stevedore.dev/restartedAt: "", stevedore.dev/zzzzzzzzzzzzzz: a}`,
			[]string{
				`7:17: metadata.annotations["stevedore.dev/pausd"]: unknown annotation: did you mean stevedore.dev/paused?`,
				`7:68: metadata.annotations["stevedore.dev/paused"]: is neither "true" nor "false"`,
				`7:102: metadata.annotations["stevedore.dev/restartedAt"]: is empty: write the time, such as 2026-01-31T12:00:00Z`,
				`7:106: metadata.annotations["stevedore.dev/zzzzzzzzzzzzzz"]: unknown annotation: known are stevedore.dev/restartedAt, stevedore.dev/paused, stevedore.dev/abort, stevedore.dev/released`}, false},
		"a time without quotes is well": {"{example.com/owner: storage}", "{stevedore.dev/restartedAt: 2026-01-31T12:00:00Z}", nil, false},
		"a thousand million nodes": {"replicas: 2", "replicas: 1000000000",
			[]string{"30:17: spec.nodes.data[1].replicas: is out of range: write a whole number from 0 to 1000"}, false},
		"a thousand million disks": {"disk: {count: 1, size: 128GiB, storageClass: default}\n        heapRatio: 0.25\n    - name: cold", "disk: {count: 1000000000, size: 128GiB, storageClass: default}\n        heapRatio: 0.25\n    - name: cold",
			[]string{"27:23: spec.nodes.data[0].resources.disk.count: is out of range: write a whole number from 1 to 64"}, false},
		"our label with another's name": {"{team: payments}", "{stevedore.dev/cluster: other}",
			[]string{`6:35: metadata.labels["stevedore.dev/cluster"]: is not the cluster's own name: write orders, or leave it out`}, false},
		"a label of ours": {"{team: payments}", "{stevedore.dev/x: other}",
			[]string{`6:12: metadata.labels["stevedore.dev/x"]: is set by stevedore: take another key`}, false},

		// What is not built yet.
		"a restore": {"    settings:", "    restoreSnapshot: {snapshot: a}\n    settings:",
			[]string{"14:22: spec.cluster.restoreSnapshot: restore-snapshot-not-supported: write spec.backups.restore, from which a new cluster is made, and leave this field out"}, false},
		"Grand Central": {"  ports:", "  grandCentral: {}\n  ports:",
			[]string{"39:17: spec.grandCentral: grand-central-not-supported: Grand Central is not supported yet: leave the field out"}, false},
		"backups": {"  ports:", "  backups: {aws: {cron: '0 2 * *'}}\n  ports:",
			[]string{
				"39:18: spec.backups.aws.accessKeyId: is missing: write a mapping with secretKeyRef",
				"39:18: spec.backups.aws.bucket: is missing: write a mapping with secretKeyRef",
				"39:18: spec.backups.aws.region: is missing: write a mapping with secretKeyRef",
				"39:18: spec.backups.aws.secretAccessKey: is missing: write a mapping with secretKeyRef",
				"39:25: spec.backups.aws.cron: is no cron expression: write five fields (minute, hour, day, month, day of the week), such as 0 2 * * 6"}, false},
		"backups without a place": {"  ports:", "  backups: {schedules: [{name: nightly, cron: '0 2 * * *'}]}\n  ports:",
			[]string{"39:12: spec.backups: says no place for snapshots: write one of aws, azure_blob, s3, azure, gcs, fs"}, false},
		"backups to two places": {"  ports:", "  backups: {s3: {bucket: b}, gcs: {bucket: b, privateKey: {secretKeyRef: {name: g, key: k}}, privateKeyId: {secretKeyRef: {name: g, key: k}}, clientId: {secretKeyRef: {name: g, key: k}}, clientEmail: {secretKeyRef: {name: g, key: k}}}}\n  ports:",
			[]string{"39:12: spec.backups: has s3 and gcs: snapshots go to one place: leave one of them"}, false},
		"half of what a store takes": {"  ports:", "  backups: {s3: {bucket: b, accessKey: {secretKeyRef: {name: s, key: k}}}}\n  ports:",
			[]string{"39:17: spec.backups.s3: write accessKey and secretKey, or none of them for the role of the machine"}, false},
		"two ways into one store": {"  ports:", "  backups: {azure: {account: a, container: c}}\n  ports:",
			[]string{"39:20: spec.backups.azure: write either key or sasToken"}, false},
		"a folder that no node may write to": {"  ports:", "  backups: {fs: {location: /backups}}\n  ports:",
			[]string{"39:28: spec.backups.fs.location: is below no path.repo: write path.repo in spec.cluster.settings, which needs a rolling restart, and mount a volume there that all nodes share"}, false},
		"what a cluster cannot begin with": {"  ports:", "  backups:\n    s3: {bucket: b}\n    restore: {from: orders, snapshot: 'A b', tables: [x], users: maybe}\n  ports:",
			[]string{
				"41:21: spec.backups.restore.from: is no folder of a cluster: write NAMESPACE/NAME/CLUSTER-ID, as `stevedore backup list` and the folders in the bucket have it",
				"41:39: spec.backups.restore.snapshot: is no name of a snapshot: leave the field out for the newest one that succeeded",
				"41:55: spec.backups.restore.tables[0]: is no table: write its schema and its name, doc.orders",
				"41:66: spec.backups.restore.users: is a text: write true or false"}, false},
		"schedules": {"  ports:", "  backups:\n    s3: {bucket: b}\n    keepAtLeast: 0\n    maxDelay: 10\n    unreadable: maybe\n    maxSnapshotBytesPerSecond: 40\n    schedules:\n    - {name: Nightly, cron: '61 * * * *', timeZone: Mars/Olympus, keep: 0, keepFor: 3 weeks, tables: [orders, sys.nodes, blob.b]}\n    - {name: now, cron: '0 * * * *'}\n  ports:",
			[]string{
				"41:18: spec.backups.keepAtLeast: is out of range: write a whole number from 1 to 200",
				"42:15: spec.backups.maxDelay: has no unit: write 10s for seconds",
				"43:17: spec.backups.unreadable: is none of refuse, skip",
				"44:32: spec.backups.maxSnapshotBytesPerSecond: is no rate: write a number with b, kb, mb or gb, such as 40mb",
				"46:14: spec.backups.schedules[0].name: is no name of a schedule: write 1 to 20 of a-z, 0-9 and -, beginning with a letter and not ending with -",
				"46:29: spec.backups.schedules[0].cron: is no cron expression: its minute is none of 0 to 59, *, a list, a range or a step",
				"46:53: spec.backups.schedules[0].timeZone: is no time zone of the IANA database: write for example Europe/Vienna or UTC",
				"46:73: spec.backups.schedules[0].keep: is out of range: write a whole number from 1 to 200",
				"46:85: spec.backups.schedules[0].keepFor: is no age: write for example 36h or 30d",
				"46:103: spec.backups.schedules[0].tables[0]: is no table: write its schema and its name, doc.orders",
				"46:111: spec.backups.schedules[0].tables[1]: is a table of CrateDB's own, which no snapshot has",
				"46:122: spec.backups.schedules[0].tables[2]: is a BLOB table, which no snapshot has",
				"47:14: spec.backups.schedules[1].name: is the name of snapshots that a command asks for: write another one"}, false},
		"a drill": {"  ports:", "  backups:\n    s3: {bucket: b}\n    drill: {cron: '0 0 30 2 *', timeZone: Here, maxBytes: 200}\n  ports:",
			[]string{
				"41:19: spec.backups.drill.cron: comes in no year: no month that it names has such a day",
				"41:43: spec.backups.drill.timeZone: is no time zone of the IANA database: write for example Europe/Vienna or UTC",
				"41:59: spec.backups.drill.maxBytes: has no unit: write 200GiB or 200MiB"}, false},
		"a schedule named as the one of cron": {"  ports:", "  backups: {azure_blob: {cron: '0 2 * * *', accountName: {secretKeyRef: {name: a, key: k}}, accountKey: {secretKeyRef: {name: a, key: k}}, container: {secretKeyRef: {name: a, key: k}}, region: {secretKeyRef: {name: a, key: k}}}, schedules: [{name: cron, cron: '0 3 * * *'}]}\n  ports:",
			[]string{"39:242: spec.backups.schedules[0].name: is the name of the schedule that the field cron makes: write another one"}, false},
		"a folder below path.repo is well":     {"    settings: {stats.enabled: true}\n", "    settings: {path.repo: '/mnt,/backups'}\n", nil, false},
		"backups left out by consent are well": {"[leave-zone]}", "[without-backups]}\n  backups: {}", nil, false},
		"names of somebody's": {"{consent: [leave-zone]}", "{adopt: [{group: hot, statefulSet: crate-data-cold-orders, selector: {app.kubernetes.io/name: shop}, claim: disk, mountPath: data, dataPath: /other}, {group: warm, statefulSet: crate, selector: {stevedore.dev/x: y}, claim: cratedb-data}]}",
			[]string{
				"40:123: spec.operations.adopt[0].claim: has not data in its name, by which CrateDB's volumes are known: a StatefulSet with such a claim cannot be taken over",
				"40:140: spec.operations.adopt[0].mountPath: is no folder: write an absolute path such as /data",
				"40:156: spec.operations.adopt[0].dataPath: does not lie on the volume, which is mounted at data",
				"40:173: spec.operations.adopt[1].group: there is no data group warm in spec.nodes.data: name the group whose StatefulSet it is",
				"40:209: spec.operations.adopt[1].selector: has stevedore.dev/x, which stevedore sets itself: such a StatefulSet cannot be taken over",
				"40:50: spec.operations.adopt[0].statefulSet: StatefulSet crate-data-cold-orders is taken by group cold: each group has its own",
				"40:84: spec.operations.adopt[0].selector: has app.kubernetes.io/name: shop, and stevedore's pods have the cluster's name there: call the cluster shop (metadata.name)",
			}, false},
		"reserved operations": {"{consent: [leave-zone]}", "{consent: [delete-volumes], snapshotNewerThan: 1h, recoveries: {}}",
			[]string{
				"40:62: spec.operations.snapshotNewerThan: snapshot-newer-than-not-supported: not supported yet: leave the field out",
				"40:78: spec.operations.recoveries: recoveries-not-supported: not supported yet: leave the field out"}, false},

		// Operations.
		"consents": {"[leave-zone]", "[suspnd, whatever-you-want]",
			[]string{
				"40:26: spec.operations.consent[0]: unknown consent: did you mean suspend?",
				"40:34: spec.operations.consent[1]: unknown consent: known are suspend, delete-cluster, remove-group, two-masters, without-backups, extend-table-filters, leave-zone, take-over, delete-volumes"}, false},
		"durations": {"[leave-zone]}", `[], stableFor: 60, masterStableFor: "60", scaleTimeout: soon, restartTimeout: 0s, bootstrapTimeout: -1h}`,
			[]string{
				`40:40: spec.operations.stableFor: has no unit: write 60s for seconds`,
				"40:61: spec.operations.masterStableFor: has no unit: write 60s for seconds",
				"40:81: spec.operations.scaleTimeout: is no duration: write for example 60s, 30m or 1h30m",
				"40:103: spec.operations.restartTimeout: is out of range: write more than 0s",
				"40:125: spec.operations.bootstrapTimeout: is out of range: write more than 0s"}, false},
		"a duration beyond a year": {"[leave-zone]}", "[], stableFor: 9000h}",
			[]string{"40:40: spec.operations.stableFor: is longer than a year"}, false},
		"policies": {"[leave-zone]}", "[], unreplicated: procede, settledYellow: x, unhealable: y, restartBy: node, base: latest}",
			[]string{
				"40:43: spec.operations.unreplicated: is none of proceed, refuse: did you mean proceed?",
				"40:67: spec.operations.settledYellow: is none of refuse, proceed",
				"40:82: spec.operations.unhealable: is none of refuse, proceed",
				"40:96: spec.operations.restartBy: is none of pod, zone",
				"40:108: spec.operations.base: is no version of the base: write for example v1"}, false},
		"maintenance windows": {"[leave-zone]}", "[], maintenanceWindows: [{cron: 0 2 * * 6, duration: 2h}]}",
			[]string{"40:49: spec.operations.maintenanceWindows: maintenance-windows-not-supported: restarts begin as soon as they are safe, whatever the time: leave the field out, and pause the cluster until its hour"}, false},
		"patches": {"  ports:", "  patches:\n  - {}\n  - {patch: 'a: b', path: a.yaml}\n  - {patch: 'a: [', target: {knd: Service}}\n  - {path: ../x.yaml}\n  - {patch: ' ', options: {allowNameChange: 'yes'}}\n  ports:",
			[]string{
				"40:5: spec.patches[0]: write either patch or path",
				"41:5: spec.patches[1]: write either patch or path",
				"42:13: spec.patches[2].patch: is no YAML: did not find expected node content: look for a bracket, a brace or a comma too many",
				"42:30: spec.patches[2].target.knd: unknown field: did you mean kind?",
				"43:12: spec.patches[3].path: is no file below the definition's folder",
				"44:13: spec.patches[4].patch: is empty: write the patch",
				"44:45: spec.patches[4].options.allowNameChange: is a text: write true or false"}, false},
	} {
		t.Run(title, func(t *testing.T) {
			require.Contains(t, valid, c.old)
			text := strings.Replace(valid, c.old, c.new, 1)
			want := []string{}
			for _, line := range c.want {
				want = append(want, "a.yaml:"+line)
			}
			got := texts(definition.CheckRaw("a.yaml", []byte(text), definition.RawOptions{Whole: true}))
			sort.Strings(want)
			sort.Strings(got)
			require.Equal(t, want, got)
			if c.rawOnly {
				return
			}
			// After kustomize the same is said, wherever it came from.
			var object map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(text), &object))
			db, problems := definition.Decode(object, nil)
			require.Equal(t, len(c.want) > 0, db == nil)
			want = want[:0]
			for _, line := range c.want {
				_, message, _ := strings.Cut(line, ": ")
				want = append(want, message)
			}
			got = texts(problems)
			sort.Strings(want)
			sort.Strings(got)
			require.Equal(t, want, got)
		})
	}
}
