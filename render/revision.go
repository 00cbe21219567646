package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// revision is a SHA-256 over the objects and over what the definition wants of
// the cluster that is no object: users, licence, policy and our annotations.
// Values of Secrets are left out, only their keys count: the revision is
// published, and a hash lets a weak password be guessed. (A changed value is
// seen where Secrets are compared.)
func (m *model) revision(objects []*unstructured.Unstructured) (string, error) {
	requests := map[string]string{}
	for key, value := range m.def.Annotations {
		if strings.HasPrefix(key, names.Prefix) {
			requests[key] = value
		}
	}
	hashed := make([]map[string]any, 0, len(objects))
	for _, o := range objects {
		hashed = append(hashed, withoutSecretValues(o))
	}
	// encoding/json sorts the keys of maps, so equal content is equal bytes.
	data, err := json.Marshal(struct {
		Objects        []map[string]any
		Users          []definition.User
		License        *definition.SecretKeyRef
		Operations     definition.Operations
		BackupsLeftOut bool
		// No part of a revision where there are none: an upgrade of stevedore would make another
		// revision of each cluster.
		Backups     *definition.Backups `json:",omitempty"`
		Annotations map[string]string
	}{
		hashed, m.def.Spec.Users, m.def.Spec.Cluster.License, m.def.Spec.Operations,
		m.def.Spec.BackupsLeftOut, m.def.Spec.Backups, requests,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

func withoutSecretValues(o *unstructured.Unstructured) map[string]any {
	if o.GetKind() != "Secret" || o.GetAPIVersion() != "v1" {
		return o.Object
	}
	shallow := maps.Clone(o.Object)
	for _, field := range []string{"data", "stringData"} {
		if values, ok := shallow[field].(map[string]any); ok {
			shallow[field] = slices.Sorted(maps.Keys(values))
		}
	}
	return shallow
}
