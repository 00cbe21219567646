package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/scale"
	"stevedore.dev/stevedore/ops/setting"
)

// plannedCluster stands for the id that a cluster gets when it is founded.
const plannedCluster = "planned"

// observe is one look at the model.
func (m *world) observe(desired *model.Desired, record *model.Record) model.Observed {
	o := model.Observed{
		At: m.now, Applied: m.applied, Claims: slices.Clone(m.Claims), Secrets: m.secrets, Budgets: m.budgets, Storage: m.storage, Placement: m.placement, Resize: m.resize, DeletesClaims: m.deletes, Volumes: m.Templates,
		Commands: m.commands, Foreign: m.foreign, OtherOwner: m.otherOwner, ApplyErrors: m.applyErrors, Disrupted: m.disrupted, Vanished: m.vanished,
	}
	if desired.Removed {
		o.Leftovers = m.leftovers
	}
	for _, s := range m.sets {
		seen := s.ObservedSet
		seen.Generation, seen.ObservedGeneration = 1, 1
		o.Sets = append(o.Sets, seen)
	}
	o.Pods = m.seenPods()
	o.Database = m.reading(record)
	m.readSettings(&o, desired, record)
	m.readSnapshots(&o.Database, desired, record)
	m.stable = m.stable.Next(&o.Database)
	o.Stable = m.stable
	o.Database.Evidence = evidence(scale.NeedsEvidence(desired, &o, record))
	return o
}

// evidence of nodes that are empty: what `system` is not shown nobody can plan with.
func evidence(x model.Examination) []model.Evidence {
	var all []model.Evidence
	for _, pod := range slices.Concat(x.Pods, x.Absent) {
		all = append(all, model.Evidence{Pod: pod, Superuser: model.Witness{Had: true}, Volume: model.Witness{Had: true}})
	}
	return all
}

// reading is one of the database.
func (m *world) reading(record *model.Record) model.Database {
	db := m.db
	db.At, db.Error = m.now, ""
	i := slices.IndexFunc(m.secrets, func(s model.Secret) bool { return s.Name == names.SystemSecret(m.desired.Name) && s.Exists })
	if i >= 0 {
		db.SystemSecret = m.secrets[i].Version
	}
	if none, silent := m.unread(db.SystemSecret, i >= 0); silent {
		return none
	}
	db.Contact, db.SystemLogin = model.Yes, model.LoginOK
	if db.Recovered == model.Unknown {
		db.Recovered = model.Yes
	}
	if db.Health.Colour == model.ColourUnknown {
		db.Health.Colour = model.Green
	}
	if m.recovering > 0 {
		db.Health = model.Health{Colour: model.Yellow}
	}
	db.ClusterID = cmp.Or(db.ClusterID, plannedCluster)
	if record != nil && record.ClusterID != "" {
		db.ClusterID = record.ClusterID
	}
	db.Allocation = cmp.Or(db.Allocation, "all")
	db.NodesKnown, db.DeniedKnown = true, true
	db.ShardsKnown, db.UsersKnown, db.ChecksKnown, db.UnreplicatedKnown = true, true, true, true
	db.TablesKnown, db.SnapshotsKnown, db.AllocationKnown = true, true, true
	db.Answers = foreseen(db.Answers)
	m.readNodes(&db)
	m.countShards(&db)
	if db.ClusterHealth.Colour != model.ColourUnknown {
		// What was hidden stays so; what is seen heals in the model.
		h := &db.Health
		db.ClusterHealth = model.Health{Colour: max(h.Colour, m.hidden.Colour), Missing: h.Missing + m.hidden.Missing, Underreplicated: h.Underreplicated + m.hidden.Underreplicated}
	}
	db.Shards, db.Tables = slices.Clone(db.Shards), slices.Clone(db.Tables)
	version := m.stateVersion(&db)
	for i := range db.Nodes {
		db.Nodes[i].StateVersion = version
	}
	return db
}

