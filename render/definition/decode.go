package definition

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/internal/located"
)

// Decode checks a whole definition after kustomize, all rules included, and
// gives the typed one when no problem stops it; there may be warnings beside it. locate says where the value at
// a path (string keys, int indexes) came from; it may be nil or answer false,
// then the nearest parent that it knows is named. An object without a
// namespace is well, Namespace is "" then.
func Decode(object map[string]any, locate func(path []any) (file string, line, column int, ok bool)) (*CrateDB, []Problem) {
	n, err := toNode(object, 0)
	if err != nil {
		return nil, []Problem{{Message: err.Error()}}
	}
	dropBuildAnnotations(n)
	find := func(path []any) (file string, line, column int) {
		for end := len(path); end >= 0 && locate != nil; end-- {
			if file, line, column, ok := locate(path[:end]); ok {
				return file, line, column
			}
		}
		return "", 0, 0
	}
	name, _ := located.String(located.Get(n, "metadata", "name"))
	namespace, _ := located.String(located.Get(n, "metadata", "namespace"))
	var problems []Problem
	add := func(_ *yaml.Node, path []any, message string) {
		file, line, column := find(path)
		problems = append(problems, Problem{File: file, Line: line, Column: column,
			Path: located.Format(path), Message: message, Cluster: namespace + "/" + name})
	}
	if LikenessOf(n) != Ours {
		kindProblems(n, add)
		return nil, problems
	}
	checker := located.Checker{Report: add, Whole: true, Index: index}
	checker.Check(root, n, nil)
	values(n, add)
	rules(n, add)
	warnings(n, func(n *yaml.Node, path []any, message string) {
		add(n, path, message)
		problems[len(problems)-1].Warning = true
	})
	if Stops(problems) {
		return nil, Merge(problems)
	}
	db := typed(n)
	db.File, db.Line, _ = find(nil)
	for i := range db.Spec.Patches {
		p := &db.Spec.Patches[i]
		_, p.Line, p.Column = find([]any{"spec", "patches", i, "patch"})
	}
	db.DataAt.File, db.DataAt.Line, db.DataAt.Column = find([]any{"spec", "nodes", "data"})
	db.MasterAt.File, db.MasterAt.Line, db.MasterAt.Column = find([]any{"spec", "nodes", "master"})
	return db, Merge(problems)
}

// dropBuildAnnotations takes away what kustomize leaves for itself.
func dropBuildAnnotations(n *yaml.Node) {
	annotations := located.Get(n, "metadata", "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	kept := annotations.Content[:0]
	for i := 0; i+1 < len(annotations.Content); i += 2 {
		key := annotations.Content[i].Value
		if strings.HasPrefix(key, "config.kubernetes.io/") || strings.HasPrefix(key, "internal.config.kubernetes.io/") ||
			strings.HasPrefix(key, "kustomize.config.k8s.io/") || strings.HasPrefix(key, "alpha.config.kubernetes.io/") {
			continue
		}
		kept = append(kept, annotations.Content[i], annotations.Content[i+1])
	}
	annotations.Content = kept
}

// toNode makes nodes of decoded values, so that one set of checks serves raw
// text and kustomize's result. Keys are sorted: the API server, too, gave
// crate-operator its maps in that order.
func toNode(v any, depth int) (*yaml.Node, error) {
	if depth > located.MaxDepth {
		return nil, fmt.Errorf("the object is nested deeper than %d levels", located.MaxDepth)
	}
	scalar := func(tag, value string) (*yaml.Node, error) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}, nil
	}
	switch x := v.(type) {
	case nil:
		return scalar("!!null", "null")
	case string:
		return scalar("!!str", x)
	case bool:
		return scalar("!!bool", strconv.FormatBool(x))
	case int:
		return scalar("!!int", strconv.Itoa(x))
	case int32:
		return scalar("!!int", strconv.FormatInt(int64(x), 10))
	case int64:
		return scalar("!!int", strconv.FormatInt(x, 10))
	case uint64:
		return scalar("!!int", strconv.FormatUint(x, 10))
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return scalar("!!int", strconv.FormatFloat(x, 'f', 0, 64))
		}
		return scalar("!!float", strconv.FormatFloat(x, 'g', -1, 64))
	case time.Time:
		// An unquoted time is a text to Kubernetes.
		return scalar("!!str", x.Format(time.RFC3339Nano))
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range x {
			child, err := toNode(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		return n, nil
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		keys := make([]string, 0, len(x))
		for key := range x {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			child, err := toNode(x[key], depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, child)
		}
		return n, nil
	}
	return nil, fmt.Errorf("the object has a value of type %T, which no YAML has", v)
}

