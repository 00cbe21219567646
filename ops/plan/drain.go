package plan

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// drain says in numbers what a drain moves, once it is decided.
func (c *course) drain(observed *model.Observed, before, next *model.Record) {
	op := next.Operation
	if !nodesLeave(op) || c.current < 0 {
		return
	}
	var leaving []string
	for _, n := range op.Shrink.Leaving {
		// Where nodes vote they leave one by one, and a group is drained before it is removed: what was
		// drained is not drained again.
		if each := fmt.Sprint(c.current, " ", n.Name); !slices.Contains(c.drained, each) {
			c.drained = append(c.drained, each)
			leaving = append(leaving, n.Name)
		}
	}
	if len(leaving) == 0 {
		return
	}
	if op.Shrink.Replaces != "" {
		d, w := capacity.ForecastDrain(&observed.Database, next.Version, leaving, c.model.dataNodeNames()), &c.work[c.current]
		w.bytes += d.Bytes
		if w.unsure = w.unsure || c.blind || !d.Known; d.Known {
			w.percent = max(w.percent, d.Percent)
		}
		return
	}
	current := &c.out.Operations[c.current]
	text := fmt.Sprintf("drain %s", strings.Join(leaving, ", "))
	if op.Shrink.Masters {
		text = "let " + strings.Join(leaving, ", ") + " go, which carry no data"
	} else if c.blind {
		text += drainUnknown
	} else if c.empty {
		text += ": there are no shards to move" + emptyFirst
	} else if d := capacity.ForecastDrain(&observed.Database, next.Version, leaving, c.model.dataNodeNames()); d.Shards > 0 || d.Known {
		text += fmt.Sprintf(": %s shards, %s move", thousands(d.Shards), bytesText(d.Bytes))
		if d.Shards == 1 {
			text = strings.Replace(text, "1 shards", "1 shard", 1)
		}
		if d.Known {
			text += fmt.Sprintf(", fits: the nodes that stay are at %d %% of the low watermark after", d.Percent)
		}
		text += emptyFirst
		if op.Shrink.LeaveZone && len(d.Behind) > 0 {
			text += "; they leave " + gates.LeftBehind(d.Behind) + ", and CrateDB makes them again on other nodes"
		}
		c.work[c.current].bytes += d.Bytes
		c.work[c.current].nodes = max(c.work[c.current].nodes, len(leaving))
	} else {
		text += drainUnknown
	}
	if strings.Contains(current.Summary, ": ") {
		current.Summary += "; " + text
	} else {
		current.Summary += ": " + text
	}
}

// emptyFirst is what a drain risks: nothing leaves that has a copy.
const emptyFirst = "; a node leaves when it is empty, and its volume claims stay"

// movesWords say what the drains of nodes that stay move, and how full the others are meanwhile.
func movesWords(w work) string {
	switch {
	case w.unsure:
		return "how many bytes move, and whether they fit, is not known"
	case w.percent > 0:
		return fmt.Sprintf("%s move; the other nodes are at %d %% of the low watermark at most meanwhile", bytesText(w.bytes), w.percent)
	}
	return bytesText(w.bytes) + " move"
}

// hasNoShards reports whether the tables were read, and no node has a shard.
func hasNoShards(db *model.Database) bool {
	return db.TablesKnown && len(db.Shards) == 0 && !slices.ContainsFunc(db.Nodes, func(n model.Node) bool { return n.Shards > 0 })
}

// drainUnknown stands where a number would be of another moment, or none.
const drainUnknown = ": how many shards move, and whether they fit, is not known"

// nodesLeave reports whether the operation has come to a StatefulSet, and knows which of its nodes
// leave.
func nodesLeave(op *model.Operation) bool {
	return op != nil && op.Shrink != nil && op.Shrink.Set != "" && len(op.Shrink.Leaving) > 0
}

func (m *world) dataNodeNames() []string {
	var all []string
	for i := range m.pods {
		if p := &m.pods[i]; p.joined && m.carriesData(p.Set) {
			all = append(all, p.NodeName)
		}
	}
	return all
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
