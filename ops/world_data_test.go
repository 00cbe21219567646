package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// toyData is what lies on the nodes of the world, and where it may be.
type toyData struct {
	// whole is sys.cluster_health at the last look.
	whole model.Health
	// see changes what is read; nil: nothing is.
	see    func(*model.Database)
	tables []model.Table
	shards []model.Shard
	// exclude is cluster.routing.allocation.exclude._id, persistent, and what a
	// transient one hides it by; others are entries that are not ours.
	exclude, hidden string
	others          []string
	// beside is what others exclude by other keys; void: they have changed it after ours.
	beside map[string]string
	void   bool
	// stuck keeps shards where they are until the allocation is retried.
	stuck bool
	// snapshot runs for so many looks.
	snapshot int
	// renamed are nodes that came back with another id.
	renamed map[string]string
	// lowered are the writes that made a set smaller.
	lowered []string
	deleted []string
	toyZones
}

func (w *world) nodeID(name string) string {
	if id := w.renamed[name]; id != "" {
		return id
	}
	return name
}

// fill puts a table's shards on nodes, as evenly as can be.
func (w *world) fill(table model.Table, shards, copies int) {
	nodes := w.dataNodes()
	table.Started = copies
	w.tables = append(w.tables, table)
	for id := range shards {
		for c := range copies {
			w.shards = append(w.shards, model.Shard{Table: table.Name, ID: id, Node: nodes[(id+c)%len(nodes)], Primary: c == 0, State: "STARTED", Bytes: 100})
		}
	}
}

func (w *world) dataNodes() []string {
	var names []string
	for _, n := range w.nodeNames() {
		if !strings.HasPrefix(n, "crate-master-") {
			names = append(names, n)
		}
	}
	return names
}

