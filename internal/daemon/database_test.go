package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/model"
)

// While a node leaves, sys.shards fails with "Node not connected" (run on 6.4.3): a
// reading that lacks the tables for it was made again at each event of a pod, every 40 ms.
func TestAReadingThatLacksTheTablesIsNoOlderForIt(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	var err error
	w.live, err = apply.NewLive(&rest.Config{Host: "http://127.0.0.1:1"}, apply.LiveOptions{})
	require.NoError(t, err)
	t.Cleanup(w.live.Close)
	w.dataAt = time.Now() // the tables are not due by themselves
	restarts := model.Record{Operation: &model.Operation{Kind: model.OperationRestart, Restart: &model.Restart{}}}
	var observed model.Observed
	w.observeDatabase(t.Context(), model.Desired{}, model.Record{}, &observed)
	plain := observed.Database.At
	assert.False(t, plain.IsZero())

	w.observeDatabase(t.Context(), model.Desired{}, restarts, &observed)
	detailed := observed.Database.At
	assert.True(t, detailed.After(plain), "a restart wants the tables, which nobody asked for")
	assert.False(t, observed.Database.TablesKnown)

	w.observeDatabase(t.Context(), model.Desired{}, restarts, &observed)
	assert.Equal(t, detailed, observed.Database.At)
}

// What is not in the cluster state may have changed since everything was read.
func TestNoNodeGoesDownByAReadingThatHasTakenOverAnother(t *testing.T) {
	at := time.Now()
	whole, short, none := model.Database{At: at, Whole: at}, model.Database{At: at, Whole: at.Add(-time.Second)}, model.Database{At: at}
	down := model.Decision{Record: model.Record{Sets: []model.RecordedSet{{Name: "hot", Replicas: 3}}}, Disruptive: &model.Action{Kind: model.ActionRestartPod}}
	sets := func(replicas int) []model.RecordedSet { return []model.RecordedSet{{Name: "hot", Replicas: replicas}} }
	for name, situation := range map[string]struct {
		reading model.Database
		decided model.Decision
		reads   int
	}{
		"all nodes stop by a reading that took over another":   {short, model.Decision{Record: model.Record{Sets: sets(0)}}, 1},
		"a group goes by a reading that took over another":     {short, model.Decision{}, 1},
		"a node goes down by everything":                       {whole, down, 0},
		"a node goes down by a reading that took over another": {short, down, 1},
		"a node goes down though nobody answers":               {none, down, 0},
		"a node comes by a reading that took over another":     {short, model.Decision{Record: model.Record{Sets: sets(4)}}, 0},
		"nothing changes by a reading that took over another":  {short, model.Decision{Record: model.Record{Sets: sets(3)}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			reading, reads := situation.reading, 0
			var by []model.Database
			decision := onAll(&reading, &model.Record{Sets: sets(3)}, func() model.Decision {
				by = append(by, reading)
				return situation.decided
			}, func() { reads++; reading = whole })
			assert.Equal(t, situation.reads, reads)
			assert.Len(t, by, 1+situation.reads)
			assert.Equal(t, situation.decided, decision)
			if situation.reads > 0 {
				assert.False(t, by[len(by)-1].TakenOver())
			}
		})
	}
}
