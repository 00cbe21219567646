package model

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

const filterPrefix = "routing.allocation."

var filterKinds = []string{"require", "include", "exclude"}
var filterKeys = []string{"_name", "_id", "_ip", "_host"}

// hasFilter reports whether any require, include or exclude is set in the settings.
func hasFilter(settings map[string]string) bool {
	for k, v := range settings {
		if v == "" {
			continue
		}
		for _, kind := range filterKinds {
			if strings.HasPrefix(k, filterPrefix+kind+".") {
				return true
			}
		}
	}
	return false
}

func (n *Node) attribute(key string) (string, bool) {
	switch key {
	case "_name":
		return n.Name, true
	case "_id":
		return n.ID, true
	case "_ip", "_host":
		return n.Address, true
	}
	v, ok := n.Attributes[key]
	return v, ok
}

// matchesAny reports whether one of the comma list's patterns fits the node's value.
func (n *Node) matchesAny(key, list string) bool {
	v, ok := n.attribute(key)
	if !ok {
		return false
	}
	for _, p := range strings.Split(list, ",") {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		if p == v {
			return true
		}
		if !strings.Contains(p, "*") {
			continue
		}
		if hit, err := path.Match(p, v); err == nil && hit {
			return true
		}
	}
	return false
}

// filterSet is one scope's filters: get gives a filter's list, keys the names to look at.
type filterSet struct {
	scope string // "cluster" or "index", as CrateDB's explanations say
	get   func(kind, key string) string
	keys  []string
}

func (f filterSet) allows(n *Node) (bool, string) {
	no := func(kind, key, list string) (bool, string) {
		setting := "cluster.routing.allocation." + kind
		if f.scope == "index" {
			setting = "index.routing.allocation." + kind
		}
		switch kind {
		case "exclude":
			return false, "node matches " + f.scope + " setting [" + setting + "] filters [" + key + ":\"" + list + "\"]"
		default:
			return false, "node does not match " + f.scope + " setting [" + setting + "] filters [" + key + ":\"" + list + "\"]"
		}
	}
	for _, key := range f.keys {
		if l := f.get("require", key); l != "" && !n.matchesAny(key, l) {
			return no("require", key, l)
		}
	}
	anyInclude, hit := "", false
	for _, key := range f.keys {
		if l := f.get("include", key); l != "" {
			anyInclude = key
			hit = hit || n.matchesAny(key, l)
		}
	}
	if anyInclude != "" && !hit {
		return no("include", anyInclude, f.get("include", anyInclude))
	}
	for _, key := range f.keys {
		if l := f.get("exclude", key); l != "" && n.matchesAny(key, l) {
			return no("exclude", key, l)
		}
	}
	return true, ""
}

// filter is the filter decider. From 5.9 any filter of the table's own makes the
// cluster's void for that table.
func (c *Cluster) filter(ix *Index, n *Node) (bool, string) {
	if len(ix.Settings) > 0 && hasFilter(ix.Settings) {
		own := filterSet{scope: "index", get: func(kind, key string) string { return ix.Settings[filterPrefix+kind+"."+key] }}
		for _, k := range sortedKeys(ix.Settings) {
			for _, kind := range filterKinds {
				if key, ok := strings.CutPrefix(k, filterPrefix+kind+"."); ok && !slices.Contains(own.keys, key) {
					own.keys = append(own.keys, key)
				}
			}
		}
		if ok, why := own.allows(n); !ok {
			return false, why
		}
		if c.master != nil && c.master.Version.AtLeast(5, 9) {
			return true, ""
		}
	}
	return !n.count.filtered, n.count.filteredWhy
}

// clusterAllows asks the cluster's filters that are set.
func clusterAllows(filters []clusterFilter, n *Node) (bool, string) {
	if len(filters) == 0 {
		return true, ""
	}
	f := filterSet{scope: "cluster", keys: filterKeys, get: func(kind, key string) string {
		for i := range filters {
			if filters[i].kind == kind && filters[i].key == key {
				return filters[i].list
			}
		}
		return ""
	}}
	return f.allows(n)
}

// excluded reports whether the filters keep the index off the node.
func (c *Cluster) excluded(ix *Index, n *Node) bool {
	ok, _ := c.filter(ix, n)
	return !ok
}

// verdict is what the deciders say: yes, throttled or no, with CrateDB's words.
type verdict int

const (
	yes verdict = iota
	throttled
	no
)

// enabled is the enable decider.
func (c *Cluster) enabled(cp *Copy) bool {
	s := cp.Shard
	enable := c.tally.enable
	if own := s.Index.Settings["routing.allocation.enable"]; own != "" {
		enable = strings.ToLower(own)
	}
	existing := cp.Primary && cp.node == nil && s.allocated
	switch enable {
	case "none":
		return existing
	case "new_primaries":
		return existing || cp.Primary && !s.allocated
	case "primaries":
		return cp.Primary
	}
	return true
}

