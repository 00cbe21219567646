package simulation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// backing is the first seed whose schedule may have snapshots by a schedule.
const backing = 2_400_000_000

// plan is spec.backups at first.
type backupPlan struct {
	Every, Second int // minutes between windows of the first schedule, and of the second; 0: there is none
	Keep, AtLeast int
	Delay, Newer  int // seconds: maxDelay and snapshotNewerThan
	Skip          bool
}

// ofBackups are what meets snapshots, at a time or at a call of a daemon while one is taken.
var ofBackups = []What{
	killBefore, killAfter, killBefore, killAfter, conflict, unavailable, timeoutAfter, timeoutAfter, standStill, restartDaemon, loseRecord, loseRecord,
	evict, drainNode, deletePodByHand, killNode, crashProcess, crashProcess, loseVolume, stickTerminating, stallWatch, stallController, deafReceiver, loseAnswer,
	cutDatabase, unreadView, noExec, denySystem, snapshot, createTable, alterReplicas, pinTable, fillDisks, setTransient, excludeByID,
	pauseCommand, releaseCommand, abortCommand, replaceCommand, pushPause, pushRelease, pushRevert, scaleUpByHand,
	pushShrink, pushShrink, pushGrow, pushTemplate, pushTemplate, pushUpgrade, pushUpgrade, pushRestart, pushBadTemplate, pushSuspend, pushRemoveGroup,
	pushSchedules, pushSchedules, pushSchedules, pushNoBackups, backupCommand, backupCommand, closeTable, closeTable, writeForeign, dropSnapshotByHand, dropSnapshotByHand, dropRepositoryByHand,
	awayStore, awayStore, holdStore, holdStore, lagListing, lagListing, rotateKeys, rotateKeys, loseKeys,
}

// backs draws snapshots into a schedule.
func (s *Schedule) backs(r *random) {
	s.Start.Backups = true
	s.Start.Takes = []millis{2 * second, 10 * second, 40 * second, 2 * minute}[r.below(4)]
	s.Start.Plan = backupPlan{Every: r.between(1, 2), Keep: r.below(4), AtLeast: r.between(1, 2), Delay: 20 + 20*r.below(6), Skip: r.oneIn(3)}
	if r.oneIn(3) {
		s.Start.Plan.Second = r.between(1, 3)
	}
	if r.oneIn(2) {
		s.Start.Plan.Newer = 30 + 30*r.below(8)
	}
	s.Steps += 150
	at := r.span(0, 30*second)
	add := func(what What, at millis) {
		s.Items = append(s.Items, Item{What: what, At: at, A: r.below(64), B: r.below(64)})
	}
	add([]What{pushTemplate, pushShrink, pushUpgrade, pushRestart, pushGrow}[r.below(5)], at)
	for r.oneIn(2) {
		add(ofBackups[r.below(len(ofBackups))], at+r.span(0, 3*minute))
	}
	for n := 0; n == 0 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: ofBackups[r.below(len(ofBackups))], Backing: 1 + r.below(40), A: r.below(64), B: r.below(64)})
	}
}

// firstBackups is spec.backups at first; nil where the schedule has no snapshots.
func (s *Start) firstBackups() *definition.Backups {
	if !s.Backups {
		return nil
	}
	p := &s.Plan
	b := &definition.Backups{
		Repository: definition.BackupRepository{
			Type: "s3", Base: backupBase, Settings: []definition.Setting{{Name: "bucket", Value: "b"}},
			Secrets: []definition.SecretSetting{{Name: "access_key", Ref: definition.SecretKeyRef{Name: backupKeys, Key: access.SystemKey}}},
		},
		Schedules:   []definition.BackupSchedule{{Name: "often", Cron: everyMinutes(p.Every), Keep: p.Keep}},
		KeepAtLeast: p.AtLeast, MaxDelay: time.Duration(p.Delay) * time.Second, SnapshotNewerThan: time.Duration(p.Newer) * time.Second,
		Unreadable: definition.UnreadableRefuse,
	}
	if p.Second > 0 {
		b.Schedules = append(b.Schedules, definition.BackupSchedule{Name: "some", Cron: everyMinutes(p.Second), Keep: 1, Tables: []string{tableNames[0]}})
	}
	if s.Drill > 0 {
		b.Drill = &definition.Drill{Cron: everyMinutes(s.Drill), MaxBytes: int64(s.Most) << 20}
	}
	if p.Skip {
		b.Unreadable = definition.UnreadableSkip
	}
	return b
}

func everyMinutes(n int) string { return "*/" + strconv.Itoa(n) + " * * * *" }

// backupSecret is what the store's key is in.
func (w *world) backupSecret() secret {
	w.accepts = secretMark + "-key"
	return secret{name: backupKeys, exists: true, uid: w.nextUID(), version: w.bump(kindSecrets), password: w.accepts}
}

// changeBackups is the spec.backups of a commit, to be changed.
func (c *commit) changeBackups() *definition.Backups {
	b := *c.backups
	b.Schedules = slices.Clone(b.Schedules)
	c.backups = &b
	return &b
}

