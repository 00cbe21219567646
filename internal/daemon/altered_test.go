package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
)

func TestWhatMattersMostOfWhatAdmissionChangedIsSaidFirst(t *testing.T) {
	object := func(kind string, fields ...string) apply.Altered {
		return apply.Altered{Key: compare.Key{Kind: kind, Namespace: "ns", Name: "x"}, Fields: fields}
	}
	assert.Equal(t, []string{
		"StatefulSet x: metadata.labels.a (added)",
		"Service x: metadata.labels.a (added), spec.type",
		"ConfigMap x: metadata.labels.a (added)",
	}, alteredWords([]apply.Altered{
		object("ConfigMap", "metadata.labels.a (added)"),
		object("Service", "metadata.labels.a (added)", "spec.type"),
		object("StatefulSet", "metadata.labels.a (added)"),
	}))
	assert.Empty(t, alteredWords(nil))
}
