package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/exported"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
)

const mib = int64(1) << 20

// spread lays a table's copies on nodes.
func spread(db *model.Database, table string, shards, copies int, bytes int64) {
	db.Tables = append(db.Tables, model.Table{Name: table, Replicas: fmt.Sprint(copies - 1), Started: copies, TotalShardsPerNode: -1})
	for id := range shards {
		for c := range copies {
			db.Shards = append(db.Shards, model.Shard{Table: table, ID: id, Node: db.Nodes[(id+c)%len(db.Nodes)].ID, Primary: c == 0, State: "STARTED", Bytes: bytes})
		}
	}
}

func readingOf(nodes int) *model.Database {
	db := &model.Database{Contact: model.Yes, Recovered: model.Yes, TablesKnown: true, AllocationKnown: true, Allocation: "all"}
	for i := range nodes {
		db.Nodes = append(db.Nodes, model.Node{ID: fmt.Sprint("id-", i), Name: fmt.Sprint("data-hot-", i), DiskSize: 1000 * mib, DiskUsed: 100 * mib})
	}
	db.Settings = model.AllocationSettings{LowWatermark: "85%", DiskThreshold: true, TotalShardsPerNode: -1}
	return db
}

func published(t *testing.T, db *model.Database) (*Observation, int) {
	t.Helper()
	o := &Observation{At: db.At, Contact: "yes", Recovered: "yes", Health: "green"}
	for _, n := range db.Nodes {
		o.Nodes = append(o.Nodes, ObservationNode{Name: n.Name, ID: n.ID, Disk: n.DiskSize, Used: n.DiskUsed, Disks: disksOf(&n), Heap: heapOf(&n)})
	}
	o.Data = dataOf(db).of(o.Nodes)
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var read Observation
	require.NoError(t, json.Unmarshal(text, &read))
	return &read, len(text)
}

func TestAPublishedReadingForeseesADrainAsTheReadingItselfDoes(t *testing.T) {
	db := readingOf(4)
	spread(db, "doc.items", 8, 2, 4*mib)
	spread(db, "doc.carts", 4, 1, 2*mib)
	db.Nodes[0].Disks = []model.Disk{{Size: 1024 * mib, Used: 1024 * mib}, {Size: 16 * mib, Used: 2 * mib}}
	db.Nodes[1].Disks = []model.Disk{{Size: 1000 * mib, Used: 100 * mib}} // which its sum says
	db.Nodes[2].Heap = model.Heap{Used: 100*mib + 1, Max: 512*mib - 7}
	db.Tables[0].WaitForActiveShards = "1" // the default, which is left out
	db.Tables[1].Enable, db.Tables[1].WaitForActiveShards = "none", "ALL"
	db.Effective = map[string]string{"stats.enabled": "true"}
	o, _ := published(t, db)
	require.NoError(t, o.Validate())
	back := o.Database()
	assert.Equal(t, db.Nodes[0].Disks, back.Nodes[0].Disks)
	assert.Nil(t, back.Nodes[1].Disks)
	assert.Equal(t, []model.Heap{{}, {}, {Used: record.RoundBytes(100*mib + 1), Max: 512*mib - 7}, {}}, []model.Heap{back.Nodes[0].Heap, back.Nodes[1].Heap, back.Nodes[2].Heap, back.Nodes[3].Heap})
	require.Equal(t, db.Effective, back.Effective)
	require.Equal(t, []string{" ", "none ALL"}, []string{back.Tables[0].Enable + " " + back.Tables[0].WaitForActiveShards, back.Tables[1].Enable + " " + back.Tables[1].WaitForActiveShards})
	all := []string{"data-hot-0", "data-hot-1", "data-hot-2", "data-hot-3"}
	for _, leaving := range all {
		assert.Equal(t, capacity.ForecastDrain(db, "6.4.3", []string{leaving}, all), capacity.ForecastDrain(&back, "6.4.3", []string{leaving}, all), leaving)
	}
	type copyOf struct {
		table, node string
		id          int
	}
	seen, primaries := map[copyOf]bool{}, 0
	for _, s := range back.Shards {
		at := copyOf{s.Table, s.Node, s.ID}
		assert.False(t, seen[at], "two copies of one shard on a node: %v", at)
		seen[at] = true
		if s.Primary {
			primaries++
		}
	}
	assert.Equal(t, 12, primaries)
	assert.Equal(t, model.Green, back.Health.Colour)
}

