package apply

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// DefaultKinds are those of a cluster's own objects.
var DefaultKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

// served is how the API server serves a kind.
type served struct {
	resource   schema.GroupVersionResource
	kind       schema.GroupVersionKind
	namespaced bool
}

// knownKinds need no discovery, so that neither a start nor an unreachable
// aggregated API stands between us and the kinds that matter.
var knownKinds = func() map[schema.GroupKind]served {
	result := map[schema.GroupKind]served{}
	for group, resources := range map[schema.GroupVersion]map[string]string{
		{Version: "v1"}: {
			"ConfigMap": "configmaps", "Secret": "secrets", "Service": "services",
			"ServiceAccount": "serviceaccounts", "Pod": "pods", "PersistentVolumeClaim": "persistentvolumeclaims",
			"ResourceQuota": "resourcequotas", "LimitRange": "limitranges",
		},
		{Group: "apps", Version: "v1"}:                      {"StatefulSet": "statefulsets", "Deployment": "deployments", "DaemonSet": "daemonsets"},
		{Group: "batch", Version: "v1"}:                     {"Job": "jobs", "CronJob": "cronjobs"},
		{Group: "policy", Version: "v1"}:                    {"PodDisruptionBudget": "poddisruptionbudgets"},
		{Group: "networking.k8s.io", Version: "v1"}:         {"NetworkPolicy": "networkpolicies", "Ingress": "ingresses"},
		{Group: "rbac.authorization.k8s.io", Version: "v1"}: {"Role": "roles", "RoleBinding": "rolebindings"},
		{Group: "autoscaling", Version: "v2"}:               {"HorizontalPodAutoscaler": "horizontalpodautoscalers"},
	} {
		for kind, resource := range resources {
			result[schema.GroupKind{Group: group.Group, Kind: kind}] = served{
				resource: group.WithResource(resource), kind: group.WithKind(kind), namespaced: true,
			}
		}
	}
	return result
}()

// rediscoverAfter bounds how often an unknown kind may cost a discovery.
const rediscoverAfter = 30 * time.Second

// kindResolver finds how a kind is served; what it has found it keeps.
type kindResolver struct {
	client discovery.DiscoveryInterface

	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
	found  map[schema.GroupKind]served
	missed map[schema.GroupVersionKind]time.Time
}

func newKindResolver(client discovery.DiscoveryInterface) *kindResolver {
	return &kindResolver{
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
		found:  map[schema.GroupKind]served{},
		missed: map[schema.GroupVersionKind]time.Time{},
	}
}

// unknownKindError is a kind that the API server does not serve.
type unknownKindError struct {
	kind    schema.GroupKind
	version string
}

func (e *unknownKindError) Error() string {
	version := ""
	if e.version != "" {
		version = " in version " + e.version
	}
	return fmt.Sprintf("the API server does not serve the kind %s%s: correct its apiVersion, install its CustomResourceDefinition, or leave the object out",
		e.kind, version)
}

// resolve finds a kind; version, where it is not empty, is preferred.
func (r *kindResolver) resolve(kind schema.GroupKind, version string) (served, error) {
	if known, ok := knownKinds[kind]; ok && (version == "" || version == known.kind.Version) {
		return known, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.found[kind]; ok && (version == "" || version == known.kind.Version) {
		return known, nil
	}
	if at, ok := r.missed[kind.WithVersion(version)]; ok && time.Since(at) < rediscoverAfter {
		return served{}, &unknownKindError{kind, version}
	}
	var versions []string
	if version != "" {
		versions = []string{version}
	}
	mapping, err := r.mapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		r.missed[kind.WithVersion(version)] = time.Now()
		return served{}, &unknownKindError{kind, version}
	}
	if err != nil {
		return served{}, fmt.Errorf("asking the API server how it serves %s: %w", kind, err)
	}
	delete(r.missed, kind.WithVersion(version))
	result := served{
		resource: mapping.Resource, kind: mapping.GroupVersionKind,
		namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}
	r.found[kind] = result
	return result, nil
}