func (c *Cluster) enableWords(cp *Copy) string {
	return "no allocations are allowed due to cluster setting [cluster.routing.allocation.enable=" +
		c.tally.enable + "]"
}

// decide asks every decider whether the copy may go to the node; throttling comes last.
func (c *Cluster) decide(cp *Copy, n *Node, forExistingStore bool) (verdict, string) {
	s := cp.Shard
	if !c.enabled(cp) {
		return no, c.enableWords(cp)
	}
	if other := s.on(n); other != nil && other != cp {
		return no, s.takenWords(other)
	}
	if ok, why := c.filter(s.Index, n); !ok {
		return no, why
	}
	if ok, why := c.versionFits(cp, n); !ok {
		return no, why
	}
	if ok, why := c.zoneFits(cp, n); !ok {
		return no, why
	}
	if ok, why := c.diskFits(cp, n, forExistingStore); !ok {
		return no, why
	}
	if ok, why := c.limitFits(cp, n); !ok {
		return no, why
	}
	if why := c.snapshotWords(cp); why != "" {
		return throttled, why
	}
	if why := c.throttleWords(cp, n); why != "" {
		return throttled, why
	}
	return yes, ""
}

// snapshotWords: a primary that is being snapshotted waits.
func (c *Cluster) snapshotWords(cp *Copy) string {
	if cp.node == nil || !cp.Primary || !c.snapshotHolds(cp.Shard) {
		return ""
	}
	return "waiting for snapshotting of shard [" + cp.Shard.name() + "] to complete on this node [" + cp.node.ID + "]"
}

// throttleWords: no more recoveries at once than a node may have.
func (c *Cluster) throttleWords(cp *Copy, n *Node) string {
	if cp.Primary && cp.node == nil {
		if n.count.initialPrimaries >= c.tally.initial {
			return "reached the limit of ongoing initial primary recoveries [" + strconv.Itoa(n.count.initialPrimaries) + "], cluster setting [cluster.routing.allocation.node_initial_primaries_recoveries=" + strconv.Itoa(c.tally.initial) + "]"
		}
		return ""
	}
	source := cp.node
	if source == nil {
		source = cp.Shard.primary().node
	}
	limit := c.tally.incoming
	if in := n.count.in; in >= limit {
		return "reached the limit of incoming shard recoveries [" + strconv.Itoa(in) + "], cluster setting [cluster.routing.allocation.node_concurrent_incoming_recoveries=" + strconv.Itoa(limit) + "] (can also be set via [cluster.routing.allocation.node_concurrent_recoveries])"
	}
	if source != nil && source.count.out >= limit {
		return "reached the limit of outgoing shard recoveries [" + strconv.Itoa(source.count.out) + "] on the node [" + source.ID + "] which holds the primary, cluster setting [cluster.routing.allocation.node_concurrent_outgoing_recoveries=" + strconv.Itoa(limit) + "] (can also be set via [cluster.routing.allocation.node_concurrent_recoveries])"
	}
	return ""
}

func (s *Shard) takenWords(other *Copy) string {
	return "a copy of this shard is already allocated to this node [" + s.describe(other) + "]"
}

// name is the shard's in messages; a partition's index has the partition in its name.
func (s *Shard) name() string { return s.Index.name() + "][" + strconv.Itoa(s.ID) }

func (ix *Index) name() string {
	if ix.Ident == "" {
		return ix.Table.Name
	}
	return ".partitioned." + ix.Table.Name + "." + ix.Ident
}

func (s *Shard) describe(cp *Copy) string {
	id, kind := "null", "R"
	if cp.node != nil {
		id = cp.node.ID
	}
	if cp.Primary {
		kind = "P"
	}
	return "[" + s.name() + "], node[" + id + "], [" + kind + "], s[" + string(cp.State()) + "]"
}

// versionFits: a replica may not be on an older node than its primary, nor may a primary
// move to an older node. An older node may not read the newer one's files.
func (c *Cluster) versionFits(cp *Copy, n *Node) (bool, string) {
	source := cp.node
	if !cp.Primary {
		source = cp.Shard.primary().node
	}
	if source == nil || !n.Version.Less(source.Version) || n.Version.sameMinor(source.Version) {
		return true, ""
	}
	if cp.Primary {
		return false, "cannot relocate primary shard from a node with version [" + source.Version.String() + "] to a node with older version [" + n.Version.String() + "]"
	}
	return false, "cannot allocate replica shard to a node with version [" + n.Version.String() + "] since this is older than the primary version [" + source.Version.String() + "]"
}

