package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestWhatTheAPIServerFilledInIsNoDifference(t *testing.T) {
	for _, situation := range []struct{ what, live, wanted, left string }{
		{"a port's protocol",
			`{spec: {ports: [{name: http, port: 1, protocol: TCP}, {name: dns, port: 2, protocol: UDP}]}}`,
			`{spec: {ports: [{name: http, port: 1}]}}`,
			`{spec: {ports: [{name: http, port: 1}, {name: dns, port: 2, protocol: UDP}]}}`},
		{"a protocol that is desired",
			`{spec: {ports: [{name: http, port: 1, protocol: TCP}]}}`,
			`{spec: {ports: [{name: http, port: 1, protocol: TCP}]}}`,
			`{spec: {ports: [{name: http, port: 1, protocol: TCP}]}}`},
		{"a claim template",
			`{volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data0, creationTimestamp: null}, spec: {volumeMode: Filesystem, storageClassName: a}, status: {phase: Pending}}]}`,
			`{volumeClaimTemplates: [{metadata: {name: data0}, spec: {storageClassName: b}}]}`,
			`{volumeClaimTemplates: [{metadata: {name: data0}, spec: {storageClassName: a}}]}`},
		{"a claim template of blocks",
			`{volumeClaimTemplates: [{metadata: {name: data0}, spec: {volumeMode: Block}}]}`,
			`{}`,
			`{volumeClaimTemplates: [{metadata: {name: data0}, spec: {volumeMode: Block}}]}`},
		{"a reference to a field",
			`{env: [{name: a, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}]}`,
			`{env: [{name: a, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}`,
			`{env: [{name: a, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}`},
		{"the object's own version and status", `{apiVersion: v1, status: {a: b}}`, `{}`, `{apiVersion: v1, status: {a: b}}`},
	} {
		t.Run(situation.what, func(t *testing.T) {
			read := func(text string) (object map[string]any) {
				require.NoError(t, yaml.Unmarshal([]byte(text), &object))
				return object
			}
			live := read(situation.live)
			dropDefaults(live, read(situation.wanted))
			assert.Equal(t, read(situation.left), live)
		})
	}
}
