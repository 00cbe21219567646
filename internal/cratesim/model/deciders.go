package model

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

const filterPrefix = "routing.allocation."

// readRules takes the index's own settings that the deciders ask for.
func (ix *Index) readRules() {
	if ix.rules.OnNode == nil {
		ix.rules.Name, ix.rules.OnNode = ix.name(), ix.onNode
		sum := sha256.Sum256([]byte(ix.rules.Name))
		ix.rules.UUID = base64.RawURLEncoding.EncodeToString(sum[:16])
	}
	ix.rules.Enable, ix.rules.TotalShardsPerNode, ix.rules.Filters = "", 0, allocation.Filters{}
	if len(ix.Settings) == 0 {
		return
	}
	ix.rules.Enable = allocation.Enable(strings.ToLower(ix.Settings[filterPrefix+"enable"]))
	if limit, err := strconv.Atoi(ix.Settings[filterPrefix+"total_shards_per_node"]); err == nil {
		ix.rules.TotalShardsPerNode = limit
	}
	for _, k := range sortedKeys(ix.Settings) {
		for _, kind := range allocation.FilterKinds {
			if key, ok := strings.CutPrefix(k, filterPrefix+kind+"."); ok {
				ix.rules.Filters.Add(kind, key, ix.Settings[k])
			}
		}
	}
}

// onNode counts the index's copies of a node, those that are to come with them.
func (ix *Index) onNode(n *allocation.Node) (k int) {
	for _, s := range ix.shards {
		for _, cp := range s.copies {
			if at := cp.at(); at != nil && &at.place == n {
				k++
			}
		}
	}
	return k
}

// at is where the copy is, or will be once it has moved.
func (cp *Copy) at() *Node {
	if cp.target != nil {
		return cp.target
	}
	return cp.node
}

// excluded reports whether the filters keep the index off the node.
func (c *Cluster) excluded(ix *Index, n *Node) bool { return !c.rules.Allows(&ix.rules, &n.place) }

// asked is the copy as the deciders want to know it. The answer is valid until the next
// call.
func (c *Cluster) asked(cp *Copy) *allocation.Copy {
	s, q := cp.Shard, &c.question
	*q = allocation.Copy{
		Table: &s.Index.rules, Shard: s.ID, Primary: cp.Primary, Allocated: s.allocated, On: placeOf(cp.node), State: string(cp.State()),
		Copies: len(s.copies), Others: q.Others[:0],
	}
	if s.primaryActive() {
		q.Source = &s.primary().node.place
	}
	q.Snapshotted = cp.Primary && c.snapshotHolds(s)
	q.Snapshots = len(c.running) > 0
	if q.Restored = cp.Primary && !s.allocated && s.restore != nil; q.Restored {
		q.RestoreFailed, q.Size = s.restore.objection(), s.bytes()
	}
	for _, o := range s.copies {
		if o != cp && o.node != nil {
			q.Others = append(q.Others, allocation.Place{On: &o.node.place, To: placeOf(o.target), Primary: o.Primary, State: string(o.State())})
		}
	}
	return q
}

func placeOf(n *Node) *allocation.Node {
	if n == nil {
		return nil
	}
	return &n.place
}

// decide asks every decider whether the copy may go to the node.
func (c *Cluster) decide(cp *Copy, n *Node) allocation.Verdict {
	return c.rules.Decide(c.asked(cp), &n.place)
}

// remains reports whether the copy may stay where it is.
func (c *Cluster) remains(cp *Copy) bool { return c.rules.Remains(c.asked(cp)) }

// name is the index's in messages; that of a partition has the partition in it.
func (ix *Index) name() string {
	if ix.Table.Blob {
		return ".blob_" + ix.Table.Name
	}
	return indexNameOf(Relation{ix.Table.Schema, ix.Table.Name}, ix.Ident)
}

// indexNameOf is the name of a table's index or of a partition's.
func indexNameOf(r Relation, ident string) string {
	schema := ""
	if r.Schema != "doc" {
		schema = r.Schema + "."
	}
	if ident == "" {
		return schema + r.Name
	}
	return schema + ".partitioned." + r.Name + "." + ident
}
