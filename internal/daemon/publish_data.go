package daemon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// ObservationData is how tables lie on nodes, and what says where they may: what
// a plan needs to say whether a drain fits. Bytes are rounded.
type ObservationData struct {
	// Tables are the largest, at most maxPublishedTables and maxPublishedBytes;
	// Left are how many are not among them, LeftBytes their copies together.
	Tables    []ObservationTable `json:"tables,omitempty"`
	Left      int                `json:"left,omitempty"`
	LeftBytes int64              `json:"leftBytes,omitempty"`
	// Unreplicated are tables with a number_of_replicas of 0, at most 20.
	Unreplicated []string `json:"unreplicated,omitempty"`
	Snapshots    int      `json:"snapshots,omitempty"`
	// Answers are those that are known, by the name of the rule that asks.
	Answers    map[string]gates.Answer  `json:"answers,omitempty"`
	Allocation model.AllocationSettings `json:"allocation"`
	// Enable is cluster.routing.allocation.enable.
	Enable string `json:"enable,omitempty"`
	// Effective are the values of the cluster settings that the definition names and a node was started without: what is so
	// already is not planned.
	Effective map[string]string `json:"effective,omitempty"`
}

// ObservationTable is a table or a partition.
type ObservationTable struct {
	Name     string `json:"name"`
	Replicas string `json:"replicas"`
	// Shards are its primaries, Started the fewest started copies of one of them.
	Shards  int `json:"shards"`
	Started int `json:"started"`
	// On are for each of the observation's nodes the copies on it, their bytes and
	// the bytes of the largest one.
	On [][3]int64 `json:"on"`

	Created            string            `json:"created,omitempty"`
	Partition          string            `json:"partition,omitempty"`
	Of                 string            `json:"of,omitempty"`
	TotalShardsPerNode int               `json:"totalShardsPerNode,omitempty"`
	Filtered           bool              `json:"filtered,omitempty"`
	Exclude            map[string]string `json:"exclude,omitempty"`
	Include            map[string]string `json:"include,omitempty"`
	Require            map[string]string `json:"require,omitempty"`
	// Enable is routing.allocation.enable, "" for all; WaitForActiveShards is
	// write.wait_for_active_shards, "" for CrateDB's default 1.
	Enable              string `json:"enable,omitempty"`
	WaitForActiveShards string `json:"waitForActiveShards,omitempty"`

	bytes int64
	nodes map[string][3]int64
}

// Bounds of what is published of tables: each write costs etcd its whole size.
const (
	maxPublishedTables = 500
	maxPublishedBytes  = 128 << 10
	// maxPublishedCopies are those of all published tables. Who reads them makes a
	// shard of each: a few bytes of a damaged reading must not become all memory.
	maxPublishedCopies = 1 << 20
)

// joinedInterval is how soon after a detailed reading the next one is made because
// of nodes that it did not see: it is dear where there are many shards, and while
// nodes come and go it must not be made at each look.
const joinedInterval = 10 * time.Second

// dataDue says that how the tables lie was read too long ago to be published, or
// that nodes have joined since, of which a plan would know neither the disk nor the
// attributes: the next reading, which is made anyway, reads it too.
func (w *worker) dataDue(now time.Time) bool {
	since := now.Sub(w.dataAt)
	return w.dataAt.IsZero() || since >= record.ObservationInterval || w.liesOtherwise(since)
}

// liesOtherwise says that the last detailed reading is so long ago, and shards lie on other nodes by now than it
// saw, or may.
func (w *worker) liesOtherwise(since time.Duration) bool {
	return since >= joinedInterval && w.joined() || since >= movedInterval(w.dataShards) && w.moved(w.dataShards)
}

// joined says that the last reading saw a node that the last detailed one did not.
func (w *worker) joined() bool {
	return slices.ContainsFunc(w.reading.Nodes, func(n model.Node) bool {
		_, known := w.attributes[n.ID]
		return !known
	})
}

// movedInterval is how soon after shards have moved they are read and published again: where
// there are many, that is dear for CrateDB and for etcd.
func movedInterval(shards map[string]int) time.Duration {
	const many = 1000
	sum := 0
	for _, n := range shards {
		sum += n
	}
	if sum > many {
		return operationInterval
	}
	return joinedInterval
}

// moved says that a node has another number of shards than before. Each reading counts them.
func (w *worker) moved(before map[string]int) bool {
	return w.reading.ShardsKnown && before != nil && !maps.Equal(before, shardCounts(&w.reading))
}