// typed reads a node that has been checked.
func typed(n *yaml.Node) *CrateDB {
	db := &CrateDB{
		Namespace:   str(n, "metadata", "namespace"),
		Name:        str(n, "metadata", "name"),
		Labels:      texts(n, "metadata", "labels"),
		Annotations: texts(n, "metadata", "annotations"),
	}
	c := located.Get(n, "spec", "cluster")
	db.Spec.Cluster = Cluster{
		Name:               str(c, "name"),
		ImageRegistry:      str(c, "imageRegistry"),
		Version:            str(c, "version"),
		License:            secret(c, "license"),
		Settings:           settings(c),
		ExternalDNS:        str(c, "externalDNS"),
		ServiceAnnotations: texts(c, "service", "annotations"),
	}
	for _, cidr := range located.Items(located.Get(c, "allowedCIDRs")) {
		db.Spec.Cluster.AllowedCIDRs = append(db.Spec.Cluster.AllowedCIDRs, cidr.Value)
	}
	if ssl := located.Get(c, "ssl"); ssl != nil {
		db.Spec.Cluster.SSL = &SSL{
			Keystore:            *secret(ssl, "keystore"),
			KeystorePassword:    *secret(ssl, "keystorePassword"),
			KeystoreKeyPassword: *secret(ssl, "keystoreKeyPassword"),
		}
	}
	if master := located.Get(n, "spec", "nodes", "master"); master != nil {
		group := nodeGroupOf(master)
		group.Name = names.MasterGroup
		db.Spec.Nodes.Master = &group
	}
	for _, group := range located.Items(located.Get(n, "spec", "nodes", "data")) {
		db.Spec.Nodes.Data = append(db.Spec.Nodes.Data, nodeGroupOf(group))
	}
	for _, u := range located.Items(located.Get(n, "spec", "users")) {
		db.Spec.Users = append(db.Spec.Users, User{Name: str(u, "name"), Password: *secret(u, "password")})
	}
	p := located.Get(n, "spec", "ports")
	db.Spec.Ports = Ports{HTTP: portOf(p, "http"), Postgres: portOf(p, "postgres"), JMX: portOf(p, "jmx"),
		Prometheus: portOf(p, "prometheus"), Exporter: portOf(p, "exporter"), Transport: portOf(p, "transport")}
	db.Spec.Operations = operationsOf(located.Get(n, "spec", "operations"))
	if backups := located.Get(n, "spec", "backups"); db.Spec.Operations.Has(ConsentWithoutBackups) {
		db.Spec.BackupsLeftOut = backups != nil
	} else {
		db.Spec.Backups = backupsOf(backups)
	}
	for _, patch := range located.Items(located.Get(n, "spec", "patches")) {
		db.Spec.Patches = append(db.Spec.Patches, patchOf(patch))
	}
	return db
}

func str(n *yaml.Node, keys ...string) string {
	s, _ := located.String(located.Get(n, keys...))
	return s
}

func float(n *yaml.Node, keys ...string) float64 {
	f, _ := located.Float(located.Get(n, keys...))
	return f
}

func texts(n *yaml.Node, keys ...string) map[string]string {
	pairs := located.Pairs(located.Get(n, keys...))
	if len(pairs) == 0 {
		return nil
	}
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		m[p.Key.Value] = p.Value.Value
	}
	return m
}

func secret(n *yaml.Node, name string) *SecretKeyRef {
	ref := located.Get(n, name, "secretKeyRef")
	if ref == nil {
		return nil
	}
	return &SecretKeyRef{Name: str(ref, "name"), Key: str(ref, "key")}
}

func settings(n *yaml.Node) []Setting {
	var all []Setting
	for _, p := range located.Pairs(located.Get(n, "settings")) {
		all = append(all, Setting{Name: p.Key.Value, Value: p.Value.Value})
	}
	return all
}

