package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhoseALiveObjectIs(t *testing.T) {
	for _, c := range []struct {
		name                string
		labels, annotations map[string]string
		another             bool
	}{
		{"ours", map[string]string{"stevedore.dev/cluster": "c"}, nil, false},
		{"ours, the label taken off", nil, map[string]string{"stevedore.dev/applied": "hash"}, false},
		{"another cluster's", map[string]string{"stevedore.dev/cluster": "d"}, map[string]string{"stevedore.dev/applied": "hash"}, true},
		{"somebody's", map[string]string{"app": "x"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := statefulSet("s", "crate:1")
			live.SetLabels(c.labels)
			live.SetAnnotations(c.annotations)
			assert.Equal(t, c.another, notOurs(live, "c"))
		})
	}
}
