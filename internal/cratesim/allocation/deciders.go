package allocation

import "strconv"

// Enable is a value of routing.allocation.enable, in lower case; "" is the cluster's, and
// of the cluster's own "all".
type Enable string

const (
	enableAll     Enable = "all"
	newPrimaries  Enable = "new_primaries"
	primariesOnly Enable = "primaries"
	enableNone    Enable = "none"
)

const prefix = "cluster.routing.allocation."

func (q *question) replicaAfterPrimary() (Verdict, string) {
	if q.c.Primary || q.c.Source != nil {
		return Yes, ""
	}
	return No, "primary shard for this replica is not yet active"
}

// enabled is EnableAllocationDecider: a table's own setting is asked instead of the
// cluster's. A primary that has its files on a node starts there under any of them, by the
// allocator and not by this rule.
func (q *question) enabled() (Verdict, string) {
	if q.s.IgnoreEnable {
		return Yes, ""
	}
	enable, scope := q.s.Enable, "cluster"
	if own := q.c.Table.Enable; own != "" {
		enable, scope = own, "index"
	}
	words := ""
	switch enable {
	case enableNone:
		words = "no allocations are allowed due to "
	case newPrimaries:
		if !q.c.Primary || q.c.On != nil || q.c.Allocated {
			words = "non-new primary allocations are forbidden due to "
		}
	case primariesOnly:
		if !q.c.Primary {
			words = "replica allocations are forbidden due to "
		}
	}
	if words == "" {
		return Yes, ""
	}
	if !q.words {
		return No, ""
	}
	return No, words + scope + " setting [" + scope + ".routing.allocation.enable=" + string(enable) + "]"
}

// versionFits is NodeVersionAllocationDecider: a replica may not be on an older minor than
// its primary, nor may a primary move to one. An older node may not read the newer one's
// files.
func (q *question) versionFits() (Verdict, string) {
	source, what := q.c.On, "cannot relocate primary shard from a node with version ["
	if !q.c.Primary {
		source = q.c.Source
	}
	if source == nil || q.n.Version.AtLeast(source.Version.Major, source.Version.Minor) {
		return Yes, ""
	}
	if !q.words {
		return No, ""
	}
	if q.c.Primary {
		return No, what + source.Version.String() + "] to a node with older version [" + q.n.Version.String() + "]"
	}
	return No, "cannot allocate replica shard to a node with version [" + q.n.Version.String() + "] since this is older than the primary version [" + source.Version.String() + "]"
}

// snapshotWaits is SnapshotInProgressAllocationDecider: a primary that a snapshot reads
// waits, and goes on only at the next reroute.
func (q *question) snapshotWaits() (Verdict, string) {
	if !q.c.Snapshotted || !q.c.Primary || q.c.On == nil {
		return Yes, ""
	}
	if !q.words {
		return Throttled, ""
	}
	return Throttled, "waiting for snapshotting of shard [" + q.c.name() + "] to complete on this node [" + q.c.On.ID + "]"
}

// restores is RestoreInProgressAllocationDecider: a shard whose restore has failed goes
// nowhere.
func (q *question) restores() (Verdict, string) {
	if q.c.RestoreFailed == "" {
		return Yes, ""
	}
	return No, q.c.RestoreFailed
}

// sameShard is SameShardAllocationDecider: two copies of a shard never share a node.
func (q *question) sameShard() (Verdict, string) {
	if q.c.On == q.n && q.n != nil {
		if !q.words {
			return No, ""
		}
		own := Place{On: q.c.On, Primary: q.c.Primary, State: q.c.State}
		return No, "this shard is already allocated to this node [" + q.c.describe(&own) + "]"
	}
	for i := range q.c.Others {
		if o := &q.c.Others[i]; o.On == q.n || o.To == q.n {
			if !q.words {
				return No, ""
			}
			return No, "a copy of this shard is already allocated to this node [" + q.c.describe(o) + "]"
		}
	}
	return Yes, ""
}

// throttles is ThrottlingAllocationDecider: no more recoveries at once than a node may
// have.
func (q *question) throttles() (Verdict, string) {
	s, c, n := q.s, q.c, q.n
	if c.Primary && c.On == nil {
		if n.InitialPrimaries < s.InitialPrimaries {
			return Yes, ""
		}
		if !q.words {
			return Throttled, ""
		}
		return Throttled, "reached the limit of ongoing initial primary recoveries [" + strconv.Itoa(n.InitialPrimaries) + "], cluster setting [" + prefix + "node_initial_primaries_recoveries=" + strconv.Itoa(s.InitialPrimaries) + "]"
	}
	const also = "] (can also be set via [" + prefix + "node_concurrent_recoveries])"
	if n.In >= s.Recoveries {
		if !q.words {
			return Throttled, ""
		}
		return Throttled, "reached the limit of incoming shard recoveries [" + strconv.Itoa(n.In) + "], cluster setting [" + prefix + "node_concurrent_incoming_recoveries=" + strconv.Itoa(s.Recoveries) + also
	}
	if c.Source == nil {
		return No, "primary shard for this replica is not yet active"
	}
	if c.Source.Out < s.Recoveries {
		return Yes, ""
	}
	if !q.words {
		return Throttled, ""
	}
	return Throttled, "reached the limit of outgoing shard recoveries [" + strconv.Itoa(c.Source.Out) + "] on the node [" + c.Source.ID + "] which holds the primary, cluster setting [" + prefix + "node_concurrent_outgoing_recoveries=" + strconv.Itoa(s.Recoveries) + also
}