func TestAPublishedReadingHasABoundAndSaysWhatIsLeftOut(t *testing.T) {
	db := readingOf(12)
	for i := range 2000 {
		spread(db, fmt.Sprintf("doc.partitioned_%04d", i), 4, 2, int64(i+1)*mib)
	}
	o, size := published(t, db)
	assert.Less(t, size, maxPublishedBytes+16<<10)
	require.NotNil(t, o.Data)
	assert.Equal(t, 2000, len(o.Data.Tables)+o.Data.Left)
	assert.Positive(t, o.Data.LeftBytes)
	assert.Equal(t, "doc.partitioned_", o.Data.Tables[0].Name[:16])
	largest := o.Data.Tables[0].On[0][1] + o.Data.Tables[0].On[1][1]
	last := o.Data.Tables[len(o.Data.Tables)-1]
	assert.GreaterOrEqual(t, largest, last.On[0][1]+last.On[1][1], "the smallest are left out")
}

func TestHowTheTablesLieIsReadAgainWhenItIsOldOrNodesHaveJoined(t *testing.T) {
	read := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		seen  int // nodes of the newest reading; the detailed one saw three
		moved int
		later time.Duration
		due   bool
	}{
		"the same nodes":               {seen: 3, later: time.Minute},
		"a node has joined":            {seen: 4, later: joinedInterval, due: true},
		"a node has joined, just read": {seen: 4, later: time.Second},
		"a node has left":              {seen: 2, later: time.Minute},
		"a shard has moved":            {seen: 3, moved: 1, later: joinedInterval, due: true},
		"a shard has moved, just read": {seen: 3, moved: 1, later: time.Second},
		"too old":                      {seen: 3, later: record.ObservationInterval, due: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &worker{reading: *readingOf(3)}
			w.reading.At, w.reading.ShardsKnown = read, true
			w.noteData(true)
			w.reading = *readingOf(c.seen)
			w.reading.ShardsKnown = c.seen == 3
			w.reading.Nodes[0].Shards += c.moved
			assert.Equal(t, c.due, w.dataDue(read.Add(c.later)))
		})
	}
	assert.True(t, (&worker{}).dataDue(read), "never read")
}

// What is in use of a heap differs in every reading: while an operation is under way that would be a write
// each minute, and each costs etcd its size.
func TestAHeapIsPublishedWithWhatElseHasChangedOnly(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*model.Database)
		writes int
	}{
		{"another heap", func(db *model.Database) { db.Nodes[0].Heap.Used *= 2 }, 0},
		{"another heap, and a fuller disk", func(db *model.Database) { db.Nodes[0].Heap.Used *= 2; db.Nodes[0].DiskUsed *= 2 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			configMaps := recordtest.NewConfigMaps()
			w := newWorker(t, configMaps)
			w.reading = *readingOf(3)
			w.reading.Nodes[0].Heap = model.Heap{Used: 128 * mib, Max: 512 * mib}
			w.reading.NodesKnown, w.reading.At = true, time.Now()
			publish := func() {
				w.publish(t.Context(), model.Decision{Apply: true, Record: model.Record{Bootstrap: model.Bootstrap{Done: true}, Operation: &model.Operation{}}})
			}
			publish()
			before := configMaps.Writes()
			c.change(&w.reading)
			w.published.At = w.published.At.Add(-operationInterval)
			publish()
			assert.Equal(t, c.writes, configMaps.Writes()-before)
			var got Observation
			_, err := w.store.Load(t.Context(), w.key, record.Observation, &got)
			require.NoError(t, err)
			assert.Equal(t, []int64{int64(1+c.writes) * 128 * mib, 512 * mib}, got.Nodes[0].Heap)
		})
	}
}

