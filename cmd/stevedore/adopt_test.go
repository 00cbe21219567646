package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

func TestAdoptCompletesClustersThatRun(t *testing.T) {
	api := newAPIServer(t, "shop")
	for _, name := range []string{"crate-data-hot-orders", "crate-data-cold-orders"} {
		api.put("/apis/apps/v1/namespaces/shop/statefulsets/"+name, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{names.ComponentLabel: names.Component, names.NameLabel: "orders"},
		}})
	}
	assert.Equal(t, []string{"orders"}, completed(t, "adopt", ""), "no record of it is needed")
	assert.Empty(t, completed(t, "adopt", "orders", ""), "only one")
	assert.Equal(t, []string{"text", "json"}, completed(t, "adopt", "orders", "-o", ""))
}

func TestAdoptTakesNoFlagsThatContradictEachOther(t *testing.T) {
	recordedCluster(t)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"back, and the step after which there is no way back", []string{"orders", "--back", "--finish"}, "either --back or --finish: after the last step there is no way back"},
		{"another format", []string{"orders", "--dry-run", "-o", "toml"}, `--output "toml" is not known: write text or json`},
		{"no cluster", nil, "CLUSTER"},
		{"another namespace in the name", []string{"-n", "shop", "prod/orders"}, "prod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := stevedore(t, append([]string{"adopt"}, c.args...)...)
			assert.Equal(t, exitError, end.code)
			assert.Contains(t, end.err, c.want)
			assert.Empty(t, end.out)
		})
	}
}
