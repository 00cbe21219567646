package simulation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/rollout"
	"stevedore.dev/stevedore/ops/setting"
)

// The daemon's own waits, as internal/daemon has them.
const (
	retryMin       = millis(250)
	actionRetryMax = 15 * second
	idleInterval   = 60 * second
	leaseDuration  = 15 * second
	readingAge     = second
	tablesInterval = 10 * minute // it reads the tables so often, whatever is due
)

var (
	errNotLeader   = errors.New("the Lease is not ours any more")
	errSuperseded  = errors.New("a newer definition has come")
	errConflict    = errors.New("409: the object has been modified")
	errUnavailable = errors.New("429: too many requests")
	errTimeout     = errors.New("the request timed out")
	errForbidden   = errors.New("403: an admission webhook refuses it")
)

// stored is the operation ConfigMap.
type stored struct {
	exists  bool
	version int64
	record  model.Record
}

// entry is what a pass has read of it; nothing that it points to changes meanwhile but by its own writes.
type entry struct {
	exists  bool
	version int64
	record  *model.Record
}

// lease is the Lease object.
type lease struct {
	holder  *daemon
	renewed millis
}

// daemon is one process: all of it but its name is lost with it.
type daemon struct {
	w    *world
	name string

	running bool
	wake    millis // when it takes its next pass, or starts
	paused  millis // until when the whole process stands still
	leading bool
	leased  millis // when it last renewed, as it knows
	seen    int64  // the API server's last version at its last pass
	began   millis // when its turn began
	pace    pace

	view        cached
	own         [kinds]int64 // its own last writes, which its watches have to show
	ownRecord   stored
	doubted     int64 // its last write of the record before one that failed
	applied     model.Applied
	applyErrors []string
	syncFails   int
	syncAfter   millis
	syncFor     string
	failures    []model.Failure
	observed    model.Observed // its Database is the last reading
	readAt      millis
	detailedAt  millis         // when it last read the tables
	readState   millis         // since when there had been the cluster state that was read
	saw         jobsLogSeen    // of the reading
	buffers     model.Database // what readings are made in
	executors   execute.Tools
	stable      model.Stability
	want        int            // the commit that this pass is for
	decision    model.Decision // of this pass; here it is not made on the heap each time
	changes     []model.Change
	savedStays  bool // what is saved of the objects is what this pass has read
	calm        bool // this pass has written nothing and done nothing

	// acting is the action under way, for the judge; checked is when it last
	// asked the database.
	acting      model.ActionKind
	doomed      bool   // it is to end at its next call
	said        string // the last decision in the story
	checked     millis
	claimsAt    millis // when it last asked for claims that are being deleted
	copied      millis // when it last asked where the copies are
	acted       millis // when its last action began, with its first look
	hadMaster   string // the master of its last reading, and since when it has been that one
	hadMasterAt millis
	gone        [3]millis    // since when it does not make a StatefulSet that is away
	narrow      [3]millis    // since when it leaves a template of a StatefulSet without a disk
	held        [3]millis    // since when a pod of a StatefulSet does not come back
	deleted     []string     // the UIDs of pods that it has deleted, and of StatefulSets without their pods
	hidden      millis       // when a transient value hid its last hold
	silent      millis       // since when it has done nothing and said nothing of it; 0: it has
	looked      looks        // of that action
	lastDone    model.Action // what was called done last, when, and how often one right after the other
	doneAt      millis
	repeated    int
}

// killed ends a process in the middle of a pass.
type killed struct{}

// forget is a new process.
func (d *daemon) forget() {
	*d = daemon{w: d.w, name: d.name, view: d.view.emptied(), buffers: d.buffers}
}

func versionText(v int64) string {
	if v >= 0 && int(v) < len(versions) {
		return versions[v]
	}
	return strconv.FormatInt(v, 10)
}

var versions = numbered("", 8192)

// take takes a pass, and survives its end.
func (d *daemon) take() {
	w := d.w
	defer func() {
		switch p := recover().(type) {
		case nil:
		case killed:
			w.say("daemon %s is dead", d.name)
			d.forget()
			d.wake = w.now + w.rnd.span(500, 8000)
		default:
			panic(p)
		}
	}()
	if d.doomed {
		panic(killed{})
	}
	if !d.running {
		d.running = true
		w.say("daemon %s starts", d.name)
	}
	if !d.lead() {
		d.wake = w.now + 2*second
		return
	}
	w.steps++
	w.passes++
	d.seen, d.calm = w.resource, false
	wait, err := d.pass()
	switch {
	case errors.Is(err, errSuperseded):
		wait = 20
	case errors.Is(err, errNotLeader):
		w.say("daemon %s has lost the Lease and ends", d.name)
		d.forget()
		wait = second
	case err != nil:
		w.say("daemon %s: the pass failed: %v", d.name, err)
		wait = retryMin * 4
		d.hidden = 0 // that it was may not be recorded
		d.silent = 0 // it has tried to write, and says in its log why that failed: two passes beside it are not in a row
	}
	if err == nil {
		w.judge.owes(w, d)
		w.judge.tells(w, d)
		w.judge.gaps(w, d)
		w.judge.disksEnd(w, d)
		w.judge.starves(w, d)
	}
	d.sleeps(wait, d.calm)
}

