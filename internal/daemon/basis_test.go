package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

func TestASecretThatTravelsWithItsDefinitionIsNotMissingInAPlan(t *testing.T) {
	travels := &unstructuredObject{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "app", "namespace": "prod"},
		"stringData": map[string]any{"password": "x", "empty": ""},
	}}
	have := []model.Secret{{Name: "app"}, {Name: "other"}}
	got := travelling(have, []*unstructuredObject{statefulSet("s", "crate:1"), travels})
	assert.True(t, got[0].Exists)
	assert.Equal(t, []string{"password"}, got[0].Keys)
	assert.False(t, got[1].Exists)
	assert.False(t, have[0].Exists, "what was seen was changed")

	there := []model.Secret{{Name: "app", Exists: true, Keys: []string{"password"}, Version: model.SecretVersion{UID: "1", ResourceVersion: "7"}}}
	assert.Equal(t, there, travelling(there, []*unstructuredObject{travels}), "one that is there stays as it was seen")
}

func TestWhoAskedForHandsOffIsReadFromWhatTheDaemonShowed(t *testing.T) {
	shown := func(rule string) model.Shown {
		return model.Shown{Reasons: []model.ShownReason{{Kind: "wait", Name: rule}}}
	}
	for _, c := range []struct {
		name    string
		shown   model.Shown
		command []record.Command
		want    plan.HandsOff
	}{
		{"nobody", model.Shown{}, nil, plan.HandsOff{}},
		{"a pause in the definition", shown("paused"), nil, plan.HandsOff{Paused: plan.ByAnnotation}},
		{"a pause by command", shown("paused"), []record.Command{record.Pause("r1")}, plan.HandsOff{Paused: plan.ByCommand}},
		{"a release by command", shown("released"), []record.Command{record.Release("r1")}, plan.HandsOff{Released: plan.ByCommand}},
		{"a release in the definition, a pause that was taken back", shown("released"), []record.Command{record.Resume("r1")}, plan.HandsOff{Released: plan.ByAnnotation}},
		{"a command that was not seen yet", model.Shown{}, []record.Command{record.Pause("r1")}, plan.HandsOff{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t, recordtest.NewConfigMaps())
			w.saved(t, model.Record{})
			require.NoError(t, w.store.Give(t.Context(), w.key, c.command...))
			var rec model.Record
			entry, err := w.store.Load(t.Context(), w.key, record.Operation, &rec)
			require.NoError(t, err)
			assert.Equal(t, c.want, handsOff(c.shown, entry))
		})
	}
}

// A record of something that was made is never taken for one of nothing.
func TestOnlyTheRecordOfWhatWasNeverMadeGoesWithItsDefinition(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	assert.False(t, w.neverMade(record.Entry{}, model.Record{}), "there is no record")
	entry := w.saved(t, model.Record{})
	for name, rec := range map[string]model.Record{
		"an owner":     {Owner: "git:ours"},
		"a cluster id": {ClusterID: "1"},
		"sets":         {Sets: []model.RecordedSet{{Name: "s"}}},
	} {
		assert.False(t, w.neverMade(entry, rec), name)
	}
	assert.Equal(t, "git:ours", whose(model.Record{}, wanted{owner: "git:ours"}), "by this it is found after a restart")
	assert.Empty(t, whose(model.Record{Owner: "git:ours"}, wanted{owner: "git:ours"}))
}

// A release that noted nobody's source has left a record that nobody would look after.
func TestARecordThatNamesNobodyFallsToASourceOnceNoneNamesItsCluster(t *testing.T) {
	for _, c := range []struct {
		name   string
		rec    model.Record
		change func(d *daemon)
		falls  bool
	}{
		{"all sources were read and none names it", model.Record{}, func(*daemon) {}, true},
		{"one was not read yet", model.Record{}, func(d *daemon) { d.options.Sources = append(d.options.Sources, source("/c")) }, false},
		{"one names it", model.Record{}, func(d *daemon) {
			d.fleet.take(d.options.Sources[1].Identity(), "c1", &render.Build{Clusters: []render.Cluster{{Namespace: "ns", Name: "c"}}})
		}, false},
		{"one cannot be read whole", model.Record{}, func(d *daemon) {
			d.fleet.take(d.options.Sources[1].Identity(), "c1", &render.Build{Problems: []definition.Problem{{Message: "no YAML"}}})
		}, false},
		{"it is of a cluster that was made", model.Record{ClusterID: "1"}, func(*daemon) {}, false},
		{"it has StatefulSets", model.Record{Sets: []model.RecordedSet{{Name: "s"}}}, func(*daemon) {}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newWorker(t, recordtest.NewConfigMaps()).daemon
			d.options.Sources = []Source{source("/a"), source("/b")}
			for _, each := range d.options.Sources {
				d.fleet.take(each.Identity(), "c0", &render.Build{})
			}
			c.change(d)
			falls := d.heir(key("c"), c.rec)
			assert.Equal(t, c.falls, falls != "")
			if c.falls {
				assert.Equal(t, d.options.Sources[0].Identity(), falls)
			}
		})
	}
}
