package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
)

// password makes a Secret, labelled as a user's or not.
func (w *world) password(name string, labelled bool) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"password": name}}
	if labelled {
		secret.Labels = map[string]string{names.UserPasswordLabel: "true"}
	}
	_, err := w.admin.CoreV1().Secrets(w.namespace).Create(w.t.Context(), secret, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) patchSecret(name, patch string) {
	w.t.Helper()
	_, err := w.admin.CoreV1().Secrets(w.namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// A fleet has two Secrets a cluster: they may not cost a watch each.
func TestLabelledSecretsOfANamespaceCostOneWatch(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		w.password(fmt.Sprintf("labelled-%d", n), true)
	}
	w.password("licence", false)
	var mu sync.Mutex
	var asked []string
	cfg := apply.CountRequests(w.config, func(_, path string, _ int) {
		if strings.HasSuffix(path, "/secrets") {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, path)
		}
	})
	live, err := apply.NewLive(cfg, apply.LiveOptions{SyncTimeout: deadline})
	require.NoError(t, err)
	defer live.Close()
	for n := range 20 {
		name := fmt.Sprintf("labelled-%d", n)
		require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, name, "one"))
		secret, ok := live.Secret(w.namespace, name)
		require.True(t, ok)
		assert.Equal(t, name, string(secret.Data["password"]))
	}
	mu.Lock()
	labelled := len(asked)
	mu.Unlock()
	assert.LessOrEqual(t, labelled, 2, "a list and a watch: %v", asked)
	require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, "licence", "one"))
	_, ok := live.Secret(w.namespace, "licence")
	assert.True(t, ok, "one without the label is watched by its name")
	assert.Empty(t, live.Objects(w.namespace, "one"), "Secrets are not among a cluster's objects")
}

func TestASecretIsKnownThroughItsLabelComingAndGoing(t *testing.T) {
	for _, c := range []struct {
		name     string
		labelled bool
		do       func(*world)
		exists   bool
		password string
	}{
		{"the label comes", false, func(w *world) {
			w.patchSecret("s", `{"metadata":{"labels":{"`+names.UserPasswordLabel+`":"true"}}}`)
		}, true, "s"},
		{"the label comes, then another password", false, func(w *world) {
			w.patchSecret("s", `{"metadata":{"labels":{"`+names.UserPasswordLabel+`":"true"}}}`)
			w.patchSecret("s", `{"stringData":{"password":"another"}}`)
		}, true, "another"},
		{"the label goes", true, func(w *world) {
			w.patchSecret("s", `{"metadata":{"labels":{"`+names.UserPasswordLabel+`":null}}}`)
		}, true, "s"},
		{"the label goes, then another password", true, func(w *world) {
			w.patchSecret("s", `{"metadata":{"labels":{"`+names.UserPasswordLabel+`":null}}}`)
			w.patchSecret("s", `{"stringData":{"password":"another"}}`)
		}, true, "another"},
		{"a labelled one is deleted", true, func(w *world) {
			require.NoError(w.t, w.admin.CoreV1().Secrets(w.namespace).Delete(w.t.Context(), "s", metav1.DeleteOptions{}))
		}, false, ""},
		{"one without is deleted", false, func(w *world) {
			require.NoError(w.t, w.admin.CoreV1().Secrets(w.namespace).Delete(w.t.Context(), "s", metav1.DeleteOptions{}))
		}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.password("s", c.labelled)
			var mu sync.Mutex
			var told []string
			// seen is what the Secret was when somebody was told of it.
			vanished := false
			var live *apply.Live
			live, err := apply.NewLive(w.config, apply.LiveOptions{SyncTimeout: deadline, OnChange: func(_, cluster string) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, cluster)
				if live != nil {
					if _, ok := live.Secret(w.namespace, "s"); !ok && c.exists {
						vanished = true
					}
				}
			}})
			require.NoError(t, err)
			defer live.Close()
			require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, "s", "one", "two"))
			_, ok := live.Secret(w.namespace, "s")
			require.True(t, ok)
			mu.Lock()
			told = nil
			mu.Unlock()
			c.do(w)
			require.Eventually(t, func() bool {
				mu.Lock()
				heard := slices.Contains(told, "one") && slices.Contains(told, "two")
				mu.Unlock()
				if !heard {
					return false
				}
				require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, "s", "one"))
				secret, ok := live.Secret(w.namespace, "s")
				return ok == c.exists && (!ok || string(secret.Data["password"]) == c.password)
			}, deadline, poll)
			mu.Lock()
			defer mu.Unlock()
			assert.False(t, vanished, "it was there all the time")
			assert.NotContains(t, told, "", "only those who asked for it are told")
		})
	}
}