func nodeGroupOf(n *yaml.Node) NodeGroup {
	r := located.Get(n, "resources")
	g := NodeGroup{
		Name:        str(n, "name"),
		Replicas:    int(float(n, "replicas")),
		Nodepool:    str(n, "nodepool"),
		Settings:    settings(n),
		Labels:      texts(n, "labels"),
		Annotations: texts(n, "annotations"),
	}
	cpu, _ := located.Float(first(located.Get(r, "limits", "cpu"), located.Get(r, "cpus")))
	memory, _ := located.String(first(located.Get(r, "limits", "memory"), located.Get(r, "memory")))
	g.Resources = Resources{
		LimitCPU: cpu, RequestCPU: cpu, LimitMemory: memory, RequestMemory: memory,
		HeapRatio: float(r, "heapRatio"),
		Disk: Disk{Count: int(float(r, "disk", "count")), Size: str(r, "disk", "size"),
			StorageClass: str(r, "disk", "storageClass"), VolumeAttributesClass: str(r, "disk", "volumeAttributesClass")},
	}
	if request := located.Get(r, "requests", "cpu"); request != nil {
		g.Resources.RequestCPU, _ = located.Float(request)
	}
	if request := located.Get(r, "requests", "memory"); request != nil {
		g.Resources.RequestMemory, _ = located.String(request)
	}
	return g
}

func portOf(n *yaml.Node, name string) int {
	if port := located.Get(n, name); port != nil {
		return int(float(port))
	}
	for _, p := range portOrder {
		if p.name == name {
			return p.value
		}
	}
	return 0
}

func operationsOf(n *yaml.Node) Operations {
	duration := func(n *yaml.Node, name string) time.Duration {
		d, _ := time.ParseDuration(str(n, name)) // checked
		return d
	}
	o := Operations{
		StableFor: duration(n, "stableFor"), MasterStableFor: duration(n, "masterStableFor"),
		BootstrapTimeout: duration(n, "bootstrapTimeout"), ScaleTimeout: duration(n, "scaleTimeout"),
		RestartTimeout: duration(n, "restartTimeout"), BudgetTimeout: duration(n, "budgetTimeout"),
		Unreplicated: str(n, "unreplicated"), SettledYellow: str(n, "settledYellow"), Unhealable: str(n, "unhealable"),
		RestartBy: str(n, "restartBy"), Adoption: str(n, "adoption"), Base: str(n, "base"), Sysctl: str(n, "sysctl"), OfflineResize: str(n, "offlineResize"), NoNodeFits: str(n, "noNodeFits"), Resize: str(n, "resize"),
		DebugVolume: DebugVolume{Size: str(n, "debugVolume", "size"), StorageClass: str(n, "debugVolume", "storageClass")},
	}
	for _, c := range located.Items(located.Get(n, "consent")) {
		o.Consent = append(o.Consent, Consent(c.Value))
	}
	for _, entry := range located.Items(located.Get(n, "adopt")) {
		o.Adopt = append(o.Adopt, namesOf(entry))
	}
	Defaults(&o)
	return o
}

// Defaults fills what a definition leaves open; durations are the daemon's to fill.
func Defaults(o *Operations) {
	for _, d := range []struct {
		field *string
		value string
	}{{&o.Unreplicated, "proceed"}, {&o.SettledYellow, "refuse"}, {&o.Unhealable, "refuse"}, {&o.RestartBy, "pod"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
}

func patchOf(n *yaml.Node) Patch {
	p := Patch{Patch: str(n, "patch"), Path: str(n, "path")}
	if t := located.Get(n, "target"); t != nil {
		p.Target = &Target{Group: str(t, "group"), Version: str(t, "version"), Kind: str(t, "kind"),
			Name: str(t, "name"), Namespace: str(t, "namespace"),
			LabelSelector: str(t, "labelSelector"), AnnotationSelector: str(t, "annotationSelector")}
	}
	for _, option := range located.Pairs(located.Get(n, "options")) {
		if p.Options == nil {
			p.Options = map[string]bool{}
		}
		p.Options[option.Key.Value] = strings.EqualFold(option.Value.Value, "true")
	}
	return p
}