// A plan had the shards of before a grow for up to ten minutes.
func TestShardsThatHaveMovedArePublishedSoon(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  time.Duration
		change func(*worker)
		writes int
	}{
		{"nothing moved", time.Minute, func(w *worker) { w.reading.Nodes[0].DiskUsed *= 2 }, 0},
		{"a shard moved", joinedInterval, func(w *worker) { w.reading.Nodes[0].Shards++; w.noteData(true) }, 1},
		{"a shard moved a moment ago", time.Second, func(w *worker) { w.reading.Nodes[0].Shards++; w.noteData(true) }, 0},
		{"how the tables lie is not read again yet", joinedInterval, func(w *worker) { w.reading.Nodes[0].Shards++ }, 0},
		{"shards are on their way", joinedInterval, func(w *worker) { w.reading.Relocating = 2; w.noteData(true) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			configMaps := recordtest.NewConfigMaps()
			w := newWorker(t, configMaps)
			w.reading = *readingOf(3)
			w.reading.NodesKnown, w.reading.ShardsKnown, w.reading.At = true, true, time.Now()
			w.noteData(true)
			publish := func() {
				w.publish(t.Context(), model.Decision{Apply: true, Record: model.Record{Bootstrap: model.Bootstrap{Done: true}}})
			}
			publish()
			before := configMaps.Writes()
			c.change(w)
			w.published.At = w.published.At.Add(-c.after)
			publish()
			assert.Equal(t, c.writes, configMaps.Writes()-before)
		})
	}
}

// What kubectl prints of the ConfigMap is read back by those who have no access to it.
func TestAPublishedReadingIsReadBackFromWhatKubectlPrints(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	w := newWorker(t, configMaps)
	w.reading = *readingOf(3)
	spread(&w.reading, "doc.items", 4, 2, mib)
	w.reading.NodesKnown, w.reading.At = true, time.Now()
	w.noteData(true)
	w.publish(t.Context(), model.Decision{Apply: true, Record: model.Record{Bootstrap: model.Bootstrap{Done: true}}})

	var want, got Observation
	_, err := w.store.Load(t.Context(), w.key, record.Observation, &want)
	require.NoError(t, err)
	require.Len(t, want.Data.Tables, 1)
	object, err := configMaps.Get(t.Context(), w.key.Namespace, record.Observation.Name(w.key.Name))
	require.NoError(t, err)
	object.APIVersion, object.Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(object)
	require.NoError(t, err)
	file, err := exported.Read("observations.yaml", bytes.NewReader(text))
	require.NoError(t, err)
	place, err := file.Load(w.key, &got)
	require.NoError(t, err)
	assert.Equal(t, "observations.yaml:1", place)
	assert.Equal(t, want, got)
}

// Who reads a table makes a shard of each copy.
func TestNoMoreCopiesArePublishedThanCanBeRead(t *testing.T) {
	db := readingOf(2)
	spread(db, "doc.small", 1, 1, mib)
	data := dataOf(db)
	data.Tables[0].nodes["id-0"] = [3]int64{maxPublishedCopies + 1, mib, mib}
	o := Observation{Nodes: []ObservationNode{{Name: "a", ID: "id-0"}, {Name: "b", ID: "id-1"}}}
	o.Data = data.of(o.Nodes)
	assert.Empty(t, o.Data.Tables)
	assert.Equal(t, 1, o.Data.Left)
	require.NoError(t, o.Validate())

	table := func(shards int, on ...[3]int64) Observation {
		return Observation{Nodes: o.Nodes, Data: &ObservationData{Tables: []ObservationTable{{Name: "doc.t", Shards: shards, On: on}}}}
	}
	for name, c := range map[string]struct {
		o     Observation
		sound bool
	}{
		"without tables":                  {Observation{}, true},
		"a table":                         {table(2, [3]int64{1, 2, 2}, [3]int64{1, 2, 2}), true},
		"as many as there may be":         {table(2, [3]int64{maxPublishedCopies, 2, 2}), true},
		"too many on one node":            {table(2, [3]int64{maxPublishedCopies + 1, 2, 2}), false},
		"so many that their sum is small": {table(2, [3]int64{1 << 62, 2, 2}, [3]int64{1 << 62, 2, 2}), false},
		"too many on all":                 {table(2, [3]int64{maxPublishedCopies, 2, 2}, [3]int64{1, 2, 2}), false},
		"fewer than none":                 {table(2, [3]int64{-1, 2, 2}), false},
		"shards fewer than none":          {table(-1, [3]int64{1, 2, 2}), false},
		"two disks":                       {Observation{Nodes: []ObservationNode{{Disks: [][2]int64{{2, 1}, {2, 0}}}}}, true},
		"a disk of no size":               {Observation{Nodes: []ObservationNode{{Disks: [][2]int64{{2, 1}, {-1, -1}}}}}, false},
		"a node too many":                 {table(2, [3]int64{1, 1, 1}, [3]int64{1, 1, 1}, [3]int64{1, 1, 1}), false},
	} {
		err := c.o.Validate()
		assert.Equal(t, c.sound, err == nil, "%s: %v", name, err)
	}
}
