package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// DefaultAllowedKinds may travel with a cluster unless the configuration says
// otherwise. None of them runs anything, gives a right, or reaches beyond its
// namespace; a Namespace or a cluster-wide kind is not among them, a
// PodDisruptionBudget neither: a pod under two of them cannot be evicted.
var DefaultAllowedKinds = []string{
	"ConfigMap",
	"Secret",
	"Service",
	"ServiceAccount",
	"networking.k8s.io/Ingress",
	"networking.k8s.io/NetworkPolicy",
}

// allows reports whether objects of a kind may travel. A name without a group
// means Kubernetes' core group.
func (cfg Config) allows(gk schema.GroupKind) bool {
	return slices.Contains(cfg.kinds(), kindName(gk))
}

func (cfg Config) kinds() []string {
	if cfg.AllowedKinds == nil {
		return DefaultAllowedKinds
	}
	return cfg.AllowedKinds
}

func kindName(gk schema.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Group + "/" + gk.Kind
}

// clusterWide reports whether a kind is known to be in no namespace.
func clusterWide(apiVersion, kind string) bool {
	// It may look into the schema, which must not be exchanged meanwhile.
	_ = registerSchema() // whoever builds with it says the error
	return openapi.IsCertainlyClusterScoped(yaml.TypeMeta{APIVersion: apiVersion, Kind: kind})
}
