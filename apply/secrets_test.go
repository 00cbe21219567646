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
	assert.True(t, ok, "one without the label is read by its name")
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

// A new fleet has two Secrets a cluster that are not labelled, or not there: of these too
// none has a watch of its own, and of what else stands in a namespace no content is read.
func TestSecretsThatAreNotLabelledCostAReadEachAndOneWatch(t *testing.T) {
	w := newWorld(t)
	for n := range 20 {
		w.password(fmt.Sprintf("app-%d", n), false)
	}
	w.password("somebody-elses", false)
	var mu sync.Mutex
	var streams, reads []string
	cfg := apply.CountRequests(w.config, func(method, path string, _ int) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.HasSuffix(path, "/secrets"):
			streams = append(streams, path)
		case strings.Contains(path, "/secrets/"):
			reads = append(reads, method+" "+path[strings.LastIndexByte(path, '/')+1:])
		}
	})
	live, err := apply.NewLive(cfg, apply.LiveOptions{SyncTimeout: deadline})
	require.NoError(t, err)
	defer live.Close()
	var asked []string
	for range 2 {
		for n := range 20 {
			for _, name := range []string{fmt.Sprintf("app-%d", n), fmt.Sprintf("system-%d", n)} {
				require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, name, "one"))
				if strings.HasPrefix(name, "app-") {
					asked = append(asked, "GET "+name)
				}
			}
		}
	}
	secret, ok := live.Secret(w.namespace, "app-7")
	require.True(t, ok)
	assert.Equal(t, "app-7", string(secret.Data["password"]))
	_, ok = live.Secret(w.namespace, "system-7")
	assert.False(t, ok)
	mu.Lock()
	assert.LessOrEqual(t, len(streams), 4, "two lists and two watches: %v", streams)
	assert.ElementsMatch(t, asked[:20], reads, "each that is there, once")
	mu.Unlock()
}

// One that is made later, by whomever and with which labels, is heard of.
func TestASecretThatComesLaterIsKnown(t *testing.T) {
	for _, labelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("labelled %t", labelled), func(t *testing.T) {
			w := newWorld(t)
			told := make(chan string, 100)
			live, err := apply.NewLive(w.config, apply.LiveOptions{SyncTimeout: deadline, OnChange: func(_, cluster string) { told <- cluster }})
			require.NoError(t, err)
			defer live.Close()
			require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, "s", "one"))
			_, ok := live.Secret(w.namespace, "s")
			require.False(t, ok)
			w.password("another", labelled)
			w.password("s", labelled)
			require.Equal(t, "one", <-told, "nobody is told of another one")
			require.NoError(t, live.EnsureSecret(t.Context(), w.namespace, "s", "one"))
			secret, ok := live.Secret(w.namespace, "s")
			require.True(t, ok)
			assert.Equal(t, "s", string(secret.Data["password"]))
		})
	}
}
