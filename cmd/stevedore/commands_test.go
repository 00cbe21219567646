package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// A restart of a paused cluster was asked for, and nobody said that it waits.
func TestARestartOfAClusterThatIsLeftAloneSaysSo(t *testing.T) {
	shown := func(rule string) model.Record {
		return model.Record{Shown: model.Shown{Reasons: []model.ShownReason{{Kind: "wait", Name: rule}}}}
	}
	for _, c := range []struct {
		name     string
		rec      model.Record
		commands []record.Command
		want     string
	}{
		{"nobody asked", model.Record{}, nil, ""},
		{"paused in the definition", shown("paused"), nil, "paused"},
		{"paused by a command that was not seen yet", model.Record{}, []record.Command{record.Pause("r")}, "paused"},
		{"resumed, not seen yet", shown("paused"), []record.Command{record.Resume("r")}, ""},
		{"released", shown("released"), []record.Command{record.Release("r")}, "released"},
		{"released and paused", shown("released"), []record.Command{record.Pause("r"), record.Release("r")}, "released"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, leftAlone(c.rec, c.commands)) })
	}
}

func TestACommandSaysWhatItDoesWithThisCluster(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	for _, c := range []struct {
		verb string
		to   givenTo
		want string
	}{
		{"restart", givenTo{}, "as of most"},
		{"restart", givenTo{handsOff: "paused"}, "the cluster is paused, and it begins when that is taken back: stevedore resume prod/orders"},
		{"restart", givenTo{suspended: true}, "the cluster is suspended, and no node runs that could be restarted"},
		{"resume", givenTo{}, "as of most"},
		{"resume", givenTo{suspended: true}, "as of most; the cluster is suspended, and only its definition ends that"},
		{"abort", givenTo{}, "as of most"},
		{"abort", givenTo{idle: true}, "nothing was in progress that had to stop"},
	} {
		c.to.cluster = orders
		assert.Contains(t, answer(c.verb, "as of most", c.to), c.want, "%s %+v", c.verb, c.to)
	}
}

func TestANamespaceThatIsNotThereIsSaidWithWhatToDo(t *testing.T) {
	client := fake.NewSimpleClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	assert.NoError(t, namespaceThere(t.Context(), client, "shop"))
	assert.ErrorContains(t, namespaceThere(t.Context(), client, "shpo"), "namespace shpo does not exist: is it mistyped?", "a command that reads never advises to make it")
}