func (w *world) excluded() []string {
	list := w.exclude
	if w.hidden != "" {
		list = w.hidden
	}
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// besideOurs: somebody changes another key of the exclusions.
func (w *world) besideOurs(key, value string) {
	w.beside, w.void = map[string]string{key: value}, true
	if value == "" {
		w.beside = nil
	}
}

// refill lets a copy come back to a node that is excluded no more, though it is on the list.
func (w *world) refill() int {
	for i := range w.shards {
		s := &w.shards[i]
		for _, node := range w.excluded() {
			taken := slices.ContainsFunc(w.shards, func(o model.Shard) bool { return o.Table == s.Table && o.ID == s.ID && o.Node == node })
			if !taken && slices.Contains(w.dataNodes(), node) && !slices.Contains(w.excluded(), s.Node) {
				s.Node = node
				return 1
			}
		}
	}
	return 0
}

// move takes two shards off excluded nodes, as CrateDB does at once.
func (w *world) move(db *model.Database) int {
	if w.snapshot > 0 {
		if w.snapshot--; w.snapshot > 0 {
			w.stuck = true
		}
		return 0
	}
	if w.stuck {
		return 0
	}
	if w.void {
		return w.refill()
	}
	p := w.place(db)
	moved := p.Move(2)
	w.shards = p.Rows()
	return moved
}

// place asks CrateDB's deciders of what is on the nodes that hold data.
func (w *world) place(db *model.Database) *cluster.Placement {
	members := slices.DeleteFunc(slices.Clone(db.Nodes), func(n model.Node) bool { return strings.HasPrefix(n.Name, "crate-master-") })
	return cluster.Place(members, &db.Settings, w.tables, w.shards)
}

func (w *world) seeData(o *model.Observed, db *model.Database) {
	if w.stuck {
		db.Stuck = []model.Explanation{{
			Table: "doc.one", Text: "cannot move shard to another node", Reasons: []string{"data-hot-0: a copy of this shard is already allocated to this node"},
		}}
	}
	for i := range db.Nodes {
		n := &db.Nodes[i]
		n.ID = w.nodeID(n.Name)
		if z := w.zones[n.Name]; z != "" {
			n.Attributes = map[string]string{"zone": z}
		}
	}
	db.Settings = model.AllocationSettings{Exclude: map[string]string{}, ShardsPerNode: 1000, TotalShardsPerNode: -1}
	maps.Copy(db.Settings.Exclude, w.beside)
	w.seeAwareness(db)
	if list := strings.Join(w.excluded(), ","); list != "" {
		db.Settings.Exclude["_id"] = list
	}
	running := w.snapshot
	w.seeZones(db)
	db.Relocating = w.move(db)
	db.ShardsKnown, db.AllocationKnown = true, true
	db.Snapshots = min(running, 1)
	db.Shards = w.shown()
	db.Tables = slices.Clone(w.tables)
}

func (s *toySession) execData(statement string) (bool, error) {
	w := s.w
	value, ok := strings.CutPrefix(statement, `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = `)
	if ok {
		list := strings.FieldsFunc(strings.Trim(value, "'"), func(r rune) bool { return r == ',' })
		for _, id := range w.others {
			require.Contains(w.t, list, id, "C: others' exclusions are never touched")
		}
		for _, node := range w.leaving() {
			require.Contains(w.t, list, w.nodeID(node), "a node that is still there takes no shard")
		}
		w.write(func() {
			for _, id := range list {
				if slices.Contains(w.others, id) || slices.Contains(w.excluded(), id) {
					continue
				}
				require.NotNil(w.t, w.record.Exclusions, "the intent is recorded before the setting")
				require.Contains(w.t, w.record.Exclusions.IDs, id)
				require.Contains(w.t, w.set(w.record.Exclusions.Set).Hold, id, "and is said on the StatefulSet")
			}
			w.void = w.void && w.exclude == strings.Trim(value, "'")
			w.exclude = strings.Trim(value, "'")
		})
		return true, nil
	}
	switch {
	case statement == "ALTER CLUSTER REROUTE RETRY FAILED":
		w.write(func() { w.stuck, w.missed = false, nil })
		return true, nil
	case strings.HasPrefix(statement, "ALTER TABLE"):
		return true, errors.New("no table's own filters in this world")
	}
	return false, nil
}

func (s *toySession) dataRows(query string) ([][]string, bool) {
	w := s.w
	switch {
	case strings.Contains(query, "['exclude']['_id'], settings"):
		said, err := json.Marshal(w.beside)
		require.NoError(w.t, err)
		if w.hidden != "" {
			return [][]string{{w.hidden, string(said)}}, true
		}
		return [][]string{{w.exclude, string(said)}}, true
	case strings.HasPrefix(query, "SELECT id, name, version['number'] FROM sys.nodes"):
		var rows [][]string
		for _, set := range w.sets {
			for i := range w.ordinals(&set) {
				name := set.Name + "/" + strconv.Itoa(i)
				if p := w.pods[set.Name+"-"+strconv.Itoa(i)]; p != nil && p.away == 0 && !w.bad[p.template] {
					rows = append(rows, []string{w.nodeID(name), name, "6.4.3"})
				}
			}
		}
		return rows, true
	case strings.Contains(query, "FROM sys.shards"):
		var rows [][]string
		for _, shard := range w.shown() {
			schema, table, _ := strings.Cut(shard.Table, ".")
			rows = append(rows, []string{schema, table, "", strconv.Itoa(shard.ID), shard.State, shard.Node, shard.Node, shard.To})
		}
		return rows, true
	}
	return nil, false
}

// shrinkDrained asserts A at each write.
func (w *world) shrinkDrained(name, uid string, from, to int) error {
	for i := range w.sets {
		s := &w.sets[i]
		switch {
		case s.Name != name:
			continue
		case s.UID != strings.ReplaceAll(uid, "-again", ""): // seeVolumes adds that
			return execute.ErrNotFound
		case s.Replicas == to:
			return nil
		case s.Replicas != from:
			return errors.New("it has another number of replicas")
		}
		w.write(func() {
			require.Equal(w.t, to, w.recordReplicas(name), "the intent is recorded before the write")
			for ordinal := to; ordinal < from; ordinal++ {
				node := name + "/" + strconv.Itoa(ordinal)
				for _, shard := range w.shards {
					require.True(w.t, w.nodeID(node) != shard.Node || w.mayStay(&shard, name, to), "A: %s leaves with a shard of %s", node, shard.Table)
				}
				require.Contains(w.t, w.excluded(), w.nodeID(node))
				require.False(w.t, w.void, "A: %s leaves while its exclusion is not in force", node)
			}
			for _, want := range w.desired.Sets {
				if want.Name == name && want.MasterEligible {
					require.Equal(w.t, from-1, to, "one voter leaves at a time")
					require.GreaterOrEqual(w.t, to, 2)
				}
			}
			require.Empty(w.t, w.leaving(), "what left before is gone")
			require.Equal(w.t, "all", w.allocation(), "nothing is held during a drain")
			s.Replicas = to
			w.lowered = append(w.lowered, name+" "+strconv.Itoa(from)+" to "+strconv.Itoa(to))
		})
	}
	return nil
}

func (w *world) recordReplicas(set string) int {
	for _, s := range w.record.Sets {
		if s.Name == set {
			return s.Replicas
		}
	}
	return -1
}

func (w *world) DeleteObject(_ context.Context, object model.ObjectRef, uid, _ string) error {
	w.write(func() {
		w.leftovers = slices.DeleteFunc(w.leftovers, func(l model.Leftover) bool {
			require.False(w.t, l.Object == object && l.Data, "%s holds data", object)
			return l.Object == object && l.UID == uid
		})
	})
	return nil
}

func (w *world) DeleteSet(_ context.Context, name, uid, _ string) error {
	i := slices.IndexFunc(w.sets, func(s model.ObservedSet) bool { return s.Name == name && s.UID == uid })
	if i < 0 {
		return execute.ErrNotFound
	}
	w.write(func() {
		require.Zero(w.t, w.sets[i].Replicas)
		require.Zero(w.t, w.ordinals(&w.sets[i]))
		w.sets = slices.Delete(w.sets, i, i+1)
		delete(w.live, name)
		w.deleted = append(w.deleted, name)
	})
	return nil
}