// shifted says that shards have moved since the last publication, and how the tables lie was
// read since.
func (w *worker) shifted(now time.Time) bool {
	return w.moved(w.publishedShards) && !w.moved(w.dataShards) && now.Sub(w.published.At) >= movedInterval(w.publishedShards)
}

// moving is no node's id. It stands in shardCounts while shards are on their way: that is published too, and that they
// have come to rest.
const moving = ""

// shardCounts are how many shards each node has, by its id; nil where that is not known.
func shardCounts(db *model.Database) map[string]int {
	if !db.ShardsKnown {
		return nil
	}
	out := map[string]int{}
	if db.Relocating+db.Initializing > 0 {
		out[moving] = 1
	}
	for i := range db.Nodes {
		out[db.Nodes[i].ID] = db.Nodes[i].Shards
	}
	return out
}

// noteData keeps what a detailed reading says of the tables.
func (w *worker) noteData(detailed bool) {
	db := &w.reading
	if detailed && db.Contact == model.Yes {
		w.dataAt = db.At // also when it failed: it is dear, and not tried at each pass
	}
	if db.Contact != model.Yes || !db.TablesKnown || !db.AllocationKnown {
		return
	}
	w.data = dataOf(db)
	w.dataShards = shardCounts(db)
	w.attributes = map[string]map[string]string{}
	for i := range db.Nodes {
		w.attributes[db.Nodes[i].ID] = db.Nodes[i].Attributes
	}
}

func dataOf(db *model.Database) *ObservationData {
	out := &ObservationData{Answers: map[string]gates.Answer{}, Unreplicated: db.Unreplicated, Snapshots: db.Snapshots, Allocation: db.Settings, Enable: db.Allocation, Effective: db.Effective}
	for i, rule := range gates.Questions {
		if i < len(db.Answers) && db.Answers[i].Known {
			out.Answers[rule.Name] = db.Answers[i]
		}
	}
	byName := map[string]*ObservationTable{}
	out.Tables = make([]ObservationTable, 0, len(db.Tables))
	for i := range db.Tables {
		t := &db.Tables[i]
		out.Tables = append(out.Tables, ObservationTable{
			Name: t.Name, Replicas: t.Replicas, Started: t.Started, Created: t.Created, Partition: t.Partition, Of: t.Of,
			TotalShardsPerNode: t.TotalShardsPerNode, Filtered: t.Filtered, Exclude: t.Exclude, Include: t.Include, Require: t.Require,
			Enable: t.Enable, WaitForActiveShards: shortWait(t.WaitForActiveShards),
			nodes: map[string][3]int64{},
		})
		byName[t.Name] = &out.Tables[i]
	}
	for i := range db.Shards {
		s := &db.Shards[i]
		t := byName[s.Table]
		if t == nil {
			continue
		}
		if s.Primary {
			t.Shards++
		}
		if s.Node != "" {
			on := t.nodes[s.Node]
			t.nodes[s.Node] = [3]int64{on[0] + 1, on[1] + s.Bytes, max(on[2], s.Bytes)}
			t.bytes += s.Bytes
		}
	}
	slices.SortFunc(out.Tables, func(a, b ObservationTable) int {
		return cmp.Or(cmp.Compare(record.RoundBytes(b.bytes), record.RoundBytes(a.bytes)), strings.Compare(a.Name, b.Name))
	})
	return out
}

// shortWait leaves the default out: each table costs etcd its size.
func shortWait(wait string) string {
	if wait == "1" {
		return ""
	}
	return wait
}

// of is the data for these nodes, in their order, within the bounds.
func (d *ObservationData) of(nodes []ObservationNode) *ObservationData {
	if d == nil {
		return nil
	}
	out := *d
	out.Tables = nil
	size, copies := 0, int64(0)
	for i := range d.Tables {
		t := d.Tables[i]
		t.On = make([][3]int64, len(nodes))
		for j, n := range nodes {
			on := t.nodes[n.ID]
			copies += on[0]
			t.On[j] = [3]int64{on[0], record.RoundBytes(on[1]), record.RoundBytes(on[2])}
		}
		text, err := json.Marshal(t)
		if size += len(text); err != nil || len(out.Tables) == maxPublishedTables || size > maxPublishedBytes || copies > maxPublishedCopies {
			out.Left = len(d.Tables) - i
			for _, left := range d.Tables[i:] {
				out.LeftBytes += left.bytes
			}
			out.LeftBytes = record.RoundBytes(out.LeftBytes)
			break
		}
		out.Tables = append(out.Tables, t)
	}
	return &out
}

