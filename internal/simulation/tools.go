package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/execute"
)

// secretMark stands in every password: a report or a record that has it tells
// one.
const secretMark = "s3cret"

var secretNames = []string{systemSecret, "user-ada"}

func (d *daemon) tools() execute.Tools {
	if d.executors.Objects == nil {
		all := &objects{d: d}
		d.executors = execute.Tools{Objects: all, Secrets: all, Database: all, Crash: all, Password: d.w.newPassword}
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
	*s = secret{name: name, exists: true, uid: w.nextUID(), version: w.bump(kindSecrets), labelled: true, password: string(data[ops.SystemKey])}
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
		if l := &w.slots[i]; l.claimName == name {
			l.claim.clusterID, l.claim.version = annotations[names.ClusterIDAnnotation], annotations[names.VersionAnnotation]
			w.bump(kindClaims)
			return o.d.after(f)
		}
	}
	return execute.ErrNotFound
}

func (o objects) SetBudget(_ context.Context, name string, value int) error {
	f, err := o.d.write()
	if err != nil {
		return err
	}
	o.d.w.putBudget(name, value)
	return o.d.after(f)
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
	w.terminate(l)
	return o.d.after(f)
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
		return nil
	case l.pod.ready && !ready:
		return errors.New("it is ready by now, it stays")
	case !l.pod.ready && ready:
		return errors.New("it is not ready any more, it stays")
	}
	w.say("daemon %s deletes pod %s", o.d.name, name)
	w.judge.deletes(w, o.d, l)
	w.terminate(l)
	return o.d.after(f)
}

// ShrinkSet lowers replicas, with the version that was decided on.
func (o objects) ShrinkSet(_ context.Context, name, uid, version string, from, to int) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	index := w.setIndex(name)
	if index < 0 || !w.sets[index].exists || w.sets[index].uid != uid {
		return execute.ErrNotFound
	}
	s := &w.sets[index]
	switch {
	case s.replicas == to:
		return nil
	case s.replicas != from || to >= from:
		return errors.New("it has other replicas by now")
	case versionText(s.version) != version:
		return errConflict
	}
	w.say("daemon %s lowers %s from %d to %d replicas", o.d.name, name, from, to)
	w.judge.lowers(w, s, to)
	s.replicas = to
	s.generation++
	w.setChanged(s)
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindSets] = s.version
	return nil
}

func (o objects) ForgetHold(_ context.Context, name, uid string) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	index := w.setIndex(name)
	if index < 0 || !w.sets[index].exists || w.sets[index].uid != uid {
		return execute.ErrNotFound
	}
	s := &w.sets[index]
	w.say("daemon %s takes the annotation of a hold off %s", o.d.name, name)
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
	index := w.setIndex(name)
	if index < 0 || !w.sets[index].exists || w.sets[index].uid != uid {
		return execute.ErrNotFound
	}
	s := &w.sets[index]
	switch {
	case s.replicas > 0:
		return errors.New("it has replicas by now")
	case versionText(s.version) != version:
		return errConflict
	}
	w.say("daemon %s deletes StatefulSet %s", o.d.name, name)
	w.judge.deletesSet(w, s)
	w.setChanged(s)
	*s = set{name: s.name, group: s.group, masters: s.masters, eligible: s.eligible, version: s.version}
	if err := o.d.after(f); err != nil {
		return err
	}
	o.d.own[kindSets] = s.version
	return nil
}

func (o objects) Get(_ context.Context, name string) (map[string][]byte, ops.SecretVersion, error) {
	w := o.d.w
	if err := o.d.before(o.d.call(callLook)); err != nil {
		return nil, ops.SecretVersion{}, err
	}
	s := w.secret(name)
	if s == nil || !s.exists {
		return nil, ops.SecretVersion{}, execute.ErrNotFound
	}
	return map[string][]byte{ops.SystemKey: []byte(s.password)}, ops.SecretVersion{UID: s.uid, ResourceVersion: versionText(s.version)}, nil
}

func (o objects) reach(pod string) (*slot, error) {
	w := o.d.w
	l := w.slotOf(pod)
	if l == nil || !l.pod.up || w.now < w.unreachable {
		return nil, errors.New("dial: connection refused")
	}
	return l, nil
}