// lead holds the Lease or takes it when it has run out.
func (d *daemon) lead() bool {
	w := d.w
	if w.lease.holder == d && w.now-d.leased <= leaseDuration {
		d.leased, w.lease.renewed = w.now, w.now
		return true
	}
	if d.leading {
		d.forget()
		d.running = true
	}
	if w.lease.holder != nil && w.lease.holder != d && w.now-w.lease.renewed <= leaseDuration {
		return false
	}
	if w.lease.holder == d && w.now-w.lease.renewed <= leaseDuration {
		return false // another process of the same place had it
	}
	w.lease = lease{holder: d, renewed: w.now}
	d.leading, d.leased, d.silent = true, w.now, 0 // it had nothing to say before
	w.say("daemon %s leads", d.name)
	return true
}

// mayWrite is asked before each write.
func (d *daemon) mayWrite() error {
	if d.w.now-d.leased > leaseDuration {
		return errNotLeader
	}
	if d.w.fetched() != d.want {
		return errSuperseded
	}
	return nil
}

func (d *daemon) pass() (millis, error) {
	w := d.w
	d.began = w.now
	d.call(callPass)
	d.watch()
	for k, v := range d.own {
		if v > d.view.version[k] {
			return retryMin, nil
		}
	}
	if d.doubted > d.view.version[kindRecord] {
		return retryMin, nil
	}
	known := &d.view.record
	if d.ownRecord.version > known.version {
		known = &d.ownRecord
	}
	entry := entry{exists: known.exists, version: known.version, record: &known.record}
	rec := known.record
	d.want = w.fetched()
	desired := w.commits[d.want].desired
	desired.Changes = d.changesFrom(&rec)

	observed := &d.observed
	observed.Sets, observed.Pods, observed.Claims, observed.Budgets = d.view.sets, d.view.pods, d.view.claims, d.view.budgets
	d.marksDeleted()
	observed.Secrets, observed.Volumes = d.view.secretsOf(w.secretNames()), d.view.volumes
	detailed := rollout.Detailed(&desired, &rec)
	settings := setting.SettingsToRead(&desired, &rec, d.view.pods)
	if db := &observed.Database; db.At.IsZero() || !slices.Equal(settings, db.SettingsAsked) || w.now-d.readAt >= readingAge || detailed && !db.TablesKnown || w.asksForBackups(db, &desired, &rec) || w.asksForDrills(db, &desired, &rec) {
		d.call(callRead)
		detailed = detailed || d.detailedAt == 0 || w.now-d.detailedAt >= tablesInterval
		w.leavesOut(fetch.Hidden(&rec), detailed)
		d.read(db, d.view.pods, detailed)
		w.readBackups(db, detailed, &desired, &rec)
		w.readDrills(db, &desired, &rec)
		w.judge.reads(w, d, db)
		w.leavesOut(nil, false)
		if db.TablesKnown {
			d.detailedAt = w.now
		}
		d.readAt, d.readState = w.now, w.stateAt
		d.keep(db)
		d.readSettings(settings)
		d.stable = d.stable.Next(db)
		if db.MasterNode != d.hadMaster {
			d.hadMaster, d.hadMasterAt = db.MasterNode, w.now
		}
		d.examine(&desired, &rec)
	}
	d.goesBy()
	observed.Stable, observed.At = d.stable, observed.Database.At
	observed.Applied, observed.ApplyErrors, observed.Failures = d.applied, d.applyErrors, d.failures
	observed.Commands = w.commandsAt(desired.Revision)
	observed.DeletesClaims, observed.Resize = w.mayDeleteClaims(&rec), w.canResize(&desired, &rec)
	d.decision = ops.Decide(desired, *observed, rec, policy, w.now.time())
	if w.digest != nil {
		digests(w.digest, &d.decision)
	}
	w.judge.takesFor(w, d)
	w.tellDecision(d, &d.decision)
	again, err := d.act(&entry, &desired, &d.decision)
	if err == nil {
		w.judge.takesUp(w, d)
	}
	return again, err
}

