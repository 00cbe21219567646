package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

func TestForgetTakesAwayTheRecordsAndNothingElse(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	beside := func(kind record.Kind, value any) *corev1.ConfigMap {
		text, err := record.Encode(kind, value)
		require.NoError(t, err)
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: kind.Name("orders"), UID: "u", ResourceVersion: "7"},
			Data:       map[string]string{names.DataKey: text},
		}
		record.Decorate(object, "orders", kind)
		return object
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "crate-data-hot-orders", Labels: map[string]string{names.ClusterLabel: "orders"}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "data0-0", Labels: map[string]string{names.ComponentLabel: names.Component, names.NameLabel: "orders"}}}
	lease := func(holder string, ago time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: names.DaemonNamespace, Name: names.FieldManager},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-ago)}},
		}
	}
	released := model.Record{SchemaVersion: model.RecordVersion, Command: model.SeenCommand{Commands: model.Commands{Released: "true"}}}
	for _, c := range []struct {
		name   string
		rec    model.Record
		beside []runtime.Object
		daemon func(*corev1.ConfigMap) *corev1.ConfigMap
		says   string
	}{
		{"never made, nobody looks", model.Record{SchemaVersion: model.RecordVersion}, []runtime.Object{lease("", 0)}, nil, ""},
		{"released, nobody looks", released, []runtime.Object{lease("gone", time.Hour), set, claim}, nil, ""},
		{"it runs", model.Record{SchemaVersion: model.RecordVersion}, []runtime.Object{lease("", 0), set, claim}, nil, "it has 1 StatefulSets (crate-data-hot-orders) and 1 volume claims (data0-0), and is not released"},
		{"a daemon carries it out", released, []runtime.Object{lease("a", 0), set}, func(*corev1.ConfigMap) *corev1.ConfigMap { return nil }, ""},
		{"a daemon refuses", released, []runtime.Object{lease("a", 0), set}, func(*corev1.ConfigMap) *corev1.ConfigMap {
			refused := released
			refused.Shown.Kept = "apps still defines it"
			return beside(record.Operation, refused)
		}, "cluster prod/orders is not forgotten: apps still defines it"},
		{"a daemon does not see it", released, []runtime.Object{lease("a", 0), set}, func(object *corev1.ConfigMap) *corev1.ConfigMap { return object }, "does it watch the namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects := []runtime.Object{beside(record.Operation, c.rec), beside(record.Inventory, struct{}{}), beside(record.Reports, struct{}{}), beside(record.Observation, struct{}{})}
			client := fake.NewClientset(append(objects, c.beside...)...)
			var deleted []string
			client.PrependReactor("delete", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				o := action.(clienttesting.DeleteActionImpl)
				require.NotNil(t, o.DeleteOptions.Preconditions)
				require.NotNil(t, o.DeleteOptions.Preconditions.UID)
				require.NotNil(t, o.DeleteOptions.Preconditions.ResourceVersion)
				deleted = append(deleted, o.Name)
				return false, nil, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			if c.says == "does it watch the namespace" {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			if c.daemon != nil {
				client.PrependReactor("update", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
					given := action.(clienttesting.UpdateAction).GetObject().(*corev1.ConfigMap)
					if given.Annotations[names.ForgetAnnotation] == "" {
						return false, nil, nil
					}
					// What the daemon does comes right after.
					resource := corev1.SchemeGroupVersion.WithResource("configmaps")
					if after := c.daemon(given); after == nil {
						for _, kind := range record.Kinds() {
							require.NoError(t, client.Tracker().Delete(resource, "prod", kind.Name("orders")))
						}
					} else {
						require.NoError(t, client.Tracker().Update(resource, after, "prod"))
					}
					return true, given, nil
				})
			}
			f := forgetting{client: client, store: record.NewStore(record.OverClient(client.CoreV1(), nil)), cluster: orders, tick: time.Millisecond}
			err := f.run(ctx)
			list, listing := client.CoreV1().ConfigMaps("prod").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, listing)
			if c.says != "" {
				assert.ErrorContains(t, err, c.says)
				assert.Len(t, list.Items, 4)
				return
			}
			require.NoError(t, err)
			assert.Empty(t, list.Items)
			if c.daemon == nil {
				assert.Equal(t, []string{"stevedore-orders-observation", "stevedore-orders-reports", "stevedore-orders-inventory", "stevedore-orders-operation"}, deleted, "the record goes last")
			} else {
				assert.Empty(t, deleted)
			}
			sets, err := client.AppsV1().StatefulSets("prod").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Len(t, sets.Items, len(c.beside)-1-count[*corev1.PersistentVolumeClaim](c.beside))
		})
	}
}

func count[T any](all []runtime.Object) (n int) {
	for _, one := range all {
		if _, ok := one.(T); ok {
			n++
		}
	}
	return n
}

// A daemon that begins while the records go writes: what it writes stays, with the command for it.
func TestForgetGivesWayToADaemonThatBegins(t *testing.T) {
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	text, err := record.Encode(record.Operation, model.Record{SchemaVersion: model.RecordVersion})
	require.NoError(t, err)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: record.Operation.Name("orders"), UID: "u", ResourceVersion: "7"}, Data: map[string]string{names.DataKey: text}}
	record.Decorate(object, "orders", record.Operation)
	holder := ""
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: names.DaemonNamespace, Name: names.FieldManager}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: time.Now().Add(time.Hour)}}}
	client := fake.NewClientset(object, lease)
	client.PrependReactor("delete", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		begun := lease.DeepCopy()
		begun.Spec.HolderIdentity = new("a")
		require.NoError(t, client.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), begun, begun.Namespace))
		return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), object.Name, nil)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = forgetting{client: client, store: record.NewStore(record.OverClient(client.CoreV1(), nil)), cluster: orders, tick: time.Millisecond}.run(ctx)
	assert.ErrorContains(t, err, "a holds Lease stevedore-system/stevedore and has to carry it out")
	left, err := client.CoreV1().ConfigMaps("prod").Get(t.Context(), object.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, left.Annotations[names.ForgetAnnotation])
}