// Run is `crash`, as the superuser.
func (o objects) Run(_ context.Context, pod, statement string) (string, error) {
	w := o.d.w
	f := o.d.call(callSQL)
	if err := o.d.mayWrite(); err != nil {
		return "", err
	}
	if err := o.d.before(f); err != nil {
		return "", err
	}
	if _, err := o.reach(pod); err != nil {
		return "", err
	}
	if statement == "SELECT name FROM sys.users" && w.master >= 0 && !w.recovered {
		return `[{"name": "crate"}]`, o.d.after(f) // nobody else is known before the gateway has recovered
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
	return &session{o: o, slot: l, uid: l.pod.uid, user: name}, nil
}

type session struct {
	o    objects
	slot *slot
	uid  string
	user string
}

func (s *session) Close() {}

func (s *session) alive() error {
	w := s.o.d.w
	if s.slot.pod.uid != s.uid || !s.slot.pod.up || w.now < w.unreachable {
		return errors.New("the connection was closed")
	}
	return nil
}

func (s *session) Exec(_ context.Context, statement string, arguments ...any) (int64, error) {
	d := s.o.d
	w := d.w
	f := d.call(callSQL)
	if err := d.mayWrite(); err != nil {
		return 0, err
	}
	if err := d.before(f); err != nil {
		return 0, err
	}
	if err := s.alive(); err != nil {
		return 0, err
	}
	if w.master < 0 {
		return 0, errors.New("MasterNotDiscoveredException")
	}
	if err := s.exec(statement, arguments); err != nil {
		return 0, err
	}
	return 1, d.after(f)
}

func (s *session) exec(statement string, arguments []any) error {
	d := s.o.d
	w := d.w
	quoted := strings.Split(statement, `"`)
	switch {
	case strings.HasPrefix(statement, "SET GLOBAL "):
		level, assignments, _ := strings.Cut(strings.TrimPrefix(statement, "SET GLOBAL "), " ")
		w.setGlobal(d, level, assignments)
	case strings.HasPrefix(statement, "RESET GLOBAL "):
		w.resetGlobal(d, quoted[1])
	case strings.HasPrefix(statement, "CREATE USER "):
		if w.user(quoted[1]) != nil {
			return execute.ErrUserExists
		}
		w.users = append(w.users, user{name: quoted[1], password: fmt.Sprint(arguments[0])})
	case strings.HasPrefix(statement, "ALTER USER "):
		u := w.user(quoted[1])
		if u == nil {
			return execute.ErrUserUnknown
		}
		u.password = fmt.Sprint(arguments[0])
	case strings.HasPrefix(statement, "GRANT ALL PRIVILEGES TO "):
		if u := w.user(quoted[1]); u != nil {
			u.granted = true
		}
	case strings.HasPrefix(statement, "UPDATE sys.node_checks SET acknowledged = TRUE"):
		for _, i := range w.used {
			if w.slots[i].pod.joined {
				w.acknowledged |= 1 << i
			}
		}
	case strings.HasPrefix(statement, "ALTER TABLE ") && strings.Contains(statement, "routing.allocation.exclude._id"):
		t := w.tableNamed(quoted[1] + "." + quoted[3])
		if t == nil {
			return errors.New("relation unknown")
		}
		t.exclude = ""
		if value := strings.Split(statement, "'"); len(value) > 1 {
			t.exclude = value[1] // else it is a RESET
		}
		w.say("daemon %s sets the exclude list of table %s to %q", d.name, t.name, t.exclude)
		w.reroute = max(w.now, 1)
	case strings.HasPrefix(statement, "ALTER CLUSTER REROUTE RETRY FAILED"):
		w.rerouteRetry()
	default:
		w.violate("world", "the simulation does not know the statement %q", statement)
	}
	return nil
}

func (w *world) settingOf(key string) *setting {
	switch key {
	case "cluster.routing.allocation.enable":
		return &w.enable
	case "cluster.routing.allocation.exclude._id":
		return &w.excludeID
	case "cluster.routing.allocation.exclude._name":
		return &w.excludeName
	case jobsLogSize:
		return &w.jobsLog
	}
	return nil
}

// setGlobal is a daemon's SET GLOBAL of one setting.
func (w *world) setGlobal(d *daemon, level, assignment string) {
	key, value, ok := strings.Cut(assignment, " = ")
	key, value = strings.Trim(key, `"`), strings.Trim(value, `'`)
	s := w.settingOf(key)
	if !ok || s == nil || level != "PERSISTENT" {
		w.violate("C", "a daemon sets %s %s, which nobody asked for or the simulation does not know", level, assignment)
		return
	}
	w.say("daemon %s sets %s to %q (was %q, transient %q)", d.name, key, value, s.persistent, s.transient)
	w.judge.set(w, d, key, s, value)
	s.persistent = value
	w.reroute = max(w.now, 1)
}

func (s *session) Strings(_ context.Context, query string, arguments ...any) ([][]string, error) {
	d := s.o.d
	w := d.w
	f := d.call(callSQL)
	if err := d.before(f); err != nil {
		return nil, err
	}
	if err := s.alive(); err != nil {
		return nil, err
	}
	d.checked = w.now
	var rows [][]string
	switch {
	case strings.Contains(query, "['allocation']['enable'] FROM sys.cluster"):
		rows = [][]string{{w.enable.effective("all")}}
	case strings.HasPrefix(query, "SELECT settings['stats']['jobs_log_size'] FROM sys.cluster"):
		rows = [][]string{{w.jobsLogOn(s.slot)}}
	case strings.HasPrefix(query, "SELECT name FROM sys.nodes"):
		for _, i := range w.used {
			if w.slots[i].pod.joined {
				rows = append(rows, []string{w.slots[i].nodeName})
			}
		}
	case strings.HasPrefix(query, "SELECT table_schema, table_name FROM sys.health WHERE"):
		if w.master < 0 {
			return nil, errors.New("MasterNotDiscoveredException")
		}
		for i := range w.tables {
			if colour, _, _ := w.health(i); colour > 1 {
				rows = append(rows, []string{"doc", w.tables[i].name})
			}
		}
	case strings.HasPrefix(query, "SELECT type FROM sys.privileges"):
		if u := w.user(s.user); u != nil && u.granted {
			rows = [][]string{{"AL"}, {"DDL"}, {"DML"}, {"DQL"}}
		}
	case strings.HasPrefix(query, "SELECT node_id FROM sys.node_checks WHERE id = 1"):
		expected := w.dataMembers()
		for _, i := range w.used {
			if l := &w.slots[i]; l.pod.joined && w.templates[l.pod.template].counts != expected && expected != 1 && w.acknowledged&(1<<i) == 0 {
				rows = append(rows, []string{nameOf(nodeIDs, "node-", l.volume.node)})
			}
		}
	case strings.HasPrefix(query, "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'] FROM sys.cluster"):
		rows = [][]string{{w.excludeID.effective("")}}
	case strings.HasPrefix(query, "SELECT settings['routing']['allocation']['exclude']['_id'] FROM information_schema.tables"):
		if t := w.tableNamed("doc." + fmt.Sprint(arguments[1])); t != nil {
			rows = [][]string{{t.exclude}}
		}
	case strings.HasPrefix(query, "SELECT id, name FROM sys.nodes"):
		for _, i := range w.used {
			if l := &w.slots[i]; l.pod.joined {
				rows = append(rows, []string{nameOf(nodeIDs, "node-", l.volume.node), l.nodeName})
			}
		}
	case strings.HasPrefix(query, "SELECT schema_name, table_name, partition_ident, id, routing_state,"):
		if w.master < 0 {
			return nil, errors.New("MasterNotDiscoveredException")
		}
		rows = w.copyRows()
	default:
		w.violate("world", "the simulation does not know the query %q", query)
	}
	return rows, d.after(f)
}

func (w *world) tableNamed(name string) *table {
	for i := range w.tables {
		if w.tables[i].name == name {
			return &w.tables[i]
		}
	}
	return nil
}

// copyRows is sys.shards.
func (w *world) copyRows() (rows [][]string) {
	for i := range w.shards {
		s := &w.shards[i]
		t := &w.tables[s.table]
		lacks := w.wantedReplicas(t) + 1
		id := versionText(int64(s.id))
		for j := range s.copies {
			c := &s.copies[j]
			if c.state == onDisk {
				continue
			}
			lacks--
			to := ""
			if c.state == relocating {
				to = nameOf(nodeIDs, "node-", w.slots[c.to].volume.node)
			}
			rows = append(rows, []string{"doc", t.name, "", id, c.state.String(), nameOf(nodeIDs, "node-", c.node), w.slots[c.slot].nodeName, to})
		}
		for range lacks {
			rows = append(rows, []string{"doc", t.name, "", id, "UNASSIGNED", "", "", ""})
		}
	}
	return rows
}

func (o objects) clusterOf(pod string) int {
	if l := o.d.w.slotOf(pod); l != nil {
		return l.volume.cluster
	}
	return 0
}
