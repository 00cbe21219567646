package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/scale"
)

// beside is what the world has for witnesses beside `system`: tables that it may not see,
// folders that outlive their shards, and pods in which nothing can be run.
type beside struct {
	folders []folder
	// noCrash and noVolume are until when a pod's container has no such command.
	noCrash, noVolume millis
}

// folder is a shard's on a volume that the shard has left.
type folder struct {
	slot, node, disk, id int
	table                string
	// until CrateDB deletes it; never where it has missed it.
	until millis
}

// leavesFolder: CrateDB deletes a shard's folder a moment after the shard has gone, and not
// at all where the cluster's state changes in between. It looks again when the allocation
// is retried.
func (w *world) leavesFolder(c *replica, s *shard) {
	until := w.now + 200 + millis(s.id*170+s.table*90)%700
	if w.now%8 == 0 {
		until = never
	}
	w.folders = append(w.folders, folder{slot: c.slot, node: c.node, disk: c.disk, id: s.id, table: w.tables[s.table].name, until: until})
}

// deletesFolders is what a retried allocation has every node look at.
func (w *world) deletesFolders() {
	for i := range w.folders {
		w.folders[i].until = min(w.folders[i].until, w.now+150)
	}
}

// exec reaches the container of a pod, which takes its time. Nothing that it reads counts
// as a call: a fault there is one before the next.
func (o objects) exec(pod string, lacks millis) (*slot, error) {
	w := o.d.w
	w.advance(w.now + 80 + w.now%400)
	l := w.slotOf(pod)
	switch {
	case l == nil || !l.pod.exists || l.pod.started == 0 || w.now < w.unreachable || w.now < w.dead[l.kube]:
		return nil, errors.New("exec: connection refused")
	case w.now < lacks:
		return nil, errors.New("exec: no such command in the container")
	}
	return l, nil
}

// superuser answers what crash is asked about shards: no privilege filters it.
func (o objects) superuser(pod, statement string) (said string, asked bool, err error) {
	w := o.d.w
	switch {
	case strings.HasPrefix(statement, "SELECT name FROM sys.users WHERE superuser"):
	case strings.Contains(statement, " FROM sys.shards "):
	default:
		return "", false, nil
	}
	l, err := o.exec(pod, w.noCrash)
	if err != nil {
		return "", true, err
	}
	switch {
	case !l.pod.up || w.processHangs(l):
		return "", true, execute.ErrCrashFailed
	case strings.HasPrefix(statement, "SELECT name"):
		return `[{"name": "crate"}]`, true, nil
	case w.master < 0 || !w.recovered || !l.pod.joined:
		return "", true, execute.ErrNotRecovered
	}
	var rows []string
	for _, r := range w.copyRows(true) {
		leaves := strings.Contains(statement, "'"+r[5]+"'") || strings.Contains(statement, "'"+r[6]+"'")
		if elsewhere := strings.Contains(statement, " NOT IN "); elsewhere && (leaves || r[4] != "STARTED") || !elsewhere && !leaves && r[4] == "STARTED" {
			continue
		}
		rows = append(rows, fmt.Sprintf(`{"schema_name": %q, "table_name": %q, "id": %s, "routing_state": %q, "node_id": %q, "node_name": %q, "path": %q}`,
			r[0], r[1], r[3], r[4], r[5], r[6], "/data/data0/nodes/0/indices/"+r[1]+"/"+r[3]))
	}
	return "[" + strings.Join(rows, ", ") + "]", true, nil
}

// Folders are the stores on a pod's volume, and what is not deleted yet.
func (o objects) Folders(_ context.Context, pod string) ([]model.ShardFolder, error) {
	w := o.d.w
	l, err := o.exec(pod, w.noVolume)
	if err != nil {
		return nil, err
	}
	var all []model.ShardFolder
	add := func(name string, disk, id int) {
		all = append(all, model.ShardFolder{UUID: name, ID: id, Path: fmt.Sprintf("/data/%s/nodes/0/indices/%s/%d", diskName(disk), name, id)})
	}
	for i := range w.shards {
		s := &w.shards[i]
		for j := range s.copies {
			if c := &s.copies[j]; c.slot == l.index && c.node == l.volume.node && l.pod.sees(c.disk) {
				add(w.tables[s.table].name, c.disk, s.id)
			} else if c.state == relocating && c.to == l.index {
				add(w.tables[s.table].name, 0, s.id)
			}
		}
	}
	kept := w.folders[:0]
	for _, f := range w.folders {
		if f.until > w.now {
			kept = append(kept, f)
		}
	}
	w.folders = kept
	for _, f := range w.folders {
		if f.slot == l.index && f.node == l.volume.node && l.pod.sees(f.disk) {
			add(f.table, f.disk, f.id)
		}
	}
	return all, nil
}

// examine reads the evidence for a decision.
func (d *daemon) examine(desired *model.Desired, rec *model.Record) {
	db := &d.observed.Database
	db.Evidence = nil
	if x := scale.NeedsEvidence(desired, &d.observed, rec); x.Wanted() {
		db.Evidence = execute.Examine(context.Background(), d.tools(), x)
	}
}
