package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/apply"
)

func TestWhoseALiveObjectIs(t *testing.T) {
	for _, c := range []struct {
		name                string
		labels, annotations map[string]string
		another             bool
		owner               string
	}{
		{"ours", map[string]string{"stevedore.dev/cluster": "c"}, nil, false, ""},
		{"ours, the label taken off", nil, map[string]string{"stevedore.dev/applied": "hash"}, false, ""},
		{"another cluster's", map[string]string{"stevedore.dev/cluster": "d"}, map[string]string{"stevedore.dev/applied": "hash"}, true, "the cluster d"},
		{"nobody's", map[string]string{"app": "x"}, nil, true, ""},
		{"Helm's", map[string]string{"app.kubernetes.io/managed-by": "Helm"}, map[string]string{"meta.helm.sh/release-name": "shop"}, true, "the Helm release shop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := statefulSet("s", "crate:1")
			live.SetLabels(c.labels)
			live.SetAnnotations(c.annotations)
			assert.Equal(t, c.another, !apply.Ours(live, "c"))
			found := foreign(live, "c")
			assert.Equal(t, c.owner, found.Owner)
			assert.Equal(t, "StatefulSet s", found.Object)
			assert.True(t, found.Set && found.Data)
			assert.Equal(t, c.labels["stevedore.dev/cluster"] != "", found.OfCluster)
		})
	}
}
