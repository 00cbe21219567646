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
