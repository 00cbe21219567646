package record_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// A daemon is updated in the middle of an operation. Each folder has what a release before
// this one wrote in each step of each operation, in its simulation.
func TestRecordsOfReleasesBeforeGoOnInTheMiddleOfEachOperation(t *testing.T) {
	files, err := filepath.Glob("testdata/releases/*/*.json")
	require.NoError(t, err)
	require.Len(t, files, 2*26, "two releases, each step")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(strings.TrimPrefix(file, "testdata/releases/"), func(t *testing.T) {
			var rec model.Record
			require.NoError(t, record.Decode(record.Operation, string(text), &rec))
			require.NoError(t, rec.Validate())
			require.NotNil(t, rec.Operation)

			again, err := record.Encode(record.Operation, rec)
			require.NoError(t, err)
			var before, after map[string]any
			require.NoError(t, json.Unmarshal(text, &before))
			require.NoError(t, json.Unmarshal([]byte(again), &after))
			for name, value := range before {
				assert.Equal(t, said(value), said(after[name]), "what the release before wrote into %s", name)
			}

			// Nobody answers the new daemon yet: it goes on with the operation, and takes
			// nothing down.
			desired, observed, now := inTheMiddle(&rec)
			decision := ops.Decide(desired, observed, rec, model.Policy{}, now)
			require.NotNil(t, decision.Record.Operation, "the operation was dropped: %v", decision.Waits)
			assert.Equal(t, rec.Operation.Kind, decision.Record.Operation.Kind)
			assert.Nil(t, decision.Disruptive)
			assert.Equal(t, rec.Lock, decision.Record.Lock)
			assert.Equal(t, rec.Exclusions, decision.Record.Exclusions)
			assert.Equal(t, rec.ClusterID, decision.Record.ClusterID)
		})
	}
}

// said is a value without the times that say nothing: some of them are in no field any more.
func said(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := map[string]any{}
	for name, value := range object {
		if value != "0001-01-01T00:00:00Z" {
			out[name] = said(value)
		}
	}
	return out
}

// inTheMiddle is the cluster of a record, as the daemon that wrote it saw it a moment before.
func inTheMiddle(rec *model.Record) (model.Desired, model.Observed, time.Time) {
	op := rec.Operation
	now := op.Started.Add(time.Second)
	if op.Restart != nil && op.Restart.Since.After(now) {
		now = op.Restart.Since
	}
	desired := model.Desired{
		Namespace: "ns", Name: "c", ClusterName: rec.ClusterName, Owner: rec.Owner, Revision: rec.Revision, Commit: rec.Commit, Pins: rec.Pins,
		Version: rec.Version, TLS: rec.TLS, License: rec.License, Computes: rec.Computes,
	}
	if op.Upgrade != nil {
		desired.Version = op.Upgrade.NewVersion
	}
	sets := rec.Sets
	if len(rec.Suspended) > 0 && op.Kind == model.OperationResume {
		sets = rec.Suspended
	}
	var observed model.Observed
	for i, s := range rec.Sets {
		replicas := sets[i].Replicas
		if op.Shrink != nil && op.Shrink.Set == s.Name {
			replicas = op.Shrink.To
		}
		if op.Kind == model.OperationSuspend {
			replicas = 0
		}
		desired.Sets = append(desired.Sets, model.Set{Name: s.Name, Group: s.Group, Replicas: replicas, Data: true, MasterEligible: true})
		live := model.ObservedSet{Name: s.Name, Group: s.Group, Replicas: s.Replicas, Ours: true, Template: "old"}
		observed.Sets = append(observed.Sets, live)
		if op.Kind == model.OperationSuspend { // the last pod has not gone yet
			observed.Pods = append(observed.Pods, model.Pod{Set: s.Name, Name: s.Name + "-0", Terminating: true})
		}
	}
	observed.Database.Contact = model.No
	return desired, observed, now
}

// A renamed method once let such a record through: nothing said that it was asked any more.
func TestARecordThatContradictsItselfIsDamaged(t *testing.T) {
	for name, text := range map[string]string{
		"a shrink without its part":          `{"schemaVersion":1,"operation":{"kind":"shrink","started":"2026-01-02T03:04:05Z"}}`,
		"an upgrade without its versions":    `{"schemaVersion":1,"operation":{"kind":"upgrade","started":"2026-01-02T03:04:05Z"}}`,
		"more replicas than anybody may ask": `{"schemaVersion":1,"sets":[{"name":"s","group":"g","replicas":2000000000}]}`,
	} {
		var rec model.Record
		assert.ErrorIs(t, record.Decode(record.Operation, text, &rec), record.ErrDamaged, name)
	}
}