// happenToBackups: people push other schedules, ask for snapshots and drop them, and the store fails. It is
// false for what has nothing to do with snapshots.
func (w *world) happenToBackups(it Item, c commit, lag millis) bool {
	if w.happenToDrills(it, c, lag) {
		return true
	}
	if it.What < pushSchedules || it.What > dropRepositoryByHand && it.What < awayStore || it.What > loseKeys {
		return false
	}
	if !w.schedule.Start.Backups {
		return true
	}
	until := w.now + millis(1+it.B)*second
	switch it.What {
	case pushSchedules, pushNoBackups:
		w.pushBackups(it, c, lag)
	case backupCommand:
		at := w.now.time().UTC().Format(time.RFC3339)
		if it.B%3 == 0 {
			at += "/" + []string{"often", "some", "none"}[it.B/3%3]
		}
		w.command(model.Commands{BackupAt: at}, it)
	case closeTable:
		if w.common() > 0 {
			t := &w.tables[it.A%w.common()]
			t.closed = !t.closed
			w.say("table %s is closed: %t", t.name, t.closed)
		}
	case writeForeign:
		for i := range w.buckets {
			f := &w.buckets[i]
			name := "nightly-" + strconv.Itoa(it.A)
			if !slices.ContainsFunc(f.snapshots, func(s snapshotTaken) bool { return s.name == name }) {
				f.snapshots = append(f.snapshots, snapshotTaken{name: name, state: model.SnapshotSuccess, began: w.now, ended: w.now, all: true})
			}
		}
	case dropSnapshotByHand, dropRepositoryByHand:
		w.dropByHand(it)
	case awayStore:
		w.storeAway = until
	case holdStore:
		w.storeHangs = until
	case lagListing:
		w.listingBehind, w.behindSince = until, w.now-millis(it.A%4)*second
	case rotateKeys:
		s := w.secret(backupKeys)
		s.exists, s.password, s.version = true, secretMark+"-key-"+strconv.Itoa(it.A), w.bump(kindSecrets)
		if w.accepts = s.password; it.B%4 == 0 {
			w.accepts = secretMark + "-other" // the Secret has one that the store does not take
		}
	case loseKeys:
		w.secret(backupKeys).exists = false
		w.bump(kindSecrets)
	}
	return true
}

// dropByHand is a person's DROP SNAPSHOT, or DROP REPOSITORY.
func (w *world) dropByHand(it Item) {
	if w.master < 0 || len(w.known) == 0 || w.now < w.storeHangs {
		return
	}
	r := w.known[it.A%len(w.known)]
	if it.What == dropRepositoryByHand {
		if w.dropRepository(r.name) == nil {
			w.byHand = w.now
			w.say("somebody drops the repository")
		}
		return
	}
	f := w.folderOf(r.folder)
	if len(f.snapshots) == 0 {
		return
	}
	s := f.snapshots[it.B%len(f.snapshots)]
	if w.dropSnapshot(r.name, s.name) == nil {
		w.byHand, w.dropped = w.now, append(w.dropped, s)
		w.say("somebody drops snapshot %s", s.name)
	}
}

// pushBackups pushes another spec.backups, or none.
func (w *world) pushBackups(it Item, c commit, lag millis) {
	switch {
	case c.backups == nil:
		c.backups = w.schedule.Start.firstBackups()
	case it.What == pushNoBackups:
		c.backups = nil
	default:
		b := c.changeBackups()
		first := &b.Schedules[0]
		switch it.A % 8 {
		case 0:
			first.Cron = everyMinutes(1 + it.B%4)
		case 1:
			first.Keep = it.B % 4
		case 2:
			first.KeepFor = time.Duration(it.B%4) * time.Minute
		case 3:
			b.KeepAtLeast = 1 + it.B%3
		case 4:
			b.SnapshotNewerThan = time.Duration(it.B%6) * 30 * time.Second
		case 5:
			b.Schedules = b.Schedules[:1]
			if it.B%2 == 0 {
				b.Schedules = append(b.Schedules, definition.BackupSchedule{Name: "more", Cron: everyMinutes(1 + it.B%3), Keep: 1})
			}
		case 6:
			first.Name = []string{"often", "renamed"}[it.B%2]
		case 7:
			b.Repository.Base = []string{backupBase, "elsewhere"}[it.B%2]
		}
		if it.B%8 == 7 {
			c.content, c.bad = w.newContent(), good
		}
	}
	w.push(c, lag)
}

// repairsBackups: people repair what only they can, once all faults are over, and want windows that leave
// time between them.
func (w *world) repairsBackups() {
	if !w.schedule.Start.Backups {
		return
	}
	w.storeAway, w.storeHangs, w.listingBehind = 0, 0, 0
	for i := range w.tables {
		w.tables[i].closed = false
	}
	s := w.secret(backupKeys)
	if !s.exists || s.password != w.accepts {
		s.exists, s.version = true, w.bump(kindSecrets)
		s.password = w.accepts
	}
	for i := range w.buckets {
		f := &w.buckets[i]
		f.snapshots = slices.DeleteFunc(f.snapshots, func(s snapshotTaken) bool { return !strings.HasPrefix(s.name, oursPrefix) })
	}
}

// wantsBackups is what people push once all faults are over.
func (w *world) wantsBackups(c *commit) {
	if c.backups == nil {
		return
	}
	b := c.changeBackups()
	for i := range b.Schedules {
		b.Schedules[i].Cron = everyMinutes(10)
		if w.schedule.Start.Drills {
			b.Schedules[i].Cron = everyMinutes(20) // a table that never comes is waited for so long
		}
	}
	if b.Drill != nil {
		b.Drill = &definition.Drill{Cron: "0 0 1 1 *"}
	}
}
