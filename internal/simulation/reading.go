package simulation

import (
	"cmp"

	"stevedore.dev/stevedore/ops/model"
)

// read makes one reading of the database, as ops/cratedb.Observe gives it.
func (d *daemon) read(db *model.Database, pods []model.Pod, detailed bool) {
	w := d.w
	old := &d.buffers
	*db = model.Database{At: w.now.time()}
	password := ""
	for i := range w.secrets {
		// The daemon reads the Secret from its cache.
		if s := &w.secrets[i]; s.name == systemSecret && s.exists {
			password = s.password
			db.SystemSecret = model.SecretVersion{UID: s.uid, ResourceVersion: versionText(s.version)}
		}
	}
	if password == "" {
		db.Error = "the Secret of the user system does not exist or has no password"
		return
	}
	db.Pods, db.Nodes = old.Pods[:0], old.Nodes[:0]
	db.NodeChecks, db.Users = old.NodeChecks[:0], old.Users[:0]
	db.Tables, db.Shards, db.Stuck = old.Tables[:0], old.Shards[:0], old.Stuck[:0]
	asked, refused := 0, false
	chosen := -1
	for i := range pods {
		p := &pods[i]
		if p.Started.IsZero() || p.Terminating || p.Phase != "Running" {
			continue
		}
		asked++
		l := &w.slots[w.setIndex(p.Set)*maxOrdinals+p.Ordinal]
		if !l.pod.up || w.now < w.unreachable {
			continue
		}
		a := model.PodAnswer{Pod: p.Name, NodeName: l.nodeName, Version: w.versionOf(l)}
		switch {
		case l.volume.cluster > 1:
			a.ClusterID, a.NodeID = idOf(l.volume.cluster), nameOf(nodeIDs, "node-", l.volume.node)
		case !l.pod.joined || !w.recovered:
			refused = true // only crate is there
			continue
		case w.wrongPassword(password):
			refused = true
			continue
		default:
			a.ClusterID, a.NodeID = clusterID, nameOf(nodeIDs, "node-", l.volume.node)
			if chosen < 0 {
				chosen = l.index
			}
		}
		db.Pods = append(db.Pods, a)
	}
	if len(db.Pods) == 0 || chosen < 0 {
		if asked > 0 {
			db.Contact, db.Error = model.No, "no pod answers"
		}
		if refused {
			db.SystemLogin = model.LoginRefused
			if w.judge.refused == 0 {
				w.judge.refused = w.now
			}
		}
		db.Pods = db.Pods[:0]
		return
	}
	db.Contact, db.SystemLogin, w.judge.refused = model.Yes, model.LoginOK, 0
	db.ClusterID, db.ClusterName = clusterID, clusterName
	if w.master >= 0 {
		db.MasterNode = nameOf(nodeIDs, "node-", w.slots[w.master].volume.node)
		db.Recovered = model.Yes
	}
	w.countWanted()
	var at nodesAt
	w.readNodes(db, &at)
	db.Allocation = w.enable.effective("all")
	db.UsersKnown = true
	for i := range w.users {
		db.Users = append(db.Users, w.users[i].name)
	}
	if w.master < 0 {
		return // sys.shards, sys.node_checks and the health of tables do not answer
	}
	w.readDenied(db)
	db.ChecksKnown = w.reads(db, viewChecks)
	expected := w.dataMembers()
	for _, i := range w.used {
		l := &w.slots[i]
		if db.ChecksKnown && l.pod.joined && w.templates[l.pod.template].counts != expected && expected != 1 {
			db.NodeChecks = append(db.NodeChecks, model.NodeCheck{NodeID: nameOf(nodeIDs, "node-", l.volume.node), ID: 1, Acknowledged: w.acknowledged&(1<<l.index) != 0})
		}
	}
	w.readHealth(db, old)
	db.UnreplicatedKnown, db.Unreplicated = true, old.Unreplicated[:0]
	for i := range w.tables {
		if t := &w.tables[i]; !t.Range && t.Low == 0 && !t.denied && !t.hidden {
			db.Unreplicated = append(db.Unreplicated, t.name)
		}
	}
	w.readAllocation(db)
	if detailed {
		w.readDetail(db, &at)
	}
}