// unread is a reading in which no node lets `system` in; silent is false where one does. A
// cluster that nobody has founded refuses the login; without a password nobody tries it.
func (m *world) unread(secret model.SecretVersion, password bool) (none model.Database, unreachable bool) {
	none = model.Database{At: m.now, SystemSecret: secret}
	up := slices.ContainsFunc(m.pods, isUp)
	switch {
	case !up:
		return none, true
	case !m.founded:
		none.Contact = model.No
		if password {
			none.SystemLogin = model.LoginRefused
		}
		return none, true
	case m.db.Contact == model.No:
		none.Contact, none.Error = model.No, m.db.Error
		return none, true
	}
	return none, false
}

// readNodes are the nodes that have joined, and the master among them.
func (m *world) readNodes(db *model.Database) {
	db.Nodes, db.Pods, db.NodeChecks = nil, nil, nil
	data := m.dataNodes()
	for i := range m.pods {
		p := &m.pods[i]
		if !p.joined {
			continue
		}
		n := m.node(p)
		if db.MasterNode == "" && m.votes(p.Set) {
			db.MasterNode = n.ID
		}
		db.Nodes = append(db.Nodes, n)
		db.Pods = append(db.Pods, model.PodAnswer{Pod: p.Name, ClusterID: db.ClusterID, NodeID: n.ID, NodeName: n.Name, Version: n.Version})
		if p.expects != data && p.expects != 0 && data != 1 {
			db.NodeChecks = append(db.NodeChecks, model.NodeCheck{NodeID: n.ID, ID: 1, Acknowledged: m.acknowledged[n.Name]})
		}
	}
	if db.MasterNode == "" || !slices.ContainsFunc(db.Nodes, func(n model.Node) bool { return n.ID == db.MasterNode }) {
		db.MasterNode = db.Nodes[0].ID
	}
}

// stateVersion is that of the cluster state, which changes with what a reading shows of it.
func (m *world) stateVersion(db *model.Database) int64 {
	state := fmt.Sprint(db.MasterNode, db.Allocation, db.Settings.Exclude, db.Health.Colour, db.Relocating, db.Initializing, db.Unassigned, m.recovering, m.settings)
	for i := range db.Nodes {
		n := &db.Nodes[i]
		state += fmt.Sprint(",", n.ID, "/", n.Version, "/", n.Shards)
	}
	if state != m.state {
		m.state, m.version = state, m.version+1
	}
	return m.version
}

func (m *world) votes(set string) bool {
	for _, want := range m.desired.Sets {
		if want.Name == set {
			return want.MasterEligible
		}
	}
	return false
}

// node in a pod: the one on its volume, or a new one with a disk as large as
// that of another node of the group.
func (m *world) node(p *pod) model.Node {
	n, ok := m.volumes[p.NodeName]
	if !ok {
		n = model.Node{ID: "planned-" + p.NodeName, Name: p.NodeName, DiskSize: -1, DiskUsed: -1}
		for i := range m.pods {
			if beside, known := m.volumes[m.pods[i].NodeName]; known && m.pods[i].Set == p.Set && beside.DiskSize > 0 {
				n.DiskSize, n.DiskUsed, n.Disks = beside.DiskSize, 0, emptyDisks(beside.Disks)
				break
			}
		}
		m.volumes[p.NodeName] = n
	}
	n.Version = p.Version
	if n.Attributes == nil {
		n.Attributes = map[string]string{}
		if p.Zone != "" {
			n.Attributes["zone"] = p.Zone
		}
	}
	return n
}

// countShards gives each node its shards, and names what it alone has.
func (m *world) countShards(db *model.Database) {
	if len(db.Shards) == 0 {
		return
	}
	started := map[model.ShardID]int{}
	for i := range db.Shards {
		if s := &db.Shards[i]; s.State == "STARTED" || s.State == "RELOCATING" {
			started[s.Of()]++
		}
	}
	for i := range db.Nodes {
		n := &db.Nodes[i]
		n.Shards, n.Bytes, n.Sole = 0, 0, nil
		for j := range db.Shards {
			s := &db.Shards[j]
			if s.Node != n.ID {
				continue
			}
			n.Shards++
			n.Bytes += s.Bytes
			if started[s.Of()] == 1 && !slices.Contains(n.Sole, s.Table) {
				n.Sole = append(n.Sole, s.Table)
			}
		}
		slices.Sort(n.Sole)
	}
}

