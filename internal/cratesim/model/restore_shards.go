package model

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// shardRestore is a shard whose primary comes from a snapshot. It is INIT until it is
// SUCCESS or FAILURE.
type shardRestore struct {
	run   *Restore
	shard *Shard
	state string // "" is INIT
	// unreadable is why it cannot be restored, nil where it can; asked is true once the master
	// has asked for it.
	unreadable *failure
	asked      bool
	tries      int
	// forgotten: all nodes have ended in the middle of it.
	forgotten bool
}

// State is the shard's in sys.snapshot_restore.
func (s *shardRestore) State() string {
	if s.state == "" {
		return "INIT"
	}
	return s.state
}

// waits reports whether the master does not know the shard's size.
func (s *shardRestore) waits() bool {
	return s != nil && s.state == "" && (s.lost() || !s.asked)
}

// lost reports whether the shard's file is not there. A server's answer is not that: the shard is
// allocated, and its restore fails (run on 6.4.3).
func (s *shardRestore) lost() bool { return s.unreadable != nil && errAsked(s.unreadable) == nil }

// RestoreShard is a shard in sys.snapshot_restore.
type RestoreShard struct {
	Relation
	Ident, State string
	ID           int
}

// Restores are the restores that run.
func (n *Node) Restores() []*Restore {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	return n.cluster.restores
}

// RestoresGate fails from 6.1 on while a restore goes on of which a table or partition has been
// dropped: CrateDB looks for the names of all of them (SysSnapshotRestoreInProgress.java; run on
// 6.3.7 and 6.4.3).
func (n *Node) RestoresGate() *Error {
	for _, r := range n.Restores() {
		for _, s := range r.shards {
			if ix := s.shard.Index; n.Version.AtLeast(6, 1) && !slices.Contains(n.cluster.indexes, ix) {
				words := "Relation not found for indexUUID=" + ix.uuid
				return ErrRelationUnknown(words).ofTable("doc." + words)
			}
		}
	}
	return nil
}

// State is the restore's, Shards are its shards.
func (r *Restore) State() string {
	started := false
	for _, s := range r.shards {
		started = started || s.state != ""
	}
	if started {
		return "STARTED"
	}
	return "INIT"
}

func (r *Restore) Shards() (out []RestoreShard) {
	for _, s := range r.shards {
		ix := s.shard.Index
		out = append(out, RestoreShard{Relation{ix.Table.Schema, ix.Table.Name}, ix.Ident, s.State(), s.shard.ID})
	}
	return out
}

// Ended reports whether no shard of the restore is on its way any more, and why it has
// failed.
func (r *Restore) Ended() (bool, *Error) {
	failed := 0
	for _, s := range r.shards {
		switch s.state {
		case "":
			return false, nil
		case "FAILURE":
			failed++
		}
	}
	if failed > 0 {
		return true, errRestore(r.Repository, r.Name, "", "failed to restore "+itoa(failed)+" of "+itoa(len(r.shards))+" shards")
	}
	return true, nil
}

// forgetRunning is the end of all nodes: neither snapshots nor restores that run are on disk.
// What was being restored stays RED for good (run on 6.4.3).
func (c *Cluster) forgetRunning() {
	for _, r := range c.restores {
		for _, s := range r.shards {
			if s.state == "" {
				s.state, s.forgotten = "FAILURE", true
			}
		}
	}
	c.running, c.restores, c.drops = nil, nil, nil
}

// finishRestores forgets the restores that have ended.
func (c *Cluster) finishRestores() {
	before := len(c.restores)
	c.restores = slices.DeleteFunc(c.restores, func(r *Restore) bool { ended, _ := r.Ended(); return ended })
	if len(c.restores) != before {
		c.m.changes++
	}
}

// words is the snapshot's in messages.
func (r *Restore) words() string { return r.Repository + ":" + r.Name + "/" + r.ID }

// beingRestored is the index of a table that a restore has not ended for, nil for none.
func (c *Cluster) beingRestored(t *Table) *Index {
	for _, r := range c.restores {
		for _, s := range r.shards {
			if s.shard.Index.Table == t {
				return s.shard.Index
			}
		}
	}
	return nil
}

