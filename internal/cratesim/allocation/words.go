package allocation

import (
	"strconv"
	"strings"
)

// Said is what one decider says, as a move by hand is refused with.
type Said struct {
	Verdict Verdict
	Words   string
}

// String is CrateDB's form: "YES(words)".
func (s Said) String() string {
	return [...]string{Yes: "YES", Throttled: "THROTTLE", No: "NO"}[s.Verdict] + "(" + s.Words + ")"
}

// Says is what each decider says of the copy and the node, in the order in which CrateDB
// asks them (ClusterModule), with those that the simulator has no need to ask: nothing
// fails there, and a node that is decommissioned is gone.
func (s *Settings) Says(c *Copy, n *Node) []Said {
	q := question{s: s, c: c, n: n, words: true}
	out := []Said{{Yes, "shard has no previous failures"}}
	for i := range deciders {
		v, why := q.ask(i)
		if v == Yes {
			why = q.yes(i)
		}
		out = append(out, Said{v, why})
	}
	return append(out, Said{Yes, "node isn't decommissioned"})
}

// yes is what a decider says that has nothing against it.
func (q *question) yes(decider int) string {
	switch decider {
	case 0:
		if q.c.Primary {
			return "shard is primary and can be allocated"
		}
		return "primary shard for this replica is already active"
	case 1:
		return q.enabledWords()
	case 2:
		return q.versionWords()
	case 3:
		if q.c.Primary && !q.c.Snapshots {
			return "no snapshots are currently running"
		}
		return "the shard is not being snapshotted"
	case 4:
		if q.c.Restored {
			return "shard is currently being restored"
		}
		return "ignored as shard is not being recovered from a snapshot"
	case 5:
		return q.s.filterYes(q.c.Table)
	case 6:
		return "this node does not hold a copy of this shard"
	case 7:
		if !q.s.DiskThreshold {
			return "the disk threshold decider is disabled"
		}
		free := strconv.FormatInt(q.n.DiskFree, 10) + "b"
		return "enough disk for shard on node, free: [" + free + "], shard size: [0b], free after allocating shard: [" + free + "]"
	case 8:
		return q.throttleWords()
	case 9:
		return q.limitWords()
	}
	if len(q.s.Awareness) == 0 {
		return "allocation awareness is not enabled, set cluster setting [" + prefix + "awareness.attributes] to enable it"
	}
	return "node meets all awareness attribute requirements"
}

func (q *question) enabledWords() string {
	if q.s.IgnoreEnable {
		return "explicitly ignoring any disabling of allocation due to manual allocation commands via the reroute API"
	}
	enable := q.s.Enable
	if own := q.c.Table.Enable; own != "" {
		enable = own
	}
	switch enable {
	case newPrimaries:
		return "new primary allocations are allowed"
	case primariesOnly:
		return "primary allocations are allowed"
	}
	return "all allocations are allowed"
}

func (q *question) versionWords() string {
	switch {
	case q.c.Primary && q.c.On == nil:
		return "the primary shard is new or already existed on the node"
	case q.c.Primary:
		return "can relocate primary shard from a node with version [" + q.c.On.Version.String() + "] to a node with equal-or-newer version [" + q.n.Version.String() + "]"
	case q.c.Source == nil:
		return "no active primary shard yet"
	}
	return "can allocate replica shard to a node with version [" + q.n.Version.String() + "] since this is equal-or-newer than the primary version [" + q.c.Source.Version.String() + "]"
}

func (q *question) throttleWords() string {
	if q.c.Primary && q.c.On == nil {
		return "below primary recovery limit of [" + strconv.Itoa(q.s.InitialPrimaries) + "]"
	}
	limit := strconv.Itoa(q.s.Recoveries)
	return "below shard recovery limit of outgoing: [" + strconv.Itoa(q.c.Source.Out) + " < " + limit + "] incoming: [" + strconv.Itoa(q.n.In) + " < " + limit + "]"
}

func (q *question) limitWords() string {
	own, cluster := q.c.Table.TotalShardsPerNode, q.s.TotalShardsPerNode
	if own == 0 {
		own = -1
	}
	limits := "index: " + strconv.Itoa(own) + ", cluster: " + strconv.Itoa(cluster)
	if own <= 0 && cluster <= 0 {
		return "total shard limits are disabled: [" + limits + "] <= 0"
	}
	return "the shard count [" + strconv.Itoa(q.n.Shards) + "] for this node is under the index limit [" + strconv.Itoa(own) + "] and cluster level node limit [" + strconv.Itoa(cluster) + "]"
}

// filterYes is what FilterAllocationDecider says where the filters let the table be there.
func (s *Settings) filterYes(t *Table) string {
	if s.Version.AtLeast(5, 9) {
		own := &t.Filters
		kind, filters, how := "", own.Require, "matches"
		switch {
		case len(own.Require) > 0:
			kind = "require"
		case len(own.Include) > 0:
			kind, filters = "include", own.Include
		case len(own.Exclude) > 0:
			kind, filters, how = "exclude", own.Exclude, "does not match"
		}
		if kind != "" {
			return "node " + how + " index setting [index.routing.allocation." + kind + "] filters [" + filterWords(filters, kind) + "]"
		}
	}
	return "node passes include/exclude/require filters"
}

// Sentence joins what the deciders say, as an error has it.
func Sentence(said []Said) string {
	var b strings.Builder
	for _, s := range said {
		b.WriteString("[" + s.String() + "]")
	}
	return b.String()
}
