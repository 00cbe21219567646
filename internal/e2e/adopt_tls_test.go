package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
)

// The passwords of crate-operator's keystore: its nodes have them among their arguments, where another
// test looks for those of stevedore's.
const (
	operatedStore = "crate-operator's store"
	operatedKey   = "crate-operator's key"
)

// A cluster whose nodes take passwords over TLS only moves in as any other: adopt reads it over TLS,
// and the daemon then verifies the certificate.
func TestAnAdoptedClusterMayHaveTLS(t *testing.T) {
	t.Parallel()
	const ns = "adopt-tls"
	s := &situation{T: t}
	ca, service := s.authority("ours"), names.Service(cutCluster)+"."+ns+".svc"
	roots := x509.NewCertPool()
	text, err := os.ReadFile(ca.file)
	require.NoError(t, err)
	require.True(t, roots.AppendCertsFromPEM(text))
	verified := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: service}

	o := operateOver(t, ns, verified, overTLS(t, ns, s.keystoreWith(ca, service, operatedStore, operatedKey)))
	o.writeRows()
	of := func(key string) map[string]any {
		return map[string]any{"secretKeyRef": map[string]any{"name": "orders-ssl", "key": key}}
	}
	o.write(map[string]string{"orders.yaml": o.definition(with("spec.cluster.ssl", map[string]any{
		"keystore": of("keystore"), "keystorePassword": of("keystore-password"), "keystoreKeyPassword": of("keystore-key-password"),
	}))})
	daemon := o.sail("", "", "--database-ca-file", ca.file)
	o.refusedFor(cutCluster, "object-not-ours")

	o.adopt()
	o.settled(cutCluster)
	o.untouched("after the adoption")
	o.end()
	assert.Zero(t, o.fails, "of %d requests of a client, the last one by: %v", o.tries, o.failed)
	o.noRowLost()
	_, err = bed.Query(o.ctx, o.clusterPods(cutCluster)[0].Status.PodIP, "app", appPassword, "SELECT 1")
	assert.ErrorContains(t, err, "Did you enable TLS", "a password without TLS is not taken")

	o.mayRestart = true
	_, errs, code := o.verb("restart", o.ns+"/"+cutCluster)
	require.Zero(t, code, errs)
	o.eventually("every pod has stevedore's template", restartPatience, func() bool {
		return o.set(hotSet).Annotations[names.AdoptedAnnotation] == "" && o.restarted() && o.isSettled(cutCluster)
	})
	o.noRowLost()
	o.stop(daemon)
}

// overTLS has the nodes of crate-operator's a keystore, as spec.cluster.ssl makes it do.
func overTLS(t *testing.T, ns string, keystore []byte) func([]*unstructured.Unstructured) []*unstructured.Unstructured {
	encoded := func(text []byte) string { return base64.StdEncoding.EncodeToString(text) }
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "orders-ssl", "namespace": ns},
		"data": map[string]any{"keystore": encoded(keystore), "keystore-password": encoded([]byte(operatedStore)), "keystore-key-password": encoded([]byte(operatedKey))},
	}}
	return func(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
		out := []*unstructured.Unstructured{secret}
		for _, object := range objects {
			if object.GetKind() == "StatefulSet" {
				object = withKeystore(t, object)
			}
			out = append(out, object)
		}
		return out
	}
}

// withKeystore is a StatefulSet whose nodes have TLS.
func withKeystore(t *testing.T, set *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.Marshal(set.Object)
	require.NoError(t, err)
	out := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(bytes.ReplaceAll(text, []byte("        - -Cauth.host_based.config.99.method=password\n"), []byte(strings.Join([]string{
		"        - -Cauth.host_based.config.99.method=password",
		"        - -Cssl.http.enabled=true",
		"        - -Cssl.psql.enabled=true",
		"        - -Cssl.keystore_filepath=/var/lib/crate/ssl/keystore.jks",
		"        - -Cssl.keystore_password=${KEYSTORE_PASSWORD}",
		"        - -Cssl.keystore_key_password=${KEYSTORE_KEY_PASSWORD}",
		"        - -Cauth.host_based.config.99.ssl=on",
		"",
	}, "\n"))), &out.Object))
	pod := []string{"spec", "template", "spec"}
	volumes, _, err := unstructured.NestedSlice(out.Object, append(pod, "volumes")...)
	require.NoError(t, err)
	volumes = append(volumes, map[string]any{"name": "keystore", "secret": map[string]any{
		"secretName": "orders-ssl", "items": []any{map[string]any{"key": "keystore", "path": "keystore.jks"}},
	}})
	require.NoError(t, unstructured.SetNestedSlice(out.Object, volumes, append(pod, "volumes")...))
	containers, _, err := unstructured.NestedSlice(out.Object, append(pod, "containers")...)
	require.NoError(t, err)
	for _, one := range containers {
		container := one.(map[string]any)
		if container["name"] != "crate" {
			continue
		}
		env := container["env"].([]any)
		for _, name := range []string{"keystore-key-password", "keystore-password"} {
			env = append(env, map[string]any{
				"name":      strings.ToUpper(strings.ReplaceAll(name, "-", "_")),
				"valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "orders-ssl", "key": name}},
			})
		}
		container["env"] = env
		container["volumeMounts"] = append(container["volumeMounts"].([]any), map[string]any{"name": "keystore", "mountPath": "/var/lib/crate/ssl/", "readOnly": true})
	}
	require.NoError(t, unstructured.SetNestedSlice(out.Object, containers, append(pod, "containers")...))
	return out
}
