package apply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

func TestRecordsAreWrittenAgainstTheVersionThatWasRead(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.live.EnsureNamespace(t.Context(), w.namespace))
	first, err := w.applier.WriteConfigMap(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.OperationConfigMap("one"), Namespace: w.namespace,
			Labels: map[string]string{names.ClusterLabel: "one"}},
		Data: map[string]string{names.DataKey: "1"},
	})
	require.NoError(t, err)
	seen, ok := w.live.ConfigMap(w.namespace, first.Name)
	require.True(t, ok, "our own write is not visible at once")
	assert.Equal(t, first.ResourceVersion, seen.ResourceVersion)

	seen.Data[names.DataKey] = "2"
	second, err := w.applier.WriteConfigMap(t.Context(), seen)
	require.NoError(t, err)
	first.Data[names.DataKey] = "3"
	_, err = w.applier.WriteConfigMap(t.Context(), first)
	require.True(t, apierrors.IsConflict(err), "%v", err)
	first.ResourceVersion = ""
	_, err = w.applier.WriteConfigMap(t.Context(), first)
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)

	key := compare.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: first.Name}
	require.Eventually(t, func() bool { return w.live.Seen(key, second.ResourceVersion) }, deadline, poll)
	now, _ := w.live.ConfigMap(w.namespace, first.Name)
	assert.Equal(t, "2", now.Data[names.DataKey])

	require.True(t, apierrors.IsConflict(w.applier.Delete(t.Context(), key, now.UID, seen.ResourceVersion)), "an old version was deleted")
	require.True(t, apierrors.IsConflict(w.applier.Delete(t.Context(), key, "another", now.ResourceVersion)), "another object was deleted")
	require.NoError(t, w.applier.Delete(t.Context(), key, now.UID, now.ResourceVersion))
	require.NoError(t, w.applier.Delete(t.Context(), key, now.UID, now.ResourceVersion), "it is gone already")
	require.Eventually(t, func() bool { _, ok := w.live.Get(key); return !ok }, deadline, poll)
}

func TestWhatExistsIsNotCreatedAgain(t *testing.T) {
	w := newWorld(t)
	secret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: user-system-one}, stringData: {password: first}}`)
	created, err := w.applier.CreateOnly(t.Context(), secret)
	require.NoError(t, err)
	assert.True(t, created)
	created, err = w.applier.CreateOnly(t.Context(), with(secret, "second", "stringData", "password"))
	require.NoError(t, err)
	assert.False(t, created)
	require.NoError(t, w.live.EnsureSecret(t.Context(), w.namespace, "user-system-one"))
	live, ok := w.live.Secret(w.namespace, "user-system-one")
	require.True(t, ok)
	assert.Equal(t, "first", string(live.Data["password"]))

	yes := "true"
	key := compare.Key{Kind: "Secret", Namespace: w.namespace, Name: "user-system-one"}
	w.requests.take()
	change := apply.MetadataChange{Labels: map[string]*string{names.UserPasswordLabel: &yes}, UID: live.UID}
	require.NoError(t, w.applier.PatchMetadata(t.Context(), key, change))
	require.NoError(t, w.applier.PatchMetadata(t.Context(), key, change), "the second costs nothing")
	assert.Len(t, w.writes(), 1)
	labelled, _ := w.live.Secret(w.namespace, "user-system-one")
	assert.Equal(t, "true", labelled.Labels[names.UserPasswordLabel])
	assert.Equal(t, "first", string(labelled.Data["password"]))

	stale := apply.MetadataChange{Labels: map[string]*string{names.UserPasswordLabel: nil}, ResourceVersion: live.ResourceVersion}
	require.True(t, apierrors.IsConflict(w.applier.PatchMetadata(t.Context(), key, stale)))
	other := apply.MetadataChange{Labels: map[string]*string{names.UserPasswordLabel: nil}, UID: "another"}
	err = w.applier.PatchMetadata(t.Context(), key, other)
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestNoSecretValueIsInAnErrorOfTheAPIServer(t *testing.T) {
	w := newWorld(t)
	_, err := w.sync(w.object(`{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: "hunter2"}}`),
		w.object(`{apiVersion: v1, kind: Secret, metadata: {name: t}, data: {a: "hunter2!"}}`))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "hunter2")
	assert.Equal(t, 2, strings.Count(err.Error(), "the API server refuses the Secret"), err.Error())
}
