package simulation

import (
	"context"
	"errors"
	"slices"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/model"
)

// repositories are those of CrateDB, and the folders of the store behind them.
type repositories struct {
	known   []repository
	buckets []bucket
	// away is until when the store answers nobody: a repository shows nothing then, and what ends is gone.
	storeAway, storeHangs, listingBehind, behindSince millis
	accepts                                           string // the key that the store takes
	held                                              []heldStatement
	// byHand is when somebody dropped a snapshot, or a repository, last; dropped are the good ones of those.
	byHand  millis
	dropped []snapshotTaken
}

// repository is one that the cluster state has.
type repository struct {
	name, folder, key string
}

// bucket is one of the store, whoever writes to it.
type bucket struct {
	path      string
	snapshots []snapshotTaken
}

// snapshotTaken is a snapshot that runs, or that is in its folder.
type snapshotTaken struct {
	name, state  string
	all          bool // it was asked for all tables
	whole        bool // or for all that could be read, where people want the others to be skipped
	tables       []string
	began, ended millis
	due          millis // when it ends
	nodes        uint64 // whose primaries it takes, by slot
	partial      bool
	held         bool    // the store has held its statement
	of           []taken // what it has of each table, where there are drills
}

// heldStatement is one that waits for the store: nothing ends it, and it is carried out at last.
type heldStatement struct {
	text string
	run  func() error
}

const (
	backupKeys = "backup-keys"
	backupBase = "crate"
)

var backupSecretNames = []string{systemSecret, "user-ada", backupKeys}

// secretNames are the Secrets that a daemon of this schedule looks at.
func (w *world) secretNames() []string {
	if w.schedule.Start.Backups {
		return backupSecretNames
	}
	return secretNames
}

func (w *world) repositoryNamed(name string) *repository {
	for i := range w.known {
		if w.known[i].name == name {
			return &w.known[i]
		}
	}
	return nil
}

func (w *world) folderOf(path string) *bucket {
	for i := range w.buckets {
		if w.buckets[i].path == path {
			return &w.buckets[i]
		}
	}
	w.buckets = append(w.buckets, bucket{path: path})
	return &w.buckets[len(w.buckets)-1]
}

// unreadable: the store does not answer, or not to the key that the repository was made with.
func (w *world) unreadable(r *repository) bool { return w.now < w.storeAway || r.key != w.accepts }

// snapshots calls what is in each repository of the cluster.
func (w *world) eachSnapshot(does func(*repository, *snapshotTaken)) {
	for i := range w.known {
		r := &w.known[i]
		f := w.folderOf(r.folder)
		for j := range f.snapshots {
			does(r, &f.snapshots[j])
		}
	}
}

// taking is the snapshot of a repository that runs; nil for none.
func (w *world) taking() (running *snapshotTaken) {
	w.eachSnapshot(func(_ *repository, s *snapshotTaken) {
		if s.state == model.SnapshotInProgress {
			running = s
		}
	})
	return running
}

// snapshotting: a snapshot runs, whoever asked for it; primaries stay where they are meanwhile.
func (w *world) snapshotting() bool {
	return w.snapshotUntil > 0 || len(w.known) > 0 && w.taking() != nil
}

func (w *world) backupsDue() millis {
	due := never
	if len(w.held) > 0 {
		due = min(due, w.storeHangs)
	}
	if w.master < 0 {
		return due
	}
	w.eachSnapshot(func(_ *repository, s *snapshotTaken) {
		if s.state == model.SnapshotInProgress {
			due = min(due, max(s.due, w.storeHangs))
		}
	})
	return due
}

// happenBackups ends snapshots, and carries out what has waited for the store.
func (w *world) happenBackups() {
	if len(w.held) > 0 && w.storeHangs <= w.now {
		held := w.held
		w.held = nil
		for _, h := range held {
			w.say("CrateDB carries out what has waited: %s", h.text)
			_ = h.run()
		}
	}
	if w.master < 0 || w.now < w.storeHangs {
		return
	}
	for i := range w.known {
		r := &w.known[i]
		f := w.folderOf(r.folder)
		f.snapshots = slices.DeleteFunc(f.snapshots, func(s snapshotTaken) bool {
			if s.state != model.SnapshotInProgress || s.due > w.now || !w.unreadable(r) {
				return false
			}
			w.say("snapshot %s cannot be written, and is gone", s.name)
			return true
		})
		for j := range f.snapshots {
			s := &f.snapshots[j]
			if s.state != model.SnapshotInProgress || s.due > w.now {
				continue
			}
			s.state, s.ended = model.SnapshotSuccess, w.now
			if s.partial {
				s.state = model.SnapshotPartial
			}
			w.say("snapshot %s has ended: %s", s.name, s.state)
		}
	}
}

