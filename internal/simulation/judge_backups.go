package simulation

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"stevedore.dev/stevedore/ops/model"
)

// oursPrefix begins the names of a daemon's snapshots.
const oursPrefix = "stevedore-"

// judgedBackups is what the judge remembers of snapshots.
type judgedBackups struct {
	snapshotAsked map[string]millis // by schedule: when a daemon last asked for one
	droppedAt     millis            // when a daemon last dropped one
	judgedDrills
}

// scheduleOf is the schedule in the name of a daemon's snapshot; "" for another one.
func scheduleOf(name string) string {
	rest, ours := strings.CutPrefix(name, oursPrefix)
	at := strings.LastIndexByte(rest, '-')
	if !ours || at < 0 {
		return ""
	}
	return rest[:at]
}

// asksSnapshot: a daemon asks for a snapshot.
func (j *judge) asksSnapshot(w *world, d *daemon, repository, name string) {
	if j.snapshotAsked == nil {
		j.snapshotAsked = map[string]millis{}
	}
	j.snapshotAsked[scheduleOf(name)] = w.now
	if c := &w.commits[d.want]; c.backups == nil {
		w.violate("H", "%s is asked for, and the definition has no snapshots", name)
	}
	if d.looked.snapshotsAt == 0 {
		w.violate("snapshot", "%s is asked for, and the daemon has not looked whether another one runs", name)
	}
	j.quietly(w, d, name)
}

// beginsSnapshot: one begins. There is no other one of ours, the nodes run one version, and no node that a
// daemon has taken down is away, as far as its reading could show. A statement that was held by the
// store begins whenever that answers again.
func (j *judge) beginsSnapshot(w *world, d *daemon, r *repository, s *snapshotTaken, held bool) {
	w.eachSnapshot(func(_ *repository, o *snapshotTaken) {
		// One that the store has held was given up: no reading need have it, but the last look does.
		unseen := o.held && (held || o.began >= d.looked.snapshotsAt || w.now < w.listingBehind && o.began >= w.behindSince)
		if o.state == model.SnapshotInProgress && scheduleOf(o.name) != "" && !unseen {
			w.violate("snapshot", "%s begins while %s runs", s.name, o.name)
		}
	})
	if held {
		return
	}
	version := ""
	for _, i := range w.used {
		l := &w.slots[i]
		if l.pod.joined && l.pod.joinedAt < d.readAt {
			if v := w.versionOf(l); version != "" && v != version {
				w.violate("snapshot", "%s begins while nodes run %s and %s", s.name, version, v)
			}
			version = w.versionOf(l)
		}
		down := j.of(l)
		if op := w.stored.record.Operation; op != nil && op.Kind != model.OperationExpand && down.cause == byDaemon && down.member && down.since < d.readAt && !l.pod.joined && l.ordinal < l.set.replicas {
			w.violate("snapshot", "%s begins during a %s while %s is away, which a daemon has taken down", s.name, op.Kind, l.podName)
		}
	}
}

// drops: a daemon drops a snapshot, of its own, that has ended; enough good ones of its schedule stay, the
// newest of them too.
func (j *judge) drops(w *world, d *daemon, in, name string) {
	r := w.repositoryNamed(in)
	schedule := scheduleOf(name)
	if schedule == "" {
		w.violate("D", "%s is dropped, which is no snapshot of the daemon's", name)
	}
	c := &w.commits[d.want]
	if c.backups == nil {
		w.violate("D", "%s is dropped, and the definition has no snapshots", name)
	}
	j.quietly(w, d, name)
	j.droppedAt = w.now
	j.dropsProven(w, c, in, name)
	if r == nil || w.byHand >= d.acted {
		return
	}
	var dropped, newest, last *snapshotTaken
	others := 0
	f := w.folderOf(r.folder)
	for i := range f.snapshots {
		s := &f.snapshots[i]
		if s.name == name {
			dropped = s
		}
		if scheduleOf(s.name) != schedule || s.state == model.SnapshotInProgress {
			continue
		}
		if last == nil || s.ended > last.ended {
			last = s
		}
		if s.state == model.SnapshotSuccess {
			if newest == nil || s.ended > newest.ended {
				newest = s
			}
			if s.name != name {
				others++
			}
		}
	}
	switch {
	case dropped == nil:
	case dropped.state == model.SnapshotInProgress:
		w.violate("D", "%s is dropped while it is being taken", name)
	case dropped == newest:
		w.violate("D", "%s is dropped, the newest good snapshot of its schedule", name)
	case dropped.state == model.SnapshotSuccess && others < c.backups.KeepAtLeast:
		w.violate("D", "%s is dropped, and %d good ones of its schedule stay of %d", name, others, c.backups.KeepAtLeast)
	case last != nil && last.state != model.SnapshotSuccess:
		w.violate("D", "%s is dropped, and the last of its schedule, %s, is %s", name, last.name, last.state)
	}
}