// act carries out a decision; the entry follows what is saved, and the decision's
// record is the next one.
func (d *daemon) act(entry *entry, desired *model.Desired, decision *model.Decision) (millis, error) {
	next := &decision.Record
	next.SchemaVersion = model.RecordVersion
	if decision.Apply {
		next.Saved = d.materialise(next.Saved, decision.Effective)
	}
	if err := d.enqueue(decision.Reports); err != nil {
		return 0, err
	}
	saved := false
	// What is decided differs (Save), or what is saved of the objects.
	if !entry.exists || decision.Save || next.SchemaVersion != entry.record.SchemaVersion || !(d.savedStays || maps.Equal(next.Saved, entry.record.Saved)) {
		saved = true
		if err := d.save(entry, next); err != nil {
			return 0, err
		}
	}
	wrote := false
	if decision.Apply {
		var err error
		if wrote, err = d.sync(desired, decision.Effective, next.Saved); err != nil {
			return 0, err
		}
	}
	acted := false
	if !wrote {
		var err error
		if acted, err = d.runAll(next, decision); err != nil {
			return 0, err
		}
		if acted {
			if !next.Equal(entry.record) {
				if err := d.save(entry, next); err != nil {
					return 0, err
				}
			}
		}
	}
	d.calm = !saved && !wrote && !acted
	switch {
	case wrote, acted:
		return retryMin, nil
	case decision.LookAgain > 0:
		return millis(decision.LookAgain.Milliseconds()), nil
	}
	return idleInterval, nil
}

// save writes the record where it is still as the entry was read, which it then is.
func (d *daemon) save(entry *entry, next *model.Record) error {
	w := d.w
	if err := next.Validate(); err != nil {
		w.violate("record", "the daemon saves a record that it would take for damaged: %s", err)
	}
	f, err := d.write()
	if err != nil {
		d.doubt()
		return err
	}
	if w.stored.exists != entry.exists || w.stored.version != entry.version {
		d.doubt()
		return errConflict
	}
	if w.stored.record.Lock == nil && next.Lock != nil {
		w.holdRecorded(d)
	}
	begins := w.stored.record.Operation == nil && next.Operation != nil
	w.judge.begins(w, d, &w.stored.record, next)
	w.judge.risks(w, d, &w.stored.record, next)
	w.stored.exists, w.stored.version, w.stored.record = true, w.bump(kindRecord), *next
	if w.commandedFor != w.commits[d.want].desired.Revision {
		w.commands = model.Commands{} // or going back would bring it back to life
	}
	if w.schedule.Start.JSON {
		w.stored.record = w.throughJSON(next)
	}
	w.judge.recorded(w, &w.stored.record)
	w.judge.recordsDrills(w, d, begins)
	w.writesPins(d, next)
	if err := d.after(f); err != nil {
		d.doubt()
		return err
	}
	d.ownRecord = w.stored
	entry.exists, entry.version, entry.record = true, d.ownRecord.version, &d.ownRecord.record
	return nil
}

// doubt is after a write of the record that failed, as the real store has it: the watch
// is to be believed again, as soon as it is no older than the last that did not.
func (d *daemon) doubt() {
	d.doubted = max(d.doubted, d.ownRecord.version)
	d.ownRecord = stored{}
}

// runAll runs the actions, and settles them in the record.
func (d *daemon) runAll(rec *model.Record, decision *model.Decision) (ran bool, err error) {
	w := d.w
	actions := decision.Actions()
	if len(actions) == 0 {
		return false, nil
	}
	var failures []model.Failure
	began := false
	defer func() {
		if began {
			d.observed.Database = model.Database{}
		}
	}()
	for i := range actions {
		action := actions[i]
		if old, early := d.tooEarly(action); early {
			failures = append(failures, old)
			continue
		}
		if err := d.mayWrite(); err != nil {
			d.failures = failures
			return ran, err
		}
		ran, began = true, true
		d.acting, d.checked, d.acted, d.looked = action.Kind, w.now, w.now, looks{}
		result, err := execute.Run(context.Background(), action, d.tools())
		d.acting = ""
		if errors.Is(err, errNotLeader) {
			return false, err
		}
		if err != nil {
			failure := model.Failure{Action: action, Message: err.Error(), At: w.now.time(), Count: 1}
			for _, old := range d.failures {
				if old.Action == action {
					failure.Count = old.Count + 1
				}
			}
			failures = append(failures, failure)
			w.say("daemon %s: %v", d.name, err)
			continue
		}
		if w.telling() {
			w.say("daemon %s: %s %s: %s", d.name, action.Kind, action.Subject(), result.Message)
		}
		w.judge.done(w, d, &action, result.Code)
		w.didAct(action, rec)
		*rec = ops.RecordResult(*rec, action, result, w.now.time())
	}
	d.failures = failures
	return ran, nil
}

func (d *daemon) tooEarly(action model.Action) (model.Failure, bool) {
	for _, old := range d.failures {
		if old.Action == action {
			wait := min(retryMin<<min(old.Count, 10), actionRetryMax)
			since := d.w.now - millis(old.At.Sub(epoch).Milliseconds())
			return old, since >= 0 && since < wait
		}
	}
	return model.Failure{}, false
}
