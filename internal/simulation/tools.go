package simulation

import (
	"context"
	"errors"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// secretMark stands in every password: a report or a record that has it tells
// one.
const secretMark = "s3cret"

var secretNames = []string{systemSecret, "user-ada"}

func (d *daemon) tools() execute.Tools {
	if d.executors.Objects == nil {
		all := &objects{d: d}
		d.executors = execute.Tools{Objects: all, Secrets: all, Database: all, Crash: all, Volume: all, Snapshots: all, Password: d.w.newPassword}
	}
	return d.executors
}

func (w *world) newPassword() (string, error) {
	w.uidCount++
	return secretMark + nameOf(uids, "uid-", w.uidCount), nil
}

// objects is the API server and the database, as one daemon reaches them.
// What execute.Objects has and this has not is not modelled: calling it is a
// violation, of the simulation.
type objects struct {
	execute.Objects
	d *daemon
}

func (w *world) secret(name string) *secret {
	for i := range w.secrets {
		if w.secrets[i].name == name {
			return &w.secrets[i]
		}
	}
	return nil
}

func (o objects) CreateSecret(_ context.Context, name string, data map[string][]byte) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	s := w.secret(name)
	if s.exists {
		return execute.ErrExists
	}
	*s = secret{name: name, exists: true, uid: w.nextUID(), version: w.bump(kindSecrets), labelled: true, password: string(data[access.SystemKey])}
	return o.d.after(f)
}

func (o objects) LabelSecret(_ context.Context, name, _, _ string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	s := w.secret(name)
	if !s.exists {
		return execute.ErrNotFound
	}
	s.labelled, s.version = true, w.bump(kindSecrets)
	return o.d.after(f)
}

func (o objects) AnnotateClaim(_ context.Context, name string, annotations map[string]string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	for _, i := range w.used {
		for disk := range maxDisks {
			c := w.slots[i].claimOn(disk)
			if (disk == 0 || c.exists) && w.slots[i].claimNameOf(disk) == name {
				c.clusterID, c.version = annotations[names.ClusterIDAnnotation], annotations[names.VersionAnnotation]
				w.bump(kindClaims)
				return o.d.after(f)
			}
		}
	}
	return execute.ErrNotFound
}

func (o objects) SetBudget(_ context.Context, name string, value int) error {
	f, err := o.d.write()
	if err != nil {
		return err
	}
	version := o.d.w.putBudget(name, value, 0)
	if b := o.d.w.budgetNamed(name); b != nil {
		b.shared = o.d.w.schedule.Seed >= sharing
	}
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindBudgets] = version
	return nil
}

func (o objects) DeletePod(_ context.Context, name, uid string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	l := w.slotOf(name)
	switch {
	case l == nil || !l.pod.exists || l.pod.uid != uid:
		return execute.ErrNotFound
	case l.pod.ready || l.pod.started != 0:
		return errors.New("CrateDB has started in it meanwhile")
	}
	w.judge.deletes(w, o.d, l)
	return o.d.deletes(l, f)
}

func (o objects) RestartPod(_ context.Context, name, uid string, ready bool) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	l := w.slotOf(name)
	switch {
	case l == nil || !l.pod.exists || l.pod.uid != uid:
		return execute.ErrNotFound
	case l.pod.terminating:
		o.d.deleted = append(o.d.deleted, uid)
		return nil
	case l.pod.ready && !ready:
		return errors.New("it is ready by now, it stays")
	case !l.pod.ready && ready:
		return errors.New("it is not ready any more, it stays")
	}
	if w.telling() {
		w.say("daemon %s deletes pod %s", o.d.name, name)
	}
	w.judge.deletes(w, o.d, l)
	return o.d.deletes(l, f)
}

// ShrinkSet lowers replicas, with the version that was decided on.
func (o objects) ShrinkSet(_ context.Context, name, uid, version string, from, to int) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	s := w.setOf(name, uid)
	if s == nil {
		return execute.ErrNotFound
	}
	switch {
	case s.replicas == to:
		return nil
	case s.replicas != from || to >= from:
		return errors.New("it has other replicas by now")
	case versionText(s.version) != version:
		return errConflict
	}
	w.say("daemon %s lowers %s from %d to %d replicas", o.d.name, name, from, to)
	w.judge.looked = o.d.acted
	seen := w.now
	if o.d.acting == model.ActionShrinkSet {
		seen = o.d.copied
	}
	w.judge.shrinks(w, o.d, s, to)
	w.judge.lowers(w, s, to, seen)
	w.judge.stops(w, o.d, s)
	for n := to; n < s.replicas; n++ {
		w.judge.breaks(w, o.d, &w.slots[w.setIndex(name)*maxOrdinals+n])
	}
	s.replicas = to
	s.generation++
	w.setChanged(s)
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindSets] = s.version
	return nil
}

func (o objects) ForgetOwned(_ context.Context, name, uid string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	s := w.setOf(name, uid)
	if s == nil {
		return execute.ErrNotFound
	}
	w.say("daemon %s takes the annotation of an allocation lock off %s", o.d.name, name)
	s.hold = ""
	w.setChanged(s)
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindSets] = s.version
	return nil
}