func (c *Cluster) restoreWords() string {
	var out []string
	for _, r := range c.restores {
		out = append(out, "{"+r.UUID+"}{"+r.words()+"}")
	}
	return "RestoreInProgress[" + strings.Join(out, ",") + "]"
}

// allocateRestored gives a primary that comes from a snapshot its place. Where every node
// says no at that moment, the restore of the shard has failed for good
// (RestoreInProgressUpdater.unassignedInfoUpdated).
func (c *Cluster) allocateRestored(p *Copy) {
	s := p.Shard
	if s.restore.state == "FAILURE" || c.awaitsSize(s.restore) {
		return
	}
	throttled := false
	for _, n := range c.byLoad() {
		switch c.decide(p, n) {
		case allocation.Yes:
			c.assign(p, n, true)
			p.due = p.due.Add(s.restore.run.takes + s.restore.extra(c))
			return
		case allocation.Throttled:
			throttled = true
		}
	}
	if !throttled {
		s.restore.state = "FAILURE"
	}
}

// sizeFetches is how many shards' sizes a master asks for at the same time
// (cluster.snapshot.info.max_concurrent_fetches).
const sizeFetches = 5

// awaitsSize reports whether the master does not know how large the shard is in its snapshot.
// It asks once. A request that has failed counts as under way as long as the process is the
// master, also when the table is gone: the shard is never allocated, and after five such
// requests no other is either (InternalSnapshotsInfoService, whose onFailure is not called for
// a future that fails).
func (c *Cluster) awaitsSize(s *shardRestore) bool {
	if c.sizesOf != c.master {
		c.sizesOf, c.sizesLost = c.master, 0
		for _, r := range c.restores {
			for _, each := range r.shards {
				each.asked = false
			}
		}
	}
	if s.asked {
		return s.lost()
	}
	if c.sizesLost >= sizeFetches {
		return true
	}
	s.asked = true
	if s.lost() {
		c.sizesLost++
	}
	return s.lost()
}

// extra is what the bytes take, at the repository's rate or the cluster's.
func (s *shardRestore) extra(c *Cluster) time.Duration {
	rate := c.recoveryRate()
	if s.run.rate > 0 {
		rate = min(rate, s.run.rate)
	}
	return time.Duration(float64(s.shard.bytes()) / float64(rate) * float64(time.Second))
}

// restored ends the recovery of a primary from its snapshot; false is one that failed.
func (c *Cluster) restored(cp *Copy) bool {
	s := cp.Shard.restore
	if s == nil || !cp.Primary || cp.Shard.allocated {
		return true
	}
	if r := c.repositoryOf(s.run.Repository); s.unreadable == nil && (r == nil || c.m.answers(r)) {
		s.state = "SUCCESS"
		return true
	}
	// It is tried again, as often as index.allocation.max_retries says.
	s.tries++
	cp.node, cp.init, cp.since = nil, false, c.m.now
	if s.tries >= 5 {
		s.state = "FAILURE"
	}
	return false
}

// restoresLose is a table or partition that is dropped while it is restored.
func (c *Cluster) restoresLose(gone func(*Index) bool) {
	for _, r := range c.restores {
		for _, s := range r.shards {
			if s.state == "" && gone(s.shard.Index) {
				s.state = "FAILURE"
			}
		}
	}
	c.finishRestores()
}

// objection is what RestoreInProgressAllocationDecider has against the copy.
func (s *shardRestore) objection() string {
	if s == nil || s.state != "FAILURE" {
		return ""
	}
	return "shard has failed to be restored from the snapshot [" + s.run.words() + "] - manually close or delete the index [[" + s.shard.Index.name() + "/" + s.shard.Index.uuid +
		"]] in order to retry to restore the snapshot again or use the reroute API to force the allocation of an empty primary shard. Details: [restore_source[" + s.run.Repository + "/" + s.run.Name + "]]"
}