// Validate says whether a reading is one that a daemon may have written. Its numbers are
// those of a cluster, and it does not speak of nodes that it does not have.
func (o *Observation) Validate() error {
	for _, n := range o.Nodes {
		if slices.ContainsFunc(n.Disks, func(d [2]int64) bool { return d[0] <= 0 || d[1] < 0 }) {
			return errors.New("a node has a disk of no size")
		}
	}
	if o.Data == nil {
		return nil
	}
	copies := int64(0)
	for _, t := range o.Data.Tables {
		if t.Shards < 0 || len(t.On) > len(o.Nodes) {
			return errors.New("a table has shards where there are none")
		}
		for _, on := range t.On {
			if on[0] < 0 || on[0] > maxPublishedCopies {
				return fmt.Errorf("a table has %d copies on one node", on[0])
			}
			copies += on[0]
		}
	}
	if copies > maxPublishedCopies {
		return fmt.Errorf("the tables have %d copies, and %d are published at most", copies, maxPublishedCopies)
	}
	return nil
}

// Database is a reading as far as the observation says it: shards have made-up
// numbers, and lie on nodes as many and as large as they were.
func (o *Observation) Database() model.Database {
	db := model.Database{
		At: o.At, Contact: answerOf(o.Contact), Recovered: answerOf(o.Recovered), ClusterID: o.ClusterID, Unassigned: o.Unassigned,
		Health:     model.Health{Colour: colourOf(o.Health), Tables: o.Tables, Underreplicated: int64(o.Unassigned)},
		NodesKnown: len(o.Nodes) > 0, DeniedKnown: true, Denied: o.Denied,
	}
	for _, n := range o.Nodes {
		id := cmp.Or(n.ID, n.Name)
		var disks []model.Disk
		for _, d := range n.Disks {
			disks = append(disks, model.Disk{Size: d[0], Used: d[1]})
		}
		var heap model.Heap
		if len(n.Heap) == 2 && n.Heap[0] >= 0 && n.Heap[1] > 0 {
			heap = model.Heap{Used: n.Heap[0], Max: n.Heap[1]}
		}
		db.Nodes = append(db.Nodes, model.Node{
			Heap: heap, ID: id, Name: n.Name, Version: n.Version, DiskSize: n.Disk, DiskUsed: n.Used, Disks: disks, Shards: max(n.Shards, 0), Bytes: max(n.Bytes, 0), Attributes: n.Attributes,
		})
		db.ShardsKnown = db.ShardsKnown || n.Shards >= 0
		if n.Master {
			db.MasterNode = id
		}
	}
	d := o.Data
	if d == nil {
		return db
	}
	db.TablesKnown, db.AllocationKnown, db.SnapshotsKnown, db.UnreplicatedKnown = true, true, true, true
	for _, rule := range gates.Questions {
		db.Answers = append(db.Answers, d.Answers[rule.Name])
	}
	db.Settings, db.Unreplicated, db.Snapshots, db.Allocation = d.Allocation, d.Unreplicated, d.Snapshots, d.Enable
	db.Effective = d.Effective
	for _, t := range d.Tables {
		db.Tables = append(db.Tables, model.Table{
			Name: t.Name, Replicas: t.Replicas, Started: t.Started, Created: t.Created, Partition: t.Partition, Of: t.Of,
			TotalShardsPerNode: t.TotalShardsPerNode, Filtered: t.Filtered, Exclude: t.Exclude, Include: t.Include, Require: t.Require,
			Enable: t.Enable, WaitForActiveShards: t.WaitForActiveShards,
		})
		id := 0
		primaries := map[int]bool{}
		for i, on := range t.On {
			if i >= len(db.Nodes) || t.Shards == 0 {
				break
			}
			rest := on[1] - on[2]
			for n := range on[0] {
				bytes := on[2]
				if n > 0 {
					bytes = rest / (on[0] - 1)
				}
				db.Shards = append(db.Shards, model.Shard{Table: t.Name, ID: id, Node: db.Nodes[i].ID, Primary: !primaries[id], State: "STARTED", Bytes: max(bytes, 0)})
				primaries[id] = true
				id = (id + 1) % t.Shards
			}
		}
	}
	return db
}

func answerOf(text string) model.Answer {
	for _, a := range []model.Answer{model.Yes, model.No} {
		if a.String() == text {
			return a
		}
	}
	return model.Unknown
}

func colourOf(text string) model.Colour {
	for _, c := range []model.Colour{model.Green, model.Yellow, model.Red} {
		if c.String() == text {
			return c
		}
	}
	return model.ColourUnknown
}
