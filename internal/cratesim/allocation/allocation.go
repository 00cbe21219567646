package allocation

// Verdict is what the deciders say of a copy and a node, the better the smaller.
type Verdict uint8

// The verdicts. Throttled is "not now".
const (
	Yes Verdict = iota
	Throttled
	No
)

// Node is a member that holds data.
type Node struct {
	ID, Name, Address string
	Attributes        map[string]string // node.attr.*
	Version           Version
	Load
}

// Load is what a node has at the moment.
type Load struct {
	// Shards are the copies that are there or on their way there, those on their way to
	// another node left out.
	Shards int
	// In and Out are recoveries to it and from it, InitialPrimaries primaries that start on
	// it from nothing or from their own files.
	In, Out, InitialPrimaries int
	// DiskSize and DiskFree are in bytes. A DiskSize of 0 is an unknown disk, of which
	// CrateDB believes that it is empty.
	DiskSize, DiskFree int64
}

// attribute is what a filter's or an awareness attribute's key stands for.
func (n *Node) attribute(key string) (string, bool) {
	switch key {
	case "_name", "name":
		return n.Name, true
	case "_id":
		return n.ID, true
	case "_ip", "_host", "_host_ip", "_publish_ip":
		return n.Address, true
	}
	v, ok := n.Attributes[key]
	return v, ok
}

// Table is the settings of a table or a partition that the deciders ask for.
type Table struct {
	// Name is the index's in CrateDB's words, UUID its id, with which some of them name it.
	Name, UUID string
	// Enable is routing.allocation.enable, "" where the table has none of its own.
	Enable  Enable
	Filters Filters
	// TotalShardsPerNode is routing.allocation.total_shards_per_node; 0 and less are no
	// limit. OnNode counts the table's copies of a node, as Load.Shards does; it is asked
	// only where there is a limit.
	TotalShardsPerNode int
	OnNode             func(*Node) int
}

// Copy is one copy of a shard, of which the deciders are asked.
type Copy struct {
	Table *Table
	Shard int
	// Primary says which copy it is, Allocated whether the shard's primary was ever
	// started: its data is then on disks.
	Primary, Allocated bool
	// On is the node that has it, nil while it is unassigned; State is its routing state
	// in CrateDB's words.
	On    *Node
	State string
	// Source is the node of the active primary, nil while there is none.
	Source *Node
	// Snapshotted is true while a snapshot reads the shard's primary, Snapshots while any
	// snapshot runs.
	Snapshotted, Snapshots bool
	// Restored is true for the primary of a shard that comes from a snapshot and has not
	// been started yet; Size is then what it will take, in bytes.
	Restored bool
	Size     int64
	// RestoreFailed is why the shard's primary does not come from its snapshot any more, ""
	// for one that does or that began empty.
	RestoreFailed string
	// Copies is how many copies the shard is to have, the primary with them.
	Copies int
	// Others are the other copies of the shard that are on a node.
	Others []Place
}

// Place is where another copy of the same shard is, and where it goes.
type Place struct {
	On, To  *Node
	Primary bool
	State   string
}

// at is where the copy counts: at its target once it moves.
func (p *Place) at() *Node {
	if p.To != nil {
		return p.To
	}
	return p.On
}

// Settings are the cluster's, and what is counted of the cluster for them.
type Settings struct {
	// Version is the master's, whose deciders are asked.
	Version Version
	// Enable is cluster.routing.allocation.enable. IgnoreEnable leaves it and the tables'
	// own out, as ALTER TABLE … REROUTE does.
	Enable       Enable
	IgnoreEnable bool
	Filters      Filters
	// Awareness are the attributes of cluster.routing.allocation.awareness.attributes.
	Awareness []Attribute
	// Recoveries is node_concurrent_recoveries, InitialPrimaries
	// node_initial_primaries_recoveries.
	Recoveries, InitialPrimaries int
	// TotalShardsPerNode is cluster.routing.allocation.total_shards_per_node; 0 and less
	// are no limit.
	TotalShardsPerNode int
	// DiskThreshold is cluster.routing.allocation.disk.threshold_enabled.
	DiskThreshold bool
	Low, High     Watermark
}

// Attribute is a node attribute that keeps a shard's copies apart.
type Attribute struct {
	Name string
	// Forced are cluster.routing.allocation.awareness.force.NAME.values. Each that no copy of the shard is at
	// counts as a value more, also one that members have.
	Forced []string
	// Values is how many values the members' have among them, as Count has found.
	Values int
}

// Count counts the values that the attributes have on the members that hold data, excluded
// or not. To have none counts as a value (RoutingNodes.nodesPerAttributesCounts).
func (s *Settings) Count(members []*Node) {
	for i := range s.Awareness {
		a := &s.Awareness[i]
		a.Values = 0
		for j, n := range members {
			v, has := n.Attributes[a.Name]
			seen := false
			for _, before := range members[:j] {
				if w, had := before.Attributes[a.Name]; had == has && w == v {
					seen = true
				}
			}
			if !seen {
				a.Values++
			}
		}
	}
}

// question is what a decider is asked.
type question struct {
	s *Settings
	c *Copy
	n *Node
	// words: say why not, which takes memory.
	words bool
}

const deciders = 11

// ask asks one decider: its verdict and, when asked for, CrateDB's words for what is not
// Yes. They stand in the order in which CrateDB asks them, and lists what they say. A table
// of functions would make the question escape to the heap.
func (q *question) ask(decider int) (Verdict, string) {
	switch decider {
	case 0:
		return q.replicaAfterPrimary()
	case 1:
		return q.enabled()
	case 2:
		return q.versionFits()
	case 3:
		return q.snapshotWaits()
	case 4:
		return q.restores()
	case 5:
		return q.s.filter(q.c.Table, q.n, q.words)
	case 6:
		return q.sameShard()
	case 7:
		return q.diskFits()
	case 8:
		return q.throttles()
	case 9:
		return q.limitFits()
	}
	return q.zoneFits()
}

// Decide says whether the copy may go to the node.
func (s *Settings) Decide(c *Copy, n *Node) Verdict {
	worst := Yes
	q := question{s: s, c: c, n: n}
	for i := range deciders {
		v, _ := q.ask(i)
		if v == No {
			return No
		}
		worst = max(worst, v)
	}
	return worst
}

// Objections are the words of each decider that does not say Yes to the copy on the node.
func (s *Settings) Objections(c *Copy, n *Node) (out []string) {
	q := question{s: s, c: c, n: n, words: true}
	for i := range deciders {
		if v, why := q.ask(i); v != Yes {
			out = append(out, why)
		}
	}
	return out
}

// Allows says whether the filters let the table have copies on the node. A range of
// replicas counts the nodes that they do so of.
func (s *Settings) Allows(t *Table, n *Node) bool {
	v, _ := s.filter(t, n, false)
	return v == Yes
}

// Remains says whether the copy may stay where it is. What may not is moved away whatever
// the settings for rebalancing say.
func (s *Settings) Remains(c *Copy) bool {
	if !s.Allows(c.Table, c.On) || s.Above(c.On, s.High) {
		return false
	}
	if scope, _ := s.limit(c, c.On, 1); scope != "" {
		return false
	}
	for i := range s.Awareness {
		if _, ok := c.On.Attributes[s.Awareness[i].Name]; !ok {
			return false
		}
		if here, most, _ := s.zone(&s.Awareness[i], c, c.On); here > most {
			return false
		}
	}
	return true
}
