package simulation

import (
	"slices"
	"strconv"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// policy has short waits: what counts is that they are kept, not how long.
var policy = model.Policy{
	StableFor: 12 * time.Second, MasterStableFor: 12 * time.Second, UnchangedFor: 1500 * time.Millisecond, TrialFor: 2500 * time.Millisecond, PodTimeout: time.Minute,
	RestartTimeout: 15 * time.Minute, ScaleTimeout: 10 * time.Minute, BootstrapTimeout: 15 * time.Minute, OfflineAfter: 20 * time.Second,
}

const (
	firstVersion = "6.3.7"
	upgradeTo    = "6.4.3"
)

// commit is one of Git, with what is rendered of it.
type commit struct {
	replicas    [3]int // by groupNames
	content     int
	version     string
	bad         badness
	restartedAt string
	jobsLog     string // stats.jobs_log_size, "" for none
	// warm: the group is desired. before are the replicas that a suspension ended.
	warm             bool
	before           [3]int
	paused, released bool
	volumes          [3]shape // by groupNames; nothing: nobody asks
	amounts          [3]int   // by groupNames, of resourceTexts
	disks            [3]int   // by groupNames, of each node; what is rendered of it is in volumes
	consent          bool     // delete-volumes
	offline          bool     // offlineResize: restart
	backups          *definition.Backups
	restartedFrom    millis

	visible millis // when a daemon has fetched it
	desired model.Desired
	tmpls   [3]int // by groupNames; they differ in their volumes only
	tmpl    int    // one of them
}

// people push, give commands, and do things by hand.
type people struct {
	commits  []commit
	contents int
	commands model.Commands
	// commandedAt is when a command was given, or taken back.
	commandedAt millis
	// commandedFor is the render that the command was given at: it expires with it.
	commandedFor string
	stored       stored // the operation ConfigMap
	pauseEnd     millis
	noResize     millis // until then pods may not be resized
	began        millis // when the items began
	// ambiguous: somebody has set what we were about to set.
	ambiguous bool
	// released: a release has begun to take off what nothing explains.
	released bool
	// raised are the replicas that somebody has given a group by hand.
	raised [3]int
	// ours: when somebody set the live setting, a definition had brought it about.
	ours bool
	// below: somebody has set the live setting under the very same transient value: no look
	// can show it, nor afterwards which of the two it is.
	below bool
	// hidden: a daemon has looked at a live setting that a transient value hid, and what is
	// below that was not what it wanted: no look can show it, nor whose it is afterwards.
	hidden bool
}

func (w *world) desiredTemplate(commit int, set string) int {
	return w.commits[commit].tmpls[w.setKind(&w.sets[w.setIndex(set)])]
}

// fetched is the newest commit that the daemons know.
func (w *world) fetched() int {
	for i := len(w.commits) - 1; i > 0; i-- {
		if w.commits[i].visible <= w.now {
			return i
		}
	}
	return 0
}

func (w *world) head() *commit { return &w.commits[len(w.commits)-1] }

var consents = []definition.Consent{definition.ConsentExtendTableFilters, definition.ConsentRemoveGroup, definition.ConsentSuspend}

func consentsOf(s *Start) []definition.Consent {
	switch {
	case s.Extend && s.Leave:
		return consents
	case s.Extend:
		return consents[:1]
	case s.Leave:
		return consents[1:]
	}
	return nil
}

// wants: the group is in the definition.
func (c *commit) wants(group int) bool { return group != 2 || c.warm }

// stands: all nodes are to stop.
func (c *commit) stands() bool { return c.replicas[1]+c.replicas[2] == 0 }

var adaSecret = model.SecretKey{Name: "user-ada", Key: access.SystemKey}

var (
	users      = []model.User{{Name: "ada", Secret: adaSecret}}
	revisions  = numbered("revision-", 256)
	budgetData = []string{names.DataBudget(clusterName)}
	budgetBoth = []string{names.DataBudget(clusterName), names.MasterBudget(clusterName)}
)

func (w *world) push(c commit, lag millis) {
	n := len(w.commits)
	c.visible = w.now + lag
	counts := c.replicas[1] + c.replicas[2]
	for i := range c.tmpls {
		c.volumes[i] = c.volumes[i].with(c.disks[i])
		c.tmpls[i] = w.templateOf(c.content, c.version, counts, c.bad, soft{c.jobsLog, c.amounts[i]}, c.volumes[i])
	}
	c.tmpl = c.tmpls[1]
	c.desired = model.Desired{
		Namespace: "db", Name: clusterName, Owner: "git", Commit: nameOf(revisions, "revision-", n), Revision: nameOf(revisions, "revision-", n),
		ClusterName: clusterName, Version: c.version, Users: users, RestartedAt: c.restartedAt,
		Pins: model.Pins{Base: "v1"}, Budgets: budgetData,
	}
	c.desired.Operations.Consent = w.schedule.Start.consented(consentsOf(&w.schedule.Start))
	if c.consent {
		c.desired.Operations.Consent = slices.Concat(c.desired.Operations.Consent, []definition.Consent{definition.ConsentDeleteVolumes})
	}
	if w.schedule.Start.Zones {
		c.desired.Operations.RestartBy = "zone"
	}
	c.desired.Paused, c.desired.Released, c.desired.Backups = c.paused, c.released, c.backups
	if c.jobsLog != "" {
		c.desired.Settings = []model.Setting{{Name: jobsLogSize, Value: c.jobsLog}}
	}
	if w.schedule.Start.Masters > 0 {
		c.desired.Budgets = budgetBoth
	} else {
		c.desired.Pins.MasterGroup = "hot"
	}
	for i := range w.sets {
		s := &w.sets[i]
		n := c.replicas[w.setKind(s)]
		if !c.wants(w.setKind(s)) {
			continue
		}
		c.desired.Sets = append(c.desired.Sets, model.Set{
			Name: s.name, Group: s.group, Dedicated: s.masters, MasterEligible: s.eligible, Data: !s.masters, Replicas: n,
			Template: c.reads(w.setKind(s)),
		})
	}
	w.wantsVolumes(&c)
	w.asks(&c)
	w.commits = append(w.commits, c)
	for _, d := range w.daemons {
		d.wake = min(d.wake, max(c.visible, w.now+1))
	}
	if !w.telling() {
		return
	}
	w.say("Git: %s: masters %d, hot %d, warm %d, template %s, counts %d, restartedAt %q", c.desired.Revision, c.replicas[0], c.replicas[1], c.replicas[2], w.templates[c.tmpl].hash, counts, c.restartedAt)
	if w.driver() != noDriver {
		w.say("Git: %s: volumes %v, may be deleted: %t", c.desired.Revision, c.volumes, c.consent)
	}
}

func (w *world) newContent() int { w.contents++; return w.contents }

func (w *world) itemDue() millis {
	due := never
	if w.pauseEnd > 0 {
		due = w.pauseEnd
	}
	if w.began < 0 {
		return due
	}
	for i := range w.left {
		if it := &w.left[i]; it.timed() {
			due = min(due, w.began+it.At)
		}
	}
	return due
}

func (w *world) happenItems() {
	if w.pauseEnd > 0 && w.pauseEnd <= w.now {
		w.pauseEnd, w.commands, w.commandedAt = 0, model.Commands{}, w.now
		w.say("the command is taken back")
	}
	if w.began < 0 {
		return
	}
	for i := 0; i < len(w.left); i++ {
		if it := w.left[i]; it.timed() && w.began+it.At <= w.now {
			w.left = append(w.left[:i], w.left[i+1:]...)
			i--
			w.happen(it, nil)
		}
	}
}

// faultAt is what meets a daemon's call.
func (w *world) faultAt(d *daemon, c call) callFault {
	if w.began < 0 || c == callPass && w.inOperation+w.inRecreation+w.inReplacement+w.inDisking+w.inBackup+w.inDrill == 0 {
		return noFault
	}
	for i := 0; i < len(w.left); i++ {
		it := w.left[i]
		if it.timed() || it.Recreating > w.inRecreation || it.Replacing > w.inReplacement || it.Disking > w.inDisking || it.Backing > w.inBackup || it.Drilling > w.inDrill || w.inOperation < it.Call && !(w.schedule.Start.Early && w.stored.record.ClusterID == "") {
			continue
		}
		if it.What < killBefore {
			w.left = append(w.left[:i], w.left[i+1:]...)
			w.happen(it, d)
			i--
			continue
		}
		if c < callLook || c == callLook && it.What == forbid || c == callSQL && (it.What == forbid || it.What == conflict) {
			continue
		}
		w.left = append(w.left[:i], w.left[i+1:]...)
		w.note(it.What)
		f := callFault(it.What-killBefore) + faultKillBefore
		w.say("fault: %s", f)
		return f
	}
	return noFault
}

// note counts an item in the operation that it met.
func (w *world) note(what What) {
	w.steps++
	if w.stats == nil {
		return
	}
	kind := "none"
	if op := w.stored.record.Operation; op != nil {
		kind = string(op.Kind)
		w.stats.hit = w.stats.hit || what.fault()
	}
	w.stats.count(what, kind)
}

func (w *world) happen(it Item, d *daemon) {
	if len(w.used) == 0 {
		return // nothing is there yet that it could happen to
	}
	w.note(it.What)
	w.dueKnown = false
	w.say("* %s (%d, %d)", it.What, it.A, it.B)
	c := *w.head()
	lag := millis(100 + it.B*40)
	switch it.What {
	case pushGrow:
		g := w.group(it.A)
		if c.replicas[g] < maxOrdinals-2 {
			c.replicas[g] += 1 + it.B%2
			if g == 0 {
				c.replicas[g] = 3
				if w.head().replicas[g] >= 3 {
					c.replicas[g] = 5
				}
			}
			w.push(c, lag)
		}
	case pushShrink:
		g := w.group(it.A)
		if c.replicas[g] > 1 {
			c.replicas[g] -= 1 + it.B%min(2, c.replicas[g]-1)
			w.push(c, lag)
		}
	case pushTemplate:
		c.content, c.bad = w.newContent(), good
		w.push(c, lag)
	case pushBadTemplate:
		c.content, c.bad = w.newContent(), badImage+badness(it.A%3)
		w.push(c, lag)
	case pushRestart:
		c.restartedAt, c.restartedFrom = w.now.time().Format(time.RFC3339), w.now
		w.push(c, lag)
	case pushRevert:
		if len(w.commits) > 1 {
			c = w.commits[len(w.commits)-2]
			w.push(c, lag)
		}
	case createTable:
		w.judge.disturbed = w.now
		if w.recovered && w.master >= 0 && w.common() < 8 {
			w.addTable(w.newName(), replicaChoices[it.A%len(replicaChoices)], 1+it.B%2, w.versionOf(&w.slots[w.master]))
		}
	case alterReplicas:
		w.alterReplicas(it)
	case snapshot:
		w.snapshotUntil = w.now + millis(1+it.A)*second
	case beFound:
		w.bringAbout(it)
	case setTransient:
		w.setByHand(&w.enable, []string{"none", "primaries", "all", ""}[it.A%4], true)
	case setPersistent:
		w.setByHand(&w.enable, []string{"none", "primaries", "all", "new_primaries"}[it.A%4], false)
	case excludeByName:
		name := w.slots[w.used[it.A%len(w.used)]].nodeName
		switch it.B % 8 {
		case 5:
			name = "data-gone" // crate-operator leaves names behind
		case 6:
			name = "" // taken off again
		}
		w.setByHand(&w.excludeName, name, it.B%4 == 0)
	case pushUpgrade:
		c.version = upgradeTo
		if it.B%2 == 0 {
			c.content, c.bad = w.newContent(), good
		}
		w.push(c, lag)
	case excludeByID:
		w.excludesNode("somebodys-" + strconv.Itoa(it.A))
	case filterTable:
		w.judge.disturbed = w.now
		if w.common() > 0 && w.master >= 0 {
			w.tables[it.A%w.common()].excludeNames = w.slots[w.used[it.B%len(w.used)]].nodeName
			w.reroute = max(w.now, 1)
		}
	case denySystem:
		w.deny(it)
	case pinTable, holdTable, waitForAll:
		w.changeTable(it)
	case fillDisks:
		w.fillDisks(it)
	case pushSuspend:
		if c.stands() {
			c.replicas = c.before
		} else {
			c.before = c.replicas
			c.replicas[1], c.replicas[2] = 0, 0
		}
		w.push(c, lag)
	case pushSetting:
		c.jobsLog = jobsLogChoices[it.A%3]
		w.push(c, lag)
	case pushAddGroup:
		if !c.warm && !c.stands() {
			c.warm, c.replicas[2] = true, 1+it.B%3
			w.push(c, lag)
		}
	case pushRemoveGroup:
		if c.warm && !c.stands() && c.replicas[1] > 0 {
			c.warm, c.replicas[2] = false, 0
			w.push(c, lag)
		}
	case pushPause:
		c.paused = !c.paused
		w.push(c, lag)
	case pushRelease:
		c.released, w.released = !c.released, true
		w.push(c, lag)
	case settingByHand:
		w.setByHand(&w.jobsLog, []string{"6000", "8000", "5000"}[it.A%3], it.B%4 == 0)
	case releaseCommand:
		w.released = true
		w.command(model.Commands{Released: "true"}, it)
	case pauseCommand:
		w.command(model.Commands{Paused: "true"}, it)
	case abortCommand:
		w.command(model.Commands{Abort: "true"}, it)
	case changePassword:
		s := w.secret("user-ada")
		s.password, s.version = secretMark+"-changed-"+strconv.Itoa(len(w.left)), w.bump(kindSecrets)
	case scaleUpByHand:
		w.scaleByHand(it)
	case replaceCommand:
		w.replaceByCommand(it)
	case pushVolumes, pushVolumesBack, pushOffline:
		w.pushVolumes(it, c, lag)
	case pushConsent, dropConsent, pushClass, pushSmaller, pushClassBack, pushBoth:
		w.pushOthers(it, c, lag)
	case pushMoreDisks, pushFewerDisks, pushDisksBack:
		w.pushDisks(it, c, lag)
	case pushNeverReady:
		c.content, c.bad = w.newContent(), badProbe
		w.push(c, lag)
	default:
		if !w.happenToBackups(it, c, lag) {
			w.happenTo(it, d)
		}
	}
}

// happenTo is what happens to machines, to watches and to daemons.
func (w *world) happenTo(it Item, d *daemon) {
	l := w.victim(it.A)
	if d == nil {
		d = w.daemons[it.A%len(w.daemons)]
	}
	switch it.What {
	case evict:
		w.drains = append(w.drains, drain{slot: l.index, due: w.now, end: w.now + 2*minute})
	case drainNode:
		for n := range kubeNodes {
			at := w.now + millis(n)*millis(2+it.B)*second
			for _, i := range w.used {
				if w.slots[i].kube == (n+it.A)%kubeNodes {
					w.drains = append(w.drains, drain{slot: i, due: at, end: at + 3*minute})
				}
			}
		}
	case killNode:
		w.killKube(l.kube, millis(5+2*it.B)*second)
	case crashProcess:
		if l.pod.up {
			w.restartContainer(l, millis(1+it.B)*second)
		}
	case loseVolume:
		w.killKube(l.kube, millis(5+it.B)*second)
		w.losesDisk(it, l)
		if l.pod.exists {
			// A new claim takes a new pod.
			l.pod.terminating, l.pod.due = true, 0
			l.pod.goneDue = max(l.pod.goneDue, w.dead[l.kube]+w.rnd.span(100, 2000))
			w.bump(kindPods)
		}
	case stickTerminating:
		if l.pod.exists {
			if !l.pod.terminating {
				w.drains = append(w.drains, drain{slot: l.index, due: w.now, end: w.now + minute})
			} else {
				l.pod.goneDue = w.now + millis(10+2*it.B)*second
			}
		}
	case stallWatch:
		k := kind(it.A) % kinds
		d.view.stalled[k] = w.now + millis(1+it.B)*second
		w.say("daemon %s: the watch of %s brings nothing until %.1f", d.name, k, float64(d.view.stalled[k])/1000)
	case stallController:
		w.stalled = w.now + millis(1+it.B)*second
	case cutDatabase:
		w.unreachable = w.now + millis(1+it.B)*second
	case loseRecord:
		w.stored = stored{version: w.bump(kindRecord)}
		w.commands = model.Commands{} // they stood on the same ConfigMap
		w.judge.loses(w)
		w.losesJobsLog()
		w.losesShrinks()
		w.forgetsAdopted()
	case deafReceiver:
		w.deafUntil = w.now + millis(1+it.A*2)*second
	case loseAnswer:
		w.losing = true
	case failProbe:
		w.failProbe(it)
	case noExec:
		until := w.now + millis(1+it.B)*second
		if it.A%2 == 0 {
			w.noCrash = until
		}
		if it.A%3 == 0 {
			w.noVolume = until
		}
	case unreadView:
		v := databaseView(it.A % int(views))
		w.unread[v] = w.now + millis(1+it.B)*second
		w.say("%s is not read until %.1f", v, float64(w.unread[v])/1000)
	case restartDaemon:
		d.doomed = true
	default:
		w.happenToVolumes(it, l)
	}
}