// breaks: a daemon takes a node down that has primaries of a snapshot that runs. Of somebody else's it knows
// by its reading only.
func (j *judge) breaks(w *world, d *daemon, l *slot) {
	if !w.schedule.Start.Backups || !l.pod.joined {
		return
	}
	w.eachSnapshot(func(_ *repository, s *snapshotTaken) {
		if s.state != model.SnapshotInProgress || s.partial || s.nodes&(1<<l.index) == 0 {
			return
		}
		if b := w.stored.record.Backups; (b == nil || b.Running == nil) && w.now < w.listingBehind && s.began >= w.behindSince {
			return // no list has it, and nobody knows of it any more
		}
		if since := w.now - s.began; since > second {
			w.violate("snapshot", "%s is taken down by a %s while snapshot %s runs for %d ms, which becomes a partial one", l.podName, d.acting, s.name, since)
		}
	})
}

// risks: an operation begins that people want a newer snapshot before, where one can be taken.
func (j *judge) risks(w *world, d *daemon, before, next *model.Record) {
	c := &w.commits[d.want]
	if before.Operation != nil || next.Operation == nil || c.backups == nil || c.backups.SnapshotNewerThan == 0 {
		return
	}
	switch op := next.Operation; op.Kind {
	case model.OperationShrink, model.OperationUpgrade:
	case model.OperationReplace:
		if l := w.slotOf(op.Shrink.Replaces); l != nil && l.goesWith(func(k *claim) bool { return k.going && (k.ours || k.agreed) }) {
			return // the volume goes, as a daemon or a person has decided; an only copy has come back to the node, and saving that waits for nothing
		}
	default:
		return
	}
	if db := &d.observed.Database; db.Contact != model.Yes || db.MasterNode == "" || w.master < 0 || db.Health.Colour == model.Red {
		return
	}
	for i := range d.observed.Database.Nodes {
		if d.observed.Database.Nodes[i].Version != d.observed.Database.Nodes[0].Version {
			return // older nodes could not read it
		}
	}
	r := w.ourRepository(c)
	if r == nil || w.unreadable(r) || w.now < w.storeHangs || w.restoreAwaits() {
		return
	}
	newest := millis(-1)
	seen := func(s *snapshotTaken) {
		if s.state == model.SnapshotSuccess && s.whole && scheduleOf(s.name) != "" {
			newest = max(newest, s.ended)
		}
	}
	f := w.folderOf(r.folder)
	for i := range f.snapshots {
		seen(&f.snapshots[i])
	}
	for i := range w.dropped {
		seen(&w.dropped[i])
	}
	if limit := millis(c.backups.SnapshotNewerThan.Milliseconds()); newest < 0 || w.now-newest > limit+2*second {
		w.violate("snapshot", "a %s begins, and the newest snapshot ended at %d ms, longer ago than %s", next.Operation.Kind, newest, c.backups.SnapshotNewerThan)
	}
}

// restoreAwaits: tables that somebody wants wait for a node, no snapshot can have them before, and the operation may be
// what brings that node.
func (w *world) restoreAwaits() bool {
	comes := slices.ContainsFunc(w.tables, func(t table) bool { return t.source != "" && !t.came && !t.drill })
	return comes && slices.ContainsFunc(w.used, func(i int) bool { p := &w.slots[i].pod; return p.exists && !p.joined })
}

