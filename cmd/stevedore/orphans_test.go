package main

import (
	"context"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

func TestWhichSourcesAFolderIs(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"clusters/prod/a.yaml": "a: 1\n", "other/b.yaml": "b: 1\n"})
	r.git("remote", "add", "origin", "https://x-access-token:secret@Git.example.com/team/clusters.git")
	r.git("remote", "add", "mirror", "git@forge.example.com:team/clusters.git")
	for _, c := range []struct {
		folder, owner string
		is            bool
	}{
		{".", "https://git.example.com/team/clusters", true},
		{".", "https://git.example.com/team/clusters.git", true},
		{".", "ssh://git@forge.example.com/team/clusters", true},
		{".", "https://git.example.com/team/clusters//clusters/prod", true},
		{".", "https://git.example.com/team/clusters2", false},
		{".", "https://elsewhere.example.com/team/clusters", false},
		{".", "file://" + r.dir, true},
		{".", "file://" + r.dir + "//clusters", true},
		{"clusters", "https://git.example.com/team/clusters//clusters", true},
		{"clusters", "https://git.example.com/team/clusters//clusters/prod", true},
		{"clusters", "https://git.example.com/team/clusters", false}, // it holds more than this folder
		{"clusters", "https://git.example.com/team/clusters//other", false},
		{"clusters/prod", "https://git.example.com/team/clusters//clusters", false},
		{"clusters", r.in("clusters"), true},
		{"clusters", r.in("clusters/prod"), true},
		{"clusters", r.dir, false},
		{"clusters", r.in("other"), false},
	} {
		assert.Equal(t, c.is, followedAs(r.in(c.folder))(c.owner), "%s is %s", c.folder, c.owner)
	}
}

func TestALiveClusterWhoseDefinitionTheFolderLacksIsInThePlan(t *testing.T) {
	dir := t.TempDir()
	recorded := func(name string, rec model.Record) *corev1.ConfigMap {
		rec.SchemaVersion = model.RecordVersion
		text, err := record.Encode(record.Operation, rec)
		require.NoError(t, err)
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: record.Operation.Name(name), Labels: map[string]string{record.Label: string(record.Operation), names.ClusterLabel: name}},
			Data:       map[string]string{names.DataKey: text},
		}
	}
	client := fake.NewSimpleClientset(
		recorded("there", model.Record{Owner: dir}), recorded("gone", model.Record{Owner: dir, ClusterName: "orders"}), recorded("consented", model.Record{Owner: dir, DeleteConsent: "r1", Sets: []model.RecordedSet{{Name: "crate-data-hot-consented", Group: "hot", Replicas: 3}}}),
		recorded("released", model.Record{Owner: dir, DeleteConsent: "r1"}),
		recorded("known", model.Record{Owner: dir, Stage: model.StageRemovalPending}), recorded("foreign", model.Record{Owner: "/elsewhere"}), recorded("nobodys", model.Record{}),
	)
	make := &plansOf{cmd: &cobra.Command{}, path: dir, vanished: vanished{}, clusters: []renderedCluster{{cluster: render.Cluster{Namespace: "shop", Name: "there"}}}}
	look := func(ctx context.Context, cluster record.Cluster) (daemon.Basis, error) {
		var b daemon.Basis
		object, err := client.CoreV1().ConfigMaps(cluster.Namespace).Get(ctx, record.Operation.Name(cluster.Name), metav1.GetOptions{})
		require.NoError(t, err)
		require.NoError(t, record.Decode(record.Operation, object.Data[names.DataKey], &b.Record))
		b.Desired = manifest.RemovedDesired(cluster.Namespace, cluster.Name, b.Record.Owner, "", &b.Record)
		for _, set := range b.Record.Sets {
			b.Observed.Sets = append(b.Observed.Sets, model.ObservedSet{Name: set.Name, Group: set.Group, Replicas: set.Replicas, Ours: true, UID: "1"})
		}
		if cluster.Name == "released" {
			b.Observed.Commands.Released = "true"
		}
		return b, nil
	}
	plans, err := make.orphans(t.Context(), client, look, "default", "")
	require.NoError(t, err)
	require.Len(t, plans, 3)
	assert.Equal(t, "consented", plans[0].Name)
	assert.Equal(t, []string{"delete"}, operationKinds(plans[0]))
	assert.Equal(t, "StatefulSet", plans[0].Objects[0].Kind)
	assert.Equal(t, plan.Removed, plans[0].Objects[0].Change)
	assert.Equal(t, "gone", plans[1].Name)
	assert.Equal(t, plan.Orphaned, plans[1].Objects[0].Change)
	// Once the daemon had said that the cluster was orphaned, the plan said that nothing differs.
	assert.Equal(t, "known", plans[2].Name)
	assert.Equal(t, plan.Orphaned, plans[2].Objects[0].Change)

	assert.Equal(t, vanished{"orders": "shop/gone"}, make.vanished, "a new cluster of that name would be it")

	make.filter = "shop/gone"
	plans, err = make.orphans(t.Context(), client, look, "default", "")
	require.NoError(t, err)
	require.Len(t, plans, 1)
}