// zoneFits is awareness: at most ceil(copies / zones) copies a zone, and a zone counts as
// long as it has a data node, excluded or not. A node without the attribute gets none.
func (c *Cluster) zoneFits(cp *Copy, n *Node) (bool, string) {
	list := c.tally.awareness
	if list == "" {
		return true, ""
	}
	for _, attr := range splitList(list) {
		zone, ok := n.attribute(attr)
		if !ok {
			return false, "node does not contain the awareness attribute [" + attr + "]; required attributes cluster setting [cluster.routing.allocation.awareness.attributes=" + list + "]"
		}
		var zones []string
		for _, o := range c.members {
			if v, ok := o.attribute(attr); ok && o.alive && o.Data {
				zones = addID(zones, v)
			}
		}
		copies := len(cp.Shard.copies)
		most := (copies + len(zones) - 1) / max(1, len(zones))
		here := 1
		for _, o := range cp.Shard.copies {
			at := o.node
			if o.target != nil {
				at = o.target
			}
			if o == cp || at == nil {
				continue
			}
			if v, _ := at.attribute(attr); v == zone {
				here++
			}
		}
		if here > most {
			return false, "there are too many copies of the shard allocated to nodes with attribute [" + attr + "], there are [" + strconv.Itoa(copies) + "] total configured shard copies for this shard id and [" + strconv.Itoa(len(zones)) + "] total attribute values, expected the allocated shard count per attribute [" + strconv.Itoa(here) + "] to be less than or equal to the upper bound of the required number of shards per attribute [" + strconv.Itoa(most) + "]"
		}
	}
	return true, ""
}

// freeBelow reports whether the node's free space is under the watermark.
func (c *Cluster) freeBelow(n *Node, w watermark) bool {
	if !c.tally.diskThreshold {
		return false
	}
	size := n.diskSize()
	free := float64(size - n.DiskUsed - n.count.bytes)
	if w.isBytes {
		return free < w.bytes
	}
	return free < float64(size)*(1-w.percent/100)
}

func (c *Cluster) diskFits(cp *Copy, n *Node, forExistingStore bool) (bool, string) {
	if forExistingStore {
		return true, ""
	}
	w, mark := c.tally.low, "low"
	if cp.Primary && cp.node == nil && !cp.Shard.allocated {
		w, mark = c.tally.high, "high" // a fresh primary is empty
	}
	if c.freeBelow(n, w) {
		return false, "the node is above the " + mark + " watermark cluster setting [cluster.routing.allocation.disk.watermark." + mark + "=" + w.text + "], " + c.freeWords(n, w)
	}
	return true, ""
}

func (c *Cluster) freeWords(n *Node, w watermark) string {
	size, used := n.Disk()
	if w.isBytes {
		return "having less than the minimum required [" + w.text + "] free space, actual free: [" + strconv.FormatInt(size-used, 10) + "b]"
	}
	return "using more disk space than the maximum allowed [" + strconv.FormatFloat(w.percent, 'f', 1, 64) + "%], actual free: [" + strconv.FormatFloat(float64(size-used)/float64(size)*100, 'f', -1, 64) + "%]"
}

// limitFits is total_shards_per_node, the cluster's and the table's own.
func (c *Cluster) limitFits(cp *Copy, n *Node) (bool, string) {
	total, own := c.tally.totalPerNode, -1
	if v, ok := cp.Shard.Index.Settings["routing.allocation.total_shards_per_node"]; ok {
		if k, err := strconv.Atoi(v); err == nil {
			own = k
		}
	}
	if total <= 0 && own <= 0 {
		return true, ""
	}
	all, mine := 0, 0
	for _, ix := range c.indexes {
		for _, s := range ix.shards {
			if s.on(n) != nil {
				all++
				if ix == cp.Shard.Index {
					mine++
				}
			}
		}
	}
	if total > 0 && all >= total {
		return false, "too many shards [" + strconv.Itoa(all) + "] allocated to this node, cluster setting [cluster.routing.allocation.total_shards_per_node=" + strconv.Itoa(total) + "]"
	}
	if own > 0 && mine >= own {
		return false, "too many shards [" + strconv.Itoa(mine) + "] allocated to this node for index [" + cp.Shard.Index.name() + "], index setting [index.routing.allocation.total_shards_per_node=" + strconv.Itoa(own) + "]"
	}
	return true, ""
}

// remains reports whether the copy may stay where it is.
func (c *Cluster) remains(cp *Copy) bool {
	if c.excluded(cp.Shard.Index, cp.node) {
		return false
	}
	return !c.freeBelow(cp.node, c.tally.high)
}
