package model

import (
	"slices"
	"strings"
	"time"
)

// Drop is a snapshot that is being taken out of its repository. It waits for the snapshots of
// the repository that were begun before it, and those that are begun after it wait for it
// (SnapshotsService.deleteSnapshots).
type Drop struct {
	repository, name, id string
	uuid                 string
	number               int
	done                 bool
	failed               *Error
}

// Ended reports whether the snapshot is gone, and why it is not.
func (d *Drop) Ended() (bool, *Error) { return d.done, d.failed }

// DropSnapshot takes a snapshot out of its repository; one that runs is aborted, and nil is the
// answer.
func (n *Node) DropSnapshot(repository, name string) (*Drop, *Error) {
	if err := n.ChangeGate(); err != nil {
		return nil, err
	}
	if err := n.RepositoryKnown(repository); err != nil {
		return nil, err
	}
	c, r := n.cluster, n.Repositories()[n.repository(repository)]
	if r.hangs(c.m) {
		return nil, errHangs()
	}
	l, _, err := c.m.list(r)
	if err != nil {
		return nil, err
	}
	running := c.runningSnapshot(repository, name)
	at := slices.IndexFunc(l.Snapshots, func(s listed) bool { return s.Name == name })
	switch {
	case running == nil && at < 0:
		return nil, errSnapshotMissing(repository, name)
	case at >= 0 && slices.ContainsFunc(c.restores, func(o *Restore) bool { return o.ID == l.Snapshots[at].UUID }):
		return nil, errorOf("ConcurrentSnapshotExecutionException", "XX000", 500, 5000, "[%s:%s/%s] cannot delete snapshot during a restore in progress in [%s]",
			repository, name, l.Snapshots[at].UUID, c.restoreWords())
	case r.ReadOnly():
		return nil, errRepository(repository, "cannot delete snapshot from a readonly repository")
	case running != nil:
		c.abort(running)
		return nil, nil
	}
	if d := c.dropping(l.Snapshots[at].UUID); d != nil {
		return d, nil
	}
	c.begun++
	d := &Drop{repository: repository, name: name, id: l.Snapshots[at].UUID, uuid: c.m.newID(), number: c.begun}
	c.drops = append(c.drops, d)
	c.finishDrops()
	c.m.touch()
	c.m.settle()
	return d, nil
}

// dropping is the drop of a snapshot that waits, nil for none.
func (c *Cluster) dropping(id string) *Drop {
	for _, d := range c.drops {
		if d.id == id {
			return d
		}
	}
	return nil
}

// errDropping is a restore of what is being dropped.
func (c *Cluster) errDropping(d *Drop) *Error {
	return errorOf("ConcurrentSnapshotExecutionException", "XX000", 500, 5000,
		"[%s:%s/%s] cannot restore a snapshot while a snapshot deletion is in-progress [SnapshotDeletionsInProgress.Entry[[%s][WAITING][%s/%s]]]", d.repository, d.name, d.id, d.uuid, d.name, d.id)
}

// finishDrops drops what waits for no snapshot any more.
func (c *Cluster) finishDrops() {
	if c.master == nil {
		return
	}
	for _, d := range slices.Clone(c.drops) {
		r := c.repositoryOf(d.repository)
		if slices.ContainsFunc(c.running, func(s *Snapshot) bool { return s.Repository == d.repository && s.number < d.number }) || r.hangs(c.m) {
			continue
		}
		c.drops = slices.DeleteFunc(c.drops, func(o *Drop) bool { return o == d })
		d.failed, d.done = c.m.drop(r, d), true
		// Those that waited begin now.
		for _, s := range c.running {
			if s.Repository == d.repository && s.number > d.number {
				s.due = s.due.Add(c.m.now.Sub(s.from))
				s.from = c.m.now
			}
		}
		c.m.changes++
	}
}

// waitsForDrop reports whether a drop has to end before the snapshot goes on.
func (c *Cluster) waitsForDrop(s *Snapshot) bool {
	return len(s.shards) > 0 && slices.ContainsFunc(c.drops, func(d *Drop) bool { return d.repository == s.Repository && d.number < s.number })
}

// drop takes a snapshot off the list and its objects away.
func (m *Model) drop(r *Repository, d *Drop) *Error {
	l, generation, err := m.list(r)
	if err != nil {
		return err
	}
	l.Snapshots = slices.DeleteFunc(l.Snapshots, func(s listed) bool { return s.UUID == d.id })
	if failed := m.writeList(r, generation, l); failed != nil {
		return errRepository(d.repository, "failed to delete snapshots ["+d.name+"/"+d.id+"]")
	}
	objects, _ := m.listed(r, "")
	for _, object := range objects {
		if strings.HasSuffix(object, "-"+d.id+".dat") {
			m.remove(r, object)
		}
	}
	return nil
}

// after is when a snapshot ends that begins now and takes so long: a shard is in one snapshot
// of a repository after the other.
func (c *Cluster) after(s *Snapshot, takes time.Duration) time.Time {
	begins := c.m.now
	for _, o := range c.running {
		shared := func(each *shardSnapshot) bool {
			return each.failed == "" && slices.ContainsFunc(s.shards, func(own *shardSnapshot) bool { return own.shard == each.shard })
		}
		if o.Repository == s.Repository && o.due.After(begins) && slices.ContainsFunc(o.shards, shared) {
			begins = o.due
		}
	}
	return begins.Add(takes)
}