// breaksSnapshots: a node goes. What runs is in the cluster state, which is nowhere once all have gone.
func (w *world) breaksSnapshots(l *slot) {
	none := !w.anyUp()
	for i := range w.known {
		f := w.folderOf(w.known[i].folder)
		f.snapshots = slices.DeleteFunc(f.snapshots, func(s snapshotTaken) bool { return none && s.state == model.SnapshotInProgress })
		for j := range f.snapshots {
			if s := &f.snapshots[j]; s.state == model.SnapshotInProgress && s.nodes&(1<<l.index) != 0 && !s.partial {
				s.partial = true
				w.say("snapshot %s lacks the shards of %s", s.name, l.nodeName)
			}
		}
	}
	if none {
		w.held = nil
	}
}

// readBackups is what a reading has of repositories, snapshots, and tables that none can have.
func (w *world) readBackups(db *model.Database, detailed bool, desired *model.Desired, rec *model.Record) {
	if !w.schedule.Start.Backups || db.Contact != model.Yes || w.master < 0 {
		return
	}
	now := w.now.time()
	if listing := backup.NeedsListing(desired, rec, now); detailed || listing {
		db.SnapshotsKnown = false
		w.readListing(db, listing)
		if db.SnapshotsKnown && w.snapshotUntil > 0 {
			db.Snapshots++
		}
	}
	if !backup.NeedsTables(desired, rec) {
		return
	}
	db.UnreadableKnown = w.reads(db, viewTables)
	for i := range w.tables {
		t := &w.tables[i]
		if t.denied || t.hidden || !db.UnreadableKnown {
			continue
		}
		if why := w.closedToSnapshots(i); why != "" {
			db.Unreadable = append(db.Unreadable, model.UnreadableTable{Name: t.name, Why: why})
			continue
		}
		db.Readable = append(db.Readable, t.name)
	}
}

// asksForBackups: a pass reads the database anew for what a snapshot needs to be known.
func (w *world) asksForBackups(db *model.Database, desired *model.Desired, rec *model.Record) bool {
	return w.schedule.Start.Backups && (backup.NeedsListing(desired, rec, w.now.time()) || backup.NeedsTables(desired, rec) && !db.UnreadableKnown)
}

// closedToSnapshots is why no snapshot can have a table; "" where one can.
func (w *world) closedToSnapshots(table int) string {
	if w.tables[table].closed {
		return "closed"
	}
	if colour, _, _ := w.health(table, w.desiredReplicas(&w.tables[table])); colour == 3 {
		return "red"
	}
	return ""
}

// readListing is sys.snapshots.
func (w *world) readListing(db *model.Database, listing bool) {
	db.Snapshots = 0
	if w.schedule.Seed >= drilling {
		db.RepositoriesKnown = true // schedules that are older than this have no such list
		for i := range w.known {
			db.Repositories = append(db.Repositories, w.known[i].name)
		}
	}
	if len(w.known) == 0 {
		db.SnapshotsKnown, db.Listed = true, db.At
		return
	}
	if !w.reads(db, viewSnapshots) {
		return
	}
	rows, err := w.listing()
	if err != nil {
		db.Unread = append(db.Unread, model.UnreadPart{Part: model.PartSnapshots, Why: err.Error(), Slow: true})
		return
	}
	db.SnapshotsKnown, db.Listing, db.Listed = true, rows, db.At
	for i := range rows {
		if rows[i].State == model.SnapshotInProgress {
			db.Snapshots++
		}
	}
}

// listing are the rows of sys.snapshots now: a repository that cannot be read shows only what runs.
func (w *world) listing() (rows []model.ListedSnapshot, err error) {
	if len(w.known) > 0 && w.now < w.storeHangs {
		return nil, errSlow
	}
	w.eachSnapshot(func(r *repository, s *snapshotTaken) {
		switch {
		case s.state != model.SnapshotInProgress && w.unreadable(r):
			return
		case s.state == model.SnapshotInProgress && w.now < w.listingBehind && s.began >= w.behindSince:
			return
		}
		row := model.ListedSnapshot{Repository: r.name, Name: s.name, State: s.state, Tables: len(s.tables), Names: s.tables}
		if s.state != model.SnapshotInProgress {
			row.Finished = s.ended.time()
		}
		if s.state == model.SnapshotPartial {
			row.Failures = "a node has left"
		}
		rows = append(rows, row)
	})
	return rows, nil
}

// List is the listing of an executor.
func (o objects) List(context.Context, string, string) ([]model.ListedSnapshot, error) {
	w := o.d.w
	f := o.d.call(callSQL)
	if err := o.d.before(f); err != nil {
		return nil, err
	}
	if w.now < w.unreachable || w.master < 0 {
		return nil, errors.New("the connection was closed")
	}
	rows, err := w.listing()
	if err != nil {
		return nil, err
	}
	o.d.looked.snapshotsAt = w.now
	return rows, o.d.after(f)
}