// keep leaves what a reading is made in for the next one, whatever became of it.
func (d *daemon) keep(db *model.Database) {
	old := &d.buffers
	if cap(db.Nodes) > 0 {
		old.Pods, old.Nodes, old.NodeChecks, old.Users = db.Pods, db.Nodes, db.NodeChecks, db.Users
	}
	if cap(db.Tables) > 0 {
		old.Tables, old.Shards, old.Stuck = db.Tables, db.Shards, db.Stuck
	}
	if cap(db.Unreplicated) > 0 {
		old.Unreplicated = db.Unreplicated
	}
	if cap(db.Health.Tables) > 0 {
		old.Health.Tables = db.Health.Tables
	}
}

func (w *world) dataMembers() (n int) {
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && !l.set.masters {
			n++
		}
	}
	return n
}

func (w *world) wrongPassword(password string) bool {
	u := w.user("system")
	return u == nil || u.password != password
}

const diskSize = int64(100) << 30

// nodesAt is where the node of each slot stands in a reading; 0 where it does not,
// else one more than its place.
type nodesAt [maxSlots]int

func (w *world) readNodes(db *model.Database, at *nodesAt) {
	var order [maxSlots]int
	n := 0
	for _, i := range w.used {
		if !w.slots[i].pod.joined {
			continue
		}
		// By name, as the reading gives them.
		j := n
		for ; j > 0 && w.slots[order[j-1]].nodeName > w.slots[i].nodeName; j-- {
			order[j] = order[j-1]
		}
		order[j] = i
		n++
	}
	db.NodesKnown = w.reads(db, viewNodes)
	if !db.NodesKnown {
		n = 0
	}
	for _, i := range order[:n] {
		l := &w.slots[i]
		db.Nodes = append(db.Nodes, model.Node{
			ID: nameOf(nodeIDs, "node-", l.volume.node), Name: l.nodeName, Version: w.versionOf(l),
			DiskSize: l.disk(), DiskUsed: l.diskUsed(), Attributes: zoneAttributes[l.kube%3],
			StateVersion: w.state, Disks: l.fileSystems(),
		})
		at[i] = len(db.Nodes)
	}
	if w.master < 0 {
		return
	}
	if db.ShardsKnown = w.reads(db, viewShards); !db.ShardsKnown {
		return
	}
	for i := range w.shards {
		s := &w.shards[i]
		if t := &w.tables[s.table]; t.denied || t.hidden && w.detailed {
			continue
		}
		lacks := w.wants[s.table] + 1
		for j := range s.copies {
			c := &s.copies[j]
			if c.state == onDisk {
				continue
			}
			lacks--
			if n := w.nodeOf(db, at, c); n != nil {
				n.Shards++
				n.Bytes += s.bytes
			}
		}
		db.Unassigned += max(lacks, 0)
	}
}

func (w *world) nodeOf(db *model.Database, at *nodesAt, c *replica) *model.Node {
	if k := at[c.slot]; k > 0 && w.slots[c.slot].volume.node == c.node {
		return &db.Nodes[k-1]
	}
	return nil
}

var zoneAttributes = [3]map[string]string{{"zone": "a"}, {"zone": "b"}, {"zone": "c"}}

func (w *world) readHealth(db *model.Database, old *model.Database) {
	h := model.Health{Colour: model.Green, Rows: len(w.tables), Tables: old.Health.Tables[:0]}
	for i := range w.tables {
		if w.tables[i].denied || w.tables[i].hidden {
			continue
		}
		colour, missing, under := w.health(i, w.wants[i])
		h.Missing += int64(missing)
		h.Underreplicated += int64(under)
		if colour > 1 {
			h.Tables = append(h.Tables, w.tables[i].name)
		}
		h.Colour = max(h.Colour, [...]model.Colour{model.Green, model.Green, model.Yellow, model.Red}[colour])
	}
	db.Health = h
	db.ClusterHealth = model.Health{Colour: h.Colour, Missing: h.Missing, Underreplicated: h.Underreplicated}
}