// ourRepository is the one that a commit wants, as the cluster has it; nil for none.
func (w *world) ourRepository(c *commit) *repository {
	folder := path.Join(c.backups.Repository.Base, "db", clusterName, clusterID)
	for i := range w.known {
		if w.known[i].folder == folder {
			return &w.known[i]
		}
	}
	return nil
}

// saysBackups: success is said of a definition whose repository is there, with the key of its Secret.
func (j *judge) saysBackups(w *world, d *daemon, r *model.Report) {
	c := &w.commits[d.want]
	if r.Reason != "RevisionVerified" || c.backups == nil || c.stands() || c.desired.Revision != r.Revision || w.byHand > 0 || d.view.stalled[kindSecrets] > w.now-5*second {
		return
	}
	s, has := w.secret(backupKeys), w.ourRepository(c)
	switch {
	case w.changed[kindSecrets] > d.view.version[kindSecrets]:
	case has == nil:
		w.violate("F", "%s is reported of %s, and its repository is not there", r.Reason, r.Revision)
	case !s.exists || has.key != s.password:
		w.violate("F", "%s is reported of %s, and its repository has another key", r.Reason, r.Revision)
	}
}

// backupsLack says what is missing of the snapshots that Git wants; "" for nothing.
func (j *judge) backupsLack(w *world, c *commit) string {
	if !w.schedule.Start.Backups || c.backups == nil {
		return ""
	}
	r, s := w.ourRepository(c), w.secret(backupKeys)
	if r == nil || r.key != s.password {
		return "the repository is not there, or has another key"
	}
	if o := w.taking(); o != nil {
		return "a snapshot is being taken"
	}
	proven := 0 // so many more stay
	if c.backups.Drill != nil {
		proven = c.backups.KeepAtLeast
	}
	for _, of := range c.backups.Schedules {
		window := w.lastWindow(of.Cron, c.visible)
		if window > j.snapshotAsked[of.Name] {
			return "the last window of a schedule was not taken"
		}
		if why := w.keepsTooMany(r, of.Name, of.Keep, max(of.Keep, c.backups.KeepAtLeast)+proven, of.KeepFor); why != "" {
			return why
		}
	}
	return ""
}

// lastWindow is the last one that is more than a moment ago, and after a time; 0 for none.
func (w *world) lastWindow(text string, after millis) (last millis) {
	for at := w.nextWindow(text, after); at <= w.now-30*second; at = w.nextWindow(text, at) {
		last = at
	}
	return last
}

func (w *world) nextWindow(text string, after millis) millis {
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		w.violate("world", "%q: %v", text, err)
	}
	return millis(schedule.Next(epoch.Add(time.Duration(after) * time.Millisecond)).Sub(epoch).Milliseconds())
}

func (w *world) windowIn(text string, from, to millis) bool { return w.nextWindow(text, from) <= to }

// snapshotsSince: a window has come, or daemons have asked for a snapshot, or dropped one.
func (w *world) snapshotsSince(at millis) bool {
	since := w.schedule.Start.Backups && max(w.judge.droppedAt, w.judge.restoredAt) >= at
	for _, asked := range w.judge.snapshotAsked {
		since = since || asked >= at
	}
	if c := w.head(); c.backups != nil {
		for _, s := range c.backups.Schedules {
			since = since || w.windowIn(s.Cron, at, w.now)
		}
	}
	return since
}

// keepsTooMany: more snapshots of a schedule are there than people want to keep.
func (w *world) keepsTooMany(r *repository, schedule string, keep, most int, keepFor time.Duration) string {
	if keep == 0 || keepFor > 0 {
		return ""
	}
	f := w.folderOf(r.folder)
	var of []snapshotTaken
	for _, s := range f.snapshots {
		if scheduleOf(s.name) == schedule {
			of = append(of, s)
		}
	}
	slices.SortFunc(of, func(a, b snapshotTaken) int { return int(a.ended - b.ended) })
	if len(of) > most && of[len(of)-1].state == model.SnapshotSuccess {
		return "more snapshots of a schedule are there than it keeps"
	}
	return ""
}