// DeleteSet deletes an empty StatefulSet, with the version that was decided on.
func (o objects) DeleteSet(_ context.Context, name, uid, version string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	s := w.setOf(name, uid)
	if s == nil {
		return execute.ErrNotFound
	}
	switch {
	case s.replicas > 0:
		return errors.New("it has replicas by now")
	case versionText(s.version) != version:
		return errConflict
	}
	w.say("daemon %s deletes StatefulSet %s", o.d.name, name)
	w.judge.deletesSet(w, s)
	w.setChanged(s)
	*s = set{name: s.name, group: s.group, masters: s.masters, eligible: s.eligible, smaller: s.smaller, version: s.version}
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindSets] = s.version
	return nil
}

func (o objects) Get(_ context.Context, name string) (map[string][]byte, model.SecretVersion, error) {
	w := o.d.w
	if err := o.d.before(o.d.call(callLook)); err != nil {
		return nil, model.SecretVersion{}, err
	}
	s := w.secret(name)
	if s == nil || !s.exists {
		return nil, model.SecretVersion{}, execute.ErrNotFound
	}
	if s.data == nil || string(s.data[access.SystemKey]) != s.password {
		s.data = map[string][]byte{access.SystemKey: []byte(s.password)}
	}
	version := model.SecretVersion{UID: s.uid, ResourceVersion: versionText(s.version)}
	if name != systemSecret || o.d.acting == model.ActionSetSystemUser {
		o.d.looked.secret = version
	}
	return s.data, version, nil
}

func (o objects) reach(pod string) (*slot, error) {
	w := o.d.w
	l := w.slotOf(pod)
	if l == nil || !l.pod.up || w.now < w.unreachable {
		return nil, errors.New("dial: connection refused")
	}
	return l, nil
}

// refusedLong is how long system has to be refused before its password is set anew.
const refusedLong = 9 * second

// Run is `crash`, as the superuser.
func (o objects) Run(_ context.Context, pod, statement string) (string, error) {
	w := o.d.w
	if said, asked, err := o.superuser(pod, statement); asked {
		return said, err
	}
	f := o.d.call(callSQL)
	if err := o.d.mayWrite(); err != nil {
		return "", err
	}
	if err := o.d.before(f); err != nil {
		return "", err
	}
	l := w.slotOf(pod)
	if l == nil || w.now < w.unreachable || w.now < w.dead[l.kube] {
		return "", errors.New("exec: connection refused")
	}
	if !l.pod.up || w.processHangs(l) {
		return "", execute.ErrCrashFailed // it runs beside the process, and hears nothing
	}
	if statement == "SELECT name FROM sys.users" && w.master >= 0 && !w.recovered {
		return `[{"name": "crate"}]`, o.d.after(f) // nobody else is known before the gateway has recovered
	}
	if since := w.now - w.judge.refused; o.d.acting == model.ActionSetSystemUser && w.stored.record.Bootstrap.Done && since < refusedLong {
		w.violate("B", "the daemon is about to set the password of system, which was refused for %d ms: so does a gateway that has not recovered", since)
	}
	if statement == "SELECT master_node FROM sys.cluster" {
		o.d.checked = w.now
		if w.master < 0 || !l.pod.joined {
			return `[{"master_node": null}]`, o.d.after(f)
		}
		o.d.looked.well = pod
		return `[{"master_node": "` + nameOf(nodeIDs, "node-", w.slots[w.master].volume.node) + `"}]`, o.d.after(f)
	}
	if w.master < 0 || !w.recovered {
		return "", execute.ErrNotRecovered
	}
	quoted := strings.Split(statement, "'")
	switch {
	case strings.HasPrefix(statement, `CREATE USER "system"`):
		if w.user("system") != nil {
			return "", execute.ErrUserExists
		}
		w.users = append(w.users, user{name: "system", password: quoted[1]})
	case strings.HasPrefix(statement, `ALTER USER "system"`):
		w.user("system").password = quoted[1]
	case strings.HasPrefix(statement, "SELECT id FROM sys.cluster"):
		return `[{"id": "` + idOf(o.clusterOf(pod)) + `"}]`, o.d.after(f)
	case statement == "SELECT name FROM sys.users":
		o.d.looked.recovered = true
		return `[{"name": "crate"}, {"name": "system"}, {"name": "ada"}]`, o.d.after(f)
	case strings.HasPrefix(statement, "SELECT type FROM sys.privileges"):
		if u := w.user("system"); u != nil && u.granted {
			return `[{"type":"AL"},{"type":"DDL"},{"type":"DML"},{"type":"DQL"}]`, o.d.after(f)
		}
		return "[]", o.d.after(f)
	case strings.HasPrefix(statement, "GRANT ALL"):
		if u := w.user("system"); u != nil {
			u.granted = true
		}
	default:
		w.violate("world", "the simulation does not know the statement %q", statement)
	}
	return "", o.d.after(f)
}

// Login is one to the node in a pod.
func (o objects) Login(_ context.Context, pod, name, password string) (execute.Session, error) {
	w := o.d.w
	if err := o.d.before(o.d.call(callSQL)); err != nil {
		return nil, err
	}
	o.d.checked = w.now
	l, err := o.reach(pod)
	if err != nil {
		return nil, err
	}
	u := w.user(name)
	if !l.pod.joined || !w.recovered || u == nil || u.password != password || l.pod.terminating && w.rnd.oneIn(2) {
		return nil, execute.ErrLoginRefused
	}
	o.d.looked.well = pod
	return &session{o: o, slot: l, uid: l.pod.uid, user: name}, nil
}
