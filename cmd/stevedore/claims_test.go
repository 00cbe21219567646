package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

const sharedFolder = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: orders, namespace: prod}
spec:
  cluster: {imageRegistry: crate, name: orders, version: 6.4.3, settings: {path.repo: /backups}}
  nodes: {data: [{name: hot, replicas: 3, resources: {limits: {cpu: 1, memory: 2Gi}, heapRatio: 0.5, disk: {count: 1, size: 16GiB, storageClass: fast}}}]}
  backups: {fs: {location: /backups}, schedules: [{name: nightly, cron: "30 2 * * *"}]}
  patches:
  - target: {kind: StatefulSet}
    patch: |
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: all}
      spec:
        template:
          spec:
            volumes: [{name: backups, persistentVolumeClaim: {claimName: backups}}]
            containers: [{name: crate, volumeMounts: [{name: backups, mountPath: /backups}]}]
`

// Nobody sees it before a pod is restarted, and that one never starts.
func TestAPlanSaysWhichSharedClaimIsMissing(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte(sharedFolder), 0o600))
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	clusters, good, err := renderPath(cmd, render.InProcess{}, folder, "", noPins)
	require.NoError(t, err)
	require.True(t, good)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "backups"}, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}}}
	for _, c := range []struct {
		name           string
		objects        []runtime.Object
		fails          error
		notes, unknown []string
		err            string
	}{
		{"there", []runtime.Object{claim}, nil, nil, nil, ""},
		{"missing", nil, nil, []string{"orders.yaml:17: PersistentVolumeClaim backups does not exist, and no pod that mounts it starts"}, nil, ""},
		{"who asks may not see it", nil, apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "backups", nil), nil,
			[]string{"whether it is there is not known: this role may not read PersistentVolumeClaim backups in namespace prod, which orders.yaml:17 names"}, ""},
		{"nobody answers", nil, context.DeadlineExceeded, nil, nil, "reading PersistentVolumeClaim backups in namespace prod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset(c.objects...)
			if c.fails != nil {
				client.PrependReactor("get", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.fails })
			}
			var out plan.Plan
			err := noteMounts(t.Context(), client, clusters[0], &out)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.notes, out.Notes)
			assert.Equal(t, c.unknown, out.Unknown)
		})
	}
}

// A new cluster's pods never started, and only their events said why.
func TestAPlanSaysWhichSecretOfTheKeystoreIsMissing(t *testing.T) {
	folder := t.TempDir()
	text := strings.Replace(sharedFolder, "version: 6.4.3,", "version: 6.4.3, ssl: {keystore: {secretKeyRef: {name: tls, key: store}}, keystorePassword: {secretKeyRef: {name: tls, key: pass}}, keystoreKeyPassword: {secretKeyRef: {name: tls-key, key: pass}}},", 1)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte(text), 0o600))
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(os.Stderr)
	clusters, good, err := renderPath(cmd, render.InProcess{}, folder, "", noPins)
	require.NoError(t, err)
	require.True(t, good)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "backups"}, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}}}
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "tls-key"}, Data: map[string][]byte{"pass": []byte("x")}}
	var out plan.Plan
	require.NoError(t, noteMounts(t.Context(), fake.NewClientset(claim, key), clusters[0], &out))
	assert.Equal(t, []string{"Secret tls, key store, key pass (the keystore of spec.cluster.ssl) does not exist, and no pod that mounts it starts: " +
		"kubectl -n prod create secret generic tls --from-file=store=FILE1 --from-file=pass=FILE2"}, out.Notes)

	client := fake.NewClientset(claim)
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "tls", nil)
	})
	out = plan.Plan{}
	require.NoError(t, noteMounts(t.Context(), client, clusters[0], &out))
	assert.Empty(t, out.Notes, "the plan says elsewhere that Secrets may not be read")
}