// readSettings are those that a decision wants to know: as they were set, or as
// the processes were started.
func (m *world) readSettings(o *model.Observed, desired *model.Desired, record *model.Record) {
	db := &o.Database
	db.SettingsAsked, db.Effective = nil, nil
	if db.Contact != model.Yes {
		return
	}
	db.SettingsAsked = setting.SettingsToRead(desired, record, o.Pods)
	db.Effective = map[string]string{}
	if len(db.SettingsAsked) == 0 {
		return
	}
	// Each node shows what was set, else what it was started with.
	first := true
	for i := range m.pods {
		if !m.pods[i].joined {
			continue
		}
		var shown []model.Setting
		for _, name := range db.SettingsAsked {
			value, ok := m.settings[name]
			if !ok {
				value, ok = m.pods[i].Settings.Get(name)
			}
			shown = append(shown, model.Setting{Name: name, Value: value}) // "" for CrateDB's own default
			if first && ok {
				db.Effective[name] = value
			}
		}
		first = false
		if j := slices.IndexFunc(db.Pods, func(a model.PodAnswer) bool { return a.Pod == m.pods[i].Name }); j >= 0 {
			db.Pods[j].Settings = manifest.NewSettingList(shown)
		}
	}
}

// allocate has CrateDB bring copies to where they may be: off nodes that are excluded or gone, and where all copies
// are green those that a range of replicas wants now. It says how many have no place, and of which tables.
func (m *world) allocate(replicate bool) (lacks int, tables []string) {
	var members []model.Node
	gone := map[string]bool{}
	for _, n := range m.volumes {
		gone[n.ID] = true
	}
	for i := range m.pods {
		p := &m.pods[i]
		n := m.node(p)
		if delete(gone, n.ID); p.joined && m.carriesData(p.Set) {
			members = append(members, n)
		}
	}
	if len(members) == 0 {
		return 0, nil
	}
	p := cluster.Place(members, &m.db.Settings, m.db.Tables, m.db.Shards)
	p.Moved = m.fill
	p.Lose(func(id string) bool { return gone[id] })
	p.Move(math.MaxInt)
	if replicate {
		var started map[string]int
		lacks, tables, started = p.Replicate(math.MaxInt)
		for i := range m.db.Tables {
			if t := &m.db.Tables[i]; started[t.Name] > 0 {
				t.Started = started[t.Name]
			}
		}
	}
	m.db.Shards = p.Rows()
	return lacks, tables
}

// fill changes how much of a node's disk is used, where that is known.
func (m *world) fill(id string, bytes int64) {
	for name, n := range m.volumes {
		if n.ID == id && n.DiskUsed >= 0 {
			n.DiskUsed = max(0, n.DiskUsed+bytes)
			n.Disks = filledDisks(n.Disks, bytes)
			m.volumes[name] = n
		}
	}
}

// emptyDisks are as large and have nothing on them.
func emptyDisks(disks []model.Disk) []model.Disk {
	out := slices.Clone(disks)
	for i := range out {
		out[i].Used = 0
	}
	return out
}

// filledDisks have a shard more on the one that is most free, or one less on the one that is least
// free: it is not known on which disk a shard is.
func filledDisks(disks []model.Disk, bytes int64) []model.Disk {
	if len(disks) == 0 {
		return nil
	}
	out, at := slices.Clone(disks), 0
	for i, d := range out {
		if more := (d.Size - d.Used) - (out[at].Size - out[at].Used); bytes > 0 && more > 0 || bytes < 0 && more < 0 {
			at = i
		}
	}
	out[at].Used = max(0, out[at].Used+bytes)
	return out
}

// foreseen are the answers to gates.Questions in a plan: what its reading does not know is not there, as with all else.
func foreseen(known []gates.Answer) []gates.Answer {
	all := model.NothingFound()
	for i := range min(len(known), len(all)) {
		if known[i].Known {
			all[i] = known[i]
		}
	}
	return all
}
