package apply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Whoever follows it has the pods of a running cluster replaced by another's template.
func TestNobodyIsToldToLabelAnObjectOfARunningCluster(t *testing.T) {
	operators := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet"}}
	operators.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cloud.crate.io/v1", Kind: "CrateDB", Name: "orders"}})
	labelled := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet"}}
	labelled.SetLabels(map[string]string{names.ManagedByLabel: "crate-operator"})
	for name, owner := range map[string]string{
		"nobody's": "", "crate-operator's": apply.OwnerOf(operators, "orders"), "crate-operator's by its label": apply.OwnerOf(labelled, "orders"), "Helm's": "the Helm release shop",
	} {
		t.Run(name, func(t *testing.T) {
			words := (&apply.NotOursError{Key: compare.Key{Kind: "Service", Namespace: "shop", Name: "crate-orders"}, Owner: owner, Cluster: "orders"}).Error()
			assert.Contains(t, words, owner)
			assert.NotContains(t, words, "label")
			operators := strings.HasPrefix(name, "crate-operator's")
			assert.Equal(t, operators, strings.Contains(owner, "crate-operator"))
			assert.Equal(t, operators, strings.Contains(words, "`stevedore adopt shop/orders`"))
			assert.Equal(t, !operators, strings.Contains(words, "spec.operations.adopt"))
		})
	}
}