// limitFits is ShardsLimitAllocationDecider: total_shards_per_node, the cluster's and the
// table's own.
func (q *question) limitFits() (Verdict, string) {
	if q.s.TotalShardsPerNode <= 0 && q.c.Table.TotalShardsPerNode <= 0 {
		return Yes, ""
	}
	scope, count := q.s.limit(q.c, q.n, 0)
	if scope == "" {
		return Yes, ""
	}
	if !q.words {
		return No, ""
	}
	words := "too many shards [" + strconv.Itoa(count) + "] allocated to this node"
	if scope == "cluster" {
		return No, words + ", cluster setting [" + prefix + "total_shards_per_node=" + strconv.Itoa(q.s.TotalShardsPerNode) + "]"
	}
	return No, words + " for index [[" + q.c.Table.Name + "/" + q.c.Table.UUID + "]], index setting [index.routing.allocation.total_shards_per_node=" + strconv.Itoa(q.c.Table.TotalShardsPerNode) + "]"
}

// limit says whose limit the node has reached, "cluster" or "index", and how many shards
// count for it; own is 1 for a copy that is there already.
func (s *Settings) limit(c *Copy, n *Node, own int) (scope string, count int) {
	if limit := s.TotalShardsPerNode; limit > 0 && n.Shards-own >= limit {
		return "cluster", n.Shards
	}
	if limit := c.Table.TotalShardsPerNode; limit > 0 {
		if count = c.Table.OnNode(n); count-own >= limit {
			return "index", count
		}
	}
	return "", 0
}

// zoneFits is AwarenessAllocationDecider: at most ceil(copies / zones) copies a zone. A
// node without the attribute gets none.
func (q *question) zoneFits() (Verdict, string) {
	for i := range q.s.Awareness {
		a := &q.s.Awareness[i]
		if _, ok := q.n.Attributes[a.Name]; !ok {
			if !q.words {
				return No, ""
			}
			return No, "node does not contain the awareness attribute [" + a.Name + "]; required attributes cluster setting [" + prefix + "awareness.attributes=" + q.s.attributes() + "]"
		}
		here, most, values := q.s.zone(a, q.c, q.n)
		if here <= most {
			continue
		}
		if !q.words {
			return No, ""
		}
		return No, "there are too many copies of the shard allocated to nodes with attribute [" + a.Name + "], there are [" + strconv.Itoa(q.c.Copies) + "] total configured shard copies for this shard id and [" + strconv.Itoa(values) + "] total attribute values, expected the allocated shard count per attribute [" + strconv.Itoa(here) + "] to be less than or equal to the upper bound of the required number of shards per attribute [" + strconv.Itoa(most) + "]"
	}
	return Yes, ""
}

// zone counts the shard's copies in the node's zone, this one with them, how many may
// be there, and the values among which they are divided.
func (s *Settings) zone(a *Attribute, c *Copy, n *Node) (here, most, values int) {
	zone := n.Attributes[a.Name]
	here, values = 1, a.Values
	for i := range c.Others {
		if v, ok := c.Others[i].at().Attributes[a.Name]; ok && v == zone {
			here++
		}
	}
	for _, forced := range a.Forced {
		// Where the copy moves from is counted with the copies, though with none.
		if forced != zone && !(c.On != nil && c.On.Attributes[a.Name] == forced) && !c.in(a.Name, forced) {
			values++
		}
	}
	values = max(1, values)
	return here, (c.Copies + values - 1) / values, values
}

// in reports whether another copy of the shard is in a zone.
func (c *Copy) in(attribute, zone string) bool {
	for i := range c.Others {
		if c.Others[i].at().Attributes[attribute] == zone {
			return true
		}
	}
	return false
}

func (s *Settings) attributes() (list string) {
	for i := range s.Awareness {
		if i > 0 {
			list += ", "
		}
		list += s.Awareness[i].Name
	}
	return list
}

// name is the shard's in messages.
func (c *Copy) name() string { return c.Table.Name + "][" + strconv.Itoa(c.Shard) }

func (c *Copy) describe(p *Place) string {
	id, kind := "null", "R"
	if p.On != nil {
		id = p.On.ID
	}
	if p.Primary {
		kind = "P"
	}
	return "[" + c.name() + "], node[" + id + "], [" + kind + "], s[" + p.State + "]"
}
