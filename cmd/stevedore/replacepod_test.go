package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// pod of a cluster's node.
func (s *apiServer) pod(cluster record.Cluster, name, uid string, ready, going bool) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster.Namespace, Name: name, UID: types.UID(uid),
		Labels: map[string]string{names.ComponentLabel: names.Component, names.NameLabel: cluster.Name},
	}}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if going {
		p.DeletionTimestamp = new(metav1.Now())
	}
	s.put("/api/v1/namespaces/"+cluster.Namespace+"/pods/"+name, p)
}

func TestOneStuckPodOfOneClusterIsNamedToTheDaemon(t *testing.T) {
	orders, metrics := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "prod", Name: "metrics"}
	for _, c := range []struct {
		name  string
		args  []string
		given string
		says  string
	}{
		{"one that is not ready", []string{"prod/orders", "crate-data-hot-orders-1"}, "crate-data-hot-orders-1/uid-1@r1", "the daemon looks at it once more"},
		{"one that is ready", []string{"prod/orders", "crate-data-hot-orders-0"}, "", "`stevedore restart prod/orders`"},
		{"one that goes already", []string{"prod/orders", "crate-data-hot-orders-3"}, "", "on its way out already"},
		{"one that is not there", []string{"prod/orders", "crate-data-hot-orders-9"}, "", "not ready are: crate-data-hot-orders-1, crate-data-hot-orders-2, crate-data-hot-orders-3"},
		{"another cluster's", []string{"prod/orders", "crate-data-hot-metrics-0"}, "", "cluster prod/orders has no pod crate-data-hot-metrics-0; not ready are: "},
		{"no such cluster", []string{"prod/typo", "crate-data-hot-orders-1"}, "", "there is no record of a cluster prod/typo"},
		{"no such namespace", []string{"typo/orders", "crate-data-hot-orders-1"}, "", "namespace typo does not exist"},
		{"no pod", []string{"prod/orders"}, "", "CLUSTER and POD are wanted, as in: stevedore replace-pod prod/orders crate-data-hot-orders-1"},
		{"two pods", []string{"prod/orders", "a", "b"}, "", "takes one POD and was given 2 (a, b)"},
		{"all of them", []string{"--all", "-n", "prod"}, "", "unknown flag: --all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.record(orders, model.Record{Revision: "r1"})
			api.record(metrics, model.Record{Revision: "r1"})
			api.pod(orders, "crate-data-hot-orders-0", "uid-0", true, false)
			api.pod(orders, "crate-data-hot-orders-1", "uid-1", false, false)
			api.pod(orders, "crate-data-hot-orders-2", "uid-2", false, false)
			api.pod(orders, "crate-data-hot-orders-3", "uid-3", false, true)
			api.pod(metrics, "crate-data-hot-metrics-0", "uid-4", false, false)
			end := stevedore(t, append([]string{"replace-pod"}, c.args...)...)
			assert.Equal(t, c.given, api.commands(orders)[names.ReplacePodAnnotation])
			assert.Empty(t, api.commands(metrics))
			if c.given == "" {
				assert.Equal(t, exitError, end.code)
				assert.Contains(t, end.err, c.says)
				return
			}
			assert.Zero(t, end.code, end.err)
			assert.Contains(t, end.out, c.says)
			assert.Contains(t, end.err, "NOBODY LOOKS AFTER prod/orders")
		})
	}
}

func TestAPodOfAClusterThatIsLeftAloneIsReplacedByNobody(t *testing.T) {
	api := newAPIServer(t, "prod")
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api.record(orders, model.Record{Shown: model.Shown{Reasons: []model.ShownReason{{Kind: "wait", Name: "paused"}}}})
	api.pod(orders, "crate-data-hot-orders-1", "uid-1", false, false)
	end := stevedore(t, "replace-pod", "orders", "crate-data-hot-orders-1")
	assert.Zero(t, end.code, end.err)
	assert.Contains(t, end.out, "the cluster is paused, and nothing happens before that is taken back: stevedore resume prod/orders")
}

func TestAShellCompletesThePodsThatAreStuck(t *testing.T) {
	api := newAPIServer(t, "prod")
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api.record(orders, model.Record{})
	api.pod(orders, "crate-data-hot-orders-0", "uid-0", true, false)
	api.pod(orders, "crate-data-hot-orders-1", "uid-1", false, false)
	assert.Equal(t, []string{"orders"}, completed(t, "replace-pod", ""))
	assert.Equal(t, []string{"crate-data-hot-orders-1"}, completed(t, "replace-pod", "prod/orders", ""))
	assert.Empty(t, completed(t, "replace-pod", "prod/orders", "crate-data-hot-orders-1", ""))
}
