package record_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
)

type content struct {
	Stage string            `json:"stage,omitempty"`
	Holds map[string]string `json:"holds,omitempty"`
}

var cluster = record.Cluster{Namespace: "prod", Name: "orders"}

const operation = "stevedore-orders-operation"

func setUp(t *testing.T) (context.Context, *recordtest.ConfigMaps, *record.Store) {
	t.Helper()
	server := recordtest.NewConfigMaps()
	return t.Context(), server, record.NewStore(server)
}

func TestTheSameValueIsTheSameBytesWithTheVersionFirst(t *testing.T) {
	for name, value := range map[string]struct {
		value any
		want  string
	}{
		"a struct": {content{Stage: "seen", Holds: map[string]string{"b": "2", "a": "<1>"}}, `{"schemaVersion":1,"stage":"seen","holds":{"a":"<1>","b":"2"}}`},
		"nothing":  {struct{}{}, `{"schemaVersion":1}`},
		"a version of its own": {struct {
			Stage         string `json:"stage"`
			SchemaVersion int    `json:"schemaVersion"`
		}{"seen", 1}, `{"stage":"seen","schemaVersion":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				got, err := record.Encode(record.Operation, value.value)
				require.NoError(t, err)
				assert.Equal(t, value.want, got)
			}
		})
	}
}

func TestWhatIsNoRecordIsNotEncoded(t *testing.T) {
	for name, value := range map[string]any{
		"a list":            []int{1},
		"null":              nil,
		"another version":   map[string]any{"schemaVersion": 2},
		"a version as text": map[string]any{"schemaVersion": "1"},
		"no JSON":           map[string]any{"f": func() {}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := record.Encode(record.Operation, value)
			assert.Error(t, err)
		})
	}
}

func TestARecordKeepsItsBound(t *testing.T) {
	for _, kind := range record.Kinds() {
		var large *record.TooLargeError
		_, err := record.Encode(kind, content{Stage: strings.Repeat("x", kind.Limit()-len(`{"schemaVersion":1,"stage":""}`))})
		require.NoError(t, err, kind)
		_, err = record.Encode(kind, content{Stage: strings.Repeat("x", kind.Limit()-len(`{"schemaVersion":1,"stage":""}`)+1)})
		require.ErrorAs(t, err, &large, kind)
		assert.Equal(t, kind.Limit()+1, large.Size)
	}
}

func TestWhatWasSavedIsLoadedAndLabelled(t *testing.T) {
	ctx, server, store := setUp(t)
	var got content
	entry, err := store.Load(ctx, cluster, record.Operation, &got)
	require.NoError(t, err)
	assert.False(t, entry.Exists())
	want := content{Stage: "seen", Holds: map[string]string{"a": "1"}}
	_, err = store.Save(ctx, entry, want)
	require.NoError(t, err)

	// Another process.
	entry, err = record.NewStore(server).Load(ctx, cluster, record.Operation, &got)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, map[string]string{
		"stevedore.dev/cluster": "orders", "stevedore.dev/record": "operation", "app.kubernetes.io/managed-by": "stevedore",
	}, entry.Object().Labels)
	owner, kind, ok := record.IsRecord(entry.Object())
	assert.True(t, ok)
	assert.Equal(t, cluster, owner)
	assert.Equal(t, record.Operation, kind)
}

func TestEqualContentCostsNoWrite(t *testing.T) {
	ctx, server, store := setUp(t)
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	require.NoError(t, err)
	entry, err = store.Save(ctx, entry, content{Stage: "seen"})
	require.NoError(t, err)
	_, err = store.Save(ctx, entry, content{Stage: "seen"})
	require.NoError(t, err)
	assert.Equal(t, 1, server.Writes())
}

func TestAnothersWriteIsAConflictAndIsNeverOverwritten(t *testing.T) {
	for name, situation := range map[string]struct {
		before bool
		other  func(*recordtest.ConfigMaps)
		want   string
	}{
		"created since": {false, func(s *recordtest.ConfigMaps) { put(s, `{"schemaVersion":1,"stage":"theirs"}`) }, "theirs"},
		"changed since": {true, func(s *recordtest.ConfigMaps) { put(s, `{"schemaVersion":1,"stage":"theirs"}`) }, "theirs"},
		"deleted since": {true, func(s *recordtest.ConfigMaps) { s.Delete("prod", operation) }, ""},
		"commanded since": {true, func(s *recordtest.ConfigMaps) {
			s.Change("prod", operation, func(o *corev1.ConfigMap) { o.Annotations = map[string]string{names.PausedAnnotation: "true"} })
		}, "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, server, store := setUp(t)
			entry, err := store.Load(ctx, cluster, record.Operation, &content{})
			require.NoError(t, err)
			if situation.before {
				entry, err = store.Save(ctx, entry, content{Stage: "ours"})
				require.NoError(t, err)
			}
			situation.other(server)
			_, err = store.Save(ctx, entry, content{Stage: "decided on what is gone"})
			require.ErrorIs(t, err, record.ErrConflict)
			var got content
			entry, err = store.Load(ctx, cluster, record.Operation, &got)
			require.NoError(t, err)
			assert.Equal(t, situation.want, got.Stage)
			_, err = store.Save(ctx, entry, content{Stage: "decided again"})
			require.NoError(t, err)
		})
	}
}

func put(server *recordtest.ConfigMaps, data string) {
	server.Change("prod", operation, func(o *corev1.ConfigMap) { o.Data = map[string]string{names.DataKey: data} })
}

func TestOurOwnLastWriteIsSeenWhileTheCacheLags(t *testing.T) {
	ctx, server, store := setUp(t)
	server.Lag()
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	require.NoError(t, err)
	for _, stage := range []string{"seen", "rendered", "applied"} {
		_, err = store.Save(ctx, entry, content{Stage: stage})
		require.NoError(t, err)
		var got content
		entry, err = store.Load(ctx, cluster, record.Operation, &got)
		require.NoError(t, err)
		assert.Equal(t, stage, got.Stage)
	}
	// The cache catches up to a later write of somebody else.
	put(server, `{"schemaVersion":1,"stage":"theirs"}`)
	server.CatchUp()
	var got content
	_, err = store.Load(ctx, cluster, record.Operation, &got)
	require.NoError(t, err)
	assert.Equal(t, "theirs", got.Stage)
}

// Decided on a record that is older than our own last one, a hold that was recorded and
// set would be undone on the StatefulSet, and nothing would explain it any more.
func TestACacheThatIsOlderThanOurLastWriteIsNotBelievedAfterAConflict(t *testing.T) {
	for name, other := range map[string]func(*recordtest.ConfigMaps){
		"changed since": func(s *recordtest.ConfigMaps) { put(s, `{"schemaVersion":1,"stage":"theirs"}`) },
		"deleted since": func(s *recordtest.ConfigMaps) { s.Delete("prod", operation) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, server, store := setUp(t)
			entry, err := store.Load(ctx, cluster, record.Operation, &content{})
			require.NoError(t, err)
			entry, err = store.Save(ctx, entry, content{Stage: "first"})
			require.NoError(t, err)
			server.Lag()
			entry, err = store.Save(ctx, entry, content{Stage: "second"})
			require.NoError(t, err)
			other(server)
			_, err = store.Save(ctx, entry, content{Stage: "third"})
			require.ErrorIs(t, err, record.ErrConflict)
			var got content
			_, err = store.Load(ctx, cluster, record.Operation, &got)
			require.ErrorIs(t, err, record.ErrConflict, "the first is what the cache has")
			server.CatchUp()
			entry, err = store.Load(ctx, cluster, record.Operation, &got)
			require.NoError(t, err)
			assert.NotEqual(t, "first", got.Stage)
			_, err = store.Save(ctx, entry, content{Stage: "decided again"})
			require.NoError(t, err)
		})
	}
}

func TestAWriteWhoseAnswerWasLostIsReadBack(t *testing.T) {
	ctx, server, store := setUp(t)
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	require.NoError(t, err)
	server.After = func(string, string) error { return errors.New("timed out") }
	_, err = store.Save(ctx, entry, content{Stage: "seen"})
	require.Error(t, err)
	require.NotErrorIs(t, err, record.ErrConflict)
	server.After = nil
	var got content
	_, err = store.Load(ctx, cluster, record.Operation, &got)
	require.NoError(t, err)
	assert.Equal(t, "seen", got.Stage)
}

func TestADamagedRecordIsKeptAsideOnceAndRebuilt(t *testing.T) {
	for name, data := range map[string]map[string]string{
		"no JSON":         {names.DataKey: "stage: seen"},
		"cut short":       {names.DataKey: `{"schemaVersion":1,"stage":"se`},
		"more after it":   {names.DataKey: `{"schemaVersion":1} {}`},
		"a list":          {names.DataKey: `[1]`},
		"empty":           {names.DataKey: ""},
		"no version":      {names.DataKey: `{"stage":"seen"}`},
		"another type":    {names.DataKey: `{"schemaVersion":1,"stage":7}`},
		"too large":       {names.DataKey: `{"schemaVersion":1,"stage":"` + strings.Repeat("x", record.Operation.Limit()) + `"}`},
		"under other key": {"data.yaml": `{"schemaVersion":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, server, _ := setUp(t)
			server.Change("prod", operation, func(o *corev1.ConfigMap) { o.Data = data })
			var entry record.Entry
			var err error
			// Processes that are killed before they could rebuild it.
			for range 3 {
				store := record.NewStore(server)
				entry, err = store.Load(ctx, cluster, record.Operation, &content{})
				require.ErrorIs(t, err, record.ErrDamaged)
				require.NoError(t, store.KeepAside(ctx, entry))
			}
			require.Len(t, server.Names("prod"), 2)
			aside := server.Stored("prod", entry.Aside())
			require.NotNil(t, aside)
			assert.Regexp(t, `^stevedore-orders-operation-damaged-[0-9a-f]{8}$`, aside.Name)
			assert.Equal(t, data, aside.Data)
			assert.Equal(t, "orders", aside.Labels[names.ClusterLabel])
			assert.Equal(t, data, server.Stored("prod", operation).Data)

			store := record.NewStore(server)
			entry, err = store.Load(ctx, cluster, record.Operation, &content{})
			require.ErrorIs(t, err, record.ErrDamaged)
			_, err = store.Save(ctx, entry, content{Stage: "rebuilt"})
			require.NoError(t, err)
			var got content
			_, err = store.Load(ctx, cluster, record.Operation, &got)
			require.NoError(t, err)
			assert.Equal(t, "rebuilt", got.Stage)
		})
	}
}

// `stevedore status` and `diff` read records with the rights of a person, who may only
// read.
func TestReadingADamagedRecordWritesNothing(t *testing.T) {
	ctx, server, store := setUp(t)
	put(server, "damage")
	before := server.Writes()
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	require.ErrorIs(t, err, record.ErrDamaged)
	assert.Equal(t, before, server.Writes())
	assert.NotEmpty(t, entry.Aside())
	assert.Equal(t, []string{operation}, server.Names("prod"))
	_, err = store.Save(ctx, entry, content{Stage: "rebuilt"})
	require.NoError(t, err)
	assert.Equal(t, "damage", server.Stored("prod", entry.Aside()).Data[names.DataKey])
}

func TestADeletedKeyIsRebuiltWithNothingToKeep(t *testing.T) {
	ctx, server, store := setUp(t)
	server.Change("prod", operation, func(o *corev1.ConfigMap) { o.Data = nil })
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	require.ErrorIs(t, err, record.ErrDamaged)
	assert.Empty(t, entry.Aside())
	_, err = store.Save(ctx, entry, content{Stage: "rebuilt"})
	require.NoError(t, err)
	assert.Equal(t, []string{operation}, server.Names("prod"))
}

func TestWhatIsKeptAsideIsBounded(t *testing.T) {
	ctx, server, store := setUp(t)
	for i := range 12 {
		put(server, fmt.Sprintf("damage %d", i))
		entry, err := store.Load(ctx, cluster, record.Operation, &content{})
		require.ErrorIs(t, err, record.ErrDamaged)
		_, err = store.Save(ctx, entry, content{Stage: "rebuilt"})
		require.NoError(t, err)
	}
	assert.Len(t, server.Names("prod"), 1+5)
}

func TestADamagedRecordThatCannotBeKeptIsNotOverwritten(t *testing.T) {
	ctx, server, store := setUp(t)
	put(server, "damage")
	server.Before = func(verb, _ string) error {
		if verb == "create" {
			return errors.New("forbidden")
		}
		return nil
	}
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	require.ErrorIs(t, err, record.ErrDamaged)
	_, err = store.Save(ctx, entry, content{})
	require.ErrorContains(t, err, "keep the damaged ConfigMap prod/stevedore-orders-operation aside")
	assert.Equal(t, "damage", server.Stored("prod", operation).Data[names.DataKey])
}

func TestAnotherReleasesRecordIsLeftAsItIs(t *testing.T) {
	ctx, server, store := setUp(t)
	data := `{"schemaVersion":2,"stage":{"of":"another shape"}}`
	put(server, data)
	entry, err := store.Load(ctx, cluster, record.Operation, &content{})
	var version *record.SchemaVersionError
	require.ErrorAs(t, err, &version)
	require.ErrorContains(t, err, "prod/stevedore-orders-operation")
	require.ErrorContains(t, err, "schemaVersion 2")
	_, err = store.Save(ctx, entry, content{})
	require.ErrorAs(t, err, &version)
	assert.Equal(t, data, server.Stored("prod", operation).Data[names.DataKey])
	assert.Equal(t, []string{operation}, server.Names("prod"))
	assert.Zero(t, server.Writes())
}

func TestACommandStandsUntilTheRenderChanges(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.FixedZone("", 3600))
	for name, situation := range map[string]struct {
		definition map[string]string
		commands   []record.Command
		render     string
		want       map[string]string
	}{
		"none":                              {nil, nil, "r1", map[string]string{}},
		"a pause":                           {nil, []record.Command{record.Pause("r1")}, "r1", map[string]string{names.PausedAnnotation: "true"}},
		"a pause of another render":         {nil, []record.Command{record.Pause("r1")}, "r2", map[string]string{}},
		"a resume over the definition":      {map[string]string{names.PausedAnnotation: "true"}, []record.Command{record.Resume("r1")}, "r1", map[string]string{names.PausedAnnotation: "false"}},
		"the definition after a render":     {map[string]string{names.PausedAnnotation: "true"}, []record.Command{record.Resume("r1")}, "r2", map[string]string{names.PausedAnnotation: "true"}},
		"the last one of two":               {nil, []record.Command{record.Pause("r1"), record.Resume("r1")}, "r1", map[string]string{names.PausedAnnotation: "false"}},
		"all of them":                       {nil, []record.Command{record.Abort("r1"), record.Release("r1"), record.Restart(at, "r1")}, "r1", map[string]string{names.AbortAnnotation: "true", names.ReleasedAnnotation: "true", names.RestartedAtAnnotation: "2026-11-21T09:00:00Z"}},
		"by hand, whatever the render":      {nil, []record.Command{{Key: names.PausedAnnotation, Value: "true"}}, "r2", map[string]string{names.PausedAnnotation: "true"}},
		"other annotations are no commands": {map[string]string{"team": "x"}, nil, "r1", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, server, store := setUp(t)
			put(server, `{"schemaVersion":1,"stage":"seen"}`)
			for _, command := range situation.commands {
				require.NoError(t, store.Give(ctx, cluster, command))
			}
			var got content
			entry, err := record.NewStore(server).Load(ctx, cluster, record.Operation, &got)
			require.NoError(t, err)
			assert.Equal(t, "seen", got.Stage)
			assert.Equal(t, situation.want, record.Effective(situation.definition, entry.Commands(), situation.render))
		})
	}
}

func TestAnExpiredCommandDoesNotComeBackWithAnOldRender(t *testing.T) {
	ctx, server, store := setUp(t)
	put(server, `{"schemaVersion":1,"stage":"seen"}`)
	require.NoError(t, store.Give(ctx, cluster, record.Pause("r1")))
	require.NoError(t, store.Give(ctx, cluster, record.Restart(time.Unix(0, 0), "r2")))
	var got content
	entry, err := store.Load(ctx, cluster, record.Operation, &got)
	require.NoError(t, err)
	entry, err = store.Save(ctx, entry.DropExpired("r2"), got)
	require.NoError(t, err)
	assert.Equal(t, []record.Command{record.Restart(time.Unix(0, 0), "r2")}, entry.Commands())
	_, err = store.Save(ctx, entry.Drop(names.RestartedAtAnnotation), got)
	require.NoError(t, err)
	entry, err = store.Load(ctx, cluster, record.Operation, &got)
	require.NoError(t, err)
	assert.Empty(t, entry.Commands())
	assert.Empty(t, record.Effective(nil, entry.Commands(), "r1"))
}

func TestACommandForAnUnknownClusterSaysSo(t *testing.T) {
	ctx, _, store := setUp(t)
	err := store.Give(ctx, cluster, record.Pause("r1"))
	require.ErrorContains(t, err, "there is no record of a cluster "+cluster.String())
}

func TestAnObservationIsPublished(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	a, b := []byte("a"), []byte("b")
	for name, situation := range map[string]struct {
		prev Published
		next []byte
		end  bool
		want bool
	}{
		"the first time":                              {Published{}, a, false, true},
		"unchanged":                                   {Published{now.Add(-9*time.Minute + time.Second), a}, a, false, false},
		"unchanged at the end of an operation":        {Published{now.Add(-9*time.Minute + time.Second), a}, a, true, false},
		"unchanged for so long that its age misleads": {Published{now.Add(-9 * time.Minute), a}, a, false, true},
		"changed too soon":                            {Published{now.Add(-10*time.Minute + time.Second), a}, b, false, false},
		"changed after ten minutes":                   {Published{now.Add(-10 * time.Minute), a}, b, false, true},
		"changed too soon, at the end of operation":   {Published{now.Add(-time.Second), a}, b, true, true},
		"changed, when the clock went back":           {Published{now.Add(time.Hour), a}, b, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, situation.want, record.ShouldPublish(situation.prev, situation.next, now, situation.end))
		})
	}
}

type Published = record.Published

func TestPublishedNumbersAreRounded(t *testing.T) {
	const MiB = int64(1) << 20
	for _, row := range []struct{ in, want int64 }{
		{-1, 0}, {0, 0}, {1, 0}, {70 << 10, 128 << 10}, {MiB, MiB}, {MiB + MiB/20, MiB}, {MiB + MiB/10, MiB + MiB/8},
		{1<<40 + 1, 1 << 40}, {1<<63 - 1, 15 << 59},
	} {
		assert.Equal(t, row.want, record.RoundBytes(row.in), "%d bytes", row.in)
	}
	for _, row := range []struct{ in, want int64 }{{-5, 0}, {1, 1}, {15, 15}, {16, 16}, {17, 18}, {100, 104}, {1000, 1024}} {
		assert.Equal(t, row.want, record.RoundCount(row.in), "%d rows", row.in)
	}
	for n := int64(1 << 20); n < 1<<50; n += n/7 + 1 {
		got := record.RoundBytes(n)
		assert.InEpsilon(t, n, got, 0.0626)
		assert.Equal(t, got, record.RoundBytes(got), "rounding twice is rounding once")
	}
}