func (w *world) readDetail(db *model.Database, at *nodesAt) {
	db.SnapshotsKnown = w.reads(db, viewSnapshots)
	db.Answers = w.readAnswers()
	db.TablesKnown = db.ShardsKnown && w.reads(db, viewTables)
	if db.SnapshotsKnown && w.snapshotUntil > 0 {
		db.Snapshots = 1
	}
	for i := range w.tables {
		t := &w.tables[i]
		if t.denied || t.hidden || !db.TablesKnown {
			continue
		}
		seen := model.Table{
			Name: t.name, Replicas: t.replicas, Started: 1 << 20, TotalShardsPerNode: -1,
			Created: t.created, Partition: t.partition, Of: t.of, Enable: t.enable, WaitForActiveShards: cmp.Or(t.wait, "1"),
		}
		if t.filtered() {
			t.filters(&seen)
		}
		for j := range w.shards {
			if s := &w.shards[j]; s.table == i {
				w.readShard(db, at, s, &seen)
			}
		}
		db.Tables = append(db.Tables, seen)
	}
	w.readStuck(db)
}

// readAllocation reads the settings of the allocation, which each reading has.
func (w *world) readAllocation(db *model.Database) {
	db.AllocationKnown = true
	exclude := map[string]string(nil)
	id, name := w.excludeID.effective(""), w.excludeName.effective("")
	if id != "" || name != "" {
		exclude = map[string]string{}
		if id != "" {
			exclude["_id"] = id
		}
		if name != "" {
			exclude["_name"] = name
		}
	}
	db.Settings = model.AllocationSettings{
		Exclude: exclude, LowWatermark: "85%", HighWatermark: "90%", DiskThreshold: true,
		ShardsPerNode: 1000, TotalShardsPerNode: -1,
	}
	if w.schedule.Start.Aware {
		db.Settings.Awareness = []string{"zone"}
	}
}

func (w *world) readShard(db *model.Database, at *nodesAt, s *shard, t *model.Table) {
	active := 0
	var only *replica
	lacks := w.wants[s.table] + 1
	for j := range s.copies {
		c := &s.copies[j]
		if c.state == onDisk {
			continue
		}
		lacks--
		row := model.Shard{Table: t.Name, ID: s.id, Node: nameOf(nodeIDs, "node-", c.node), Primary: c.primary, State: c.state.String(), Bytes: s.bytes}
		switch c.state {
		case initializing:
			db.Initializing++
		case relocating:
			db.Relocating++
			row.To = nameOf(nodeIDs, "node-", w.slots[c.to].volume.node)
			fallthrough
		case started:
			active++
			only = c
		}
		db.Shards = append(db.Shards, row)
	}
	for range lacks {
		db.Shards = append(db.Shards, model.Shard{Table: t.Name, ID: s.id, State: "UNASSIGNED", Bytes: s.bytes})
	}
	t.Started = min(t.Started, active)
	if active == 1 {
		if n := w.nodeOf(db, at, only); n != nil && (len(n.Sole) == 0 || n.Sole[len(n.Sole)-1] != t.Name) {
			n.Sole = append(n.Sole, t.Name)
		}
	}
}

func (w *world) readStuck(db *model.Database) {
	for i := range w.shards {
		s := &w.shards[i]
		for j := range s.copies {
			c := &s.copies[j]
			if w.tables[s.table].denied || w.tables[s.table].hidden || c.state != started || w.allowed(&w.tables[s.table], &w.slots[c.slot]) || len(db.Stuck) >= 20 {
				continue
			}
			db.Stuck = append(db.Stuck, model.Explanation{
				Table: w.tables[s.table].name, ID: s.id, Node: nameOf(nodeIDs, "node-", c.node), Primary: c.primary,
				Text: "cannot move shard to another node, even though it is not allowed to remain on its current node",
			})
		}
	}
}
