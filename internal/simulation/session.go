package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/execute"
)

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
	w.dueKnown = false
	if done, err := w.execBackup(d, statement, arguments); done {
		return err
	}
	if done, err := w.execDrill(d, statement); done {
		return err
	}
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
	case strings.HasPrefix(statement, "ALTER TABLE "):
		return w.setFilters(d, statement, quoted)
	case strings.HasPrefix(statement, "ALTER CLUSTER REROUTE RETRY FAILED"):
		w.rerouteRetry()
	default:
		w.violate("world", "the simulation does not know the statement %q", statement)
	}
	return nil
}

func (w *world) settingOf(key string) *clusterSetting {
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
	if w.telling() {
		w.say("daemon %s sets %s to %q (was %q, transient %q)", d.name, key, value, s.persistent, s.transient)
	}
	w.judge.set(w, d, key, s, value)
	s.persistent = value
	w.readFilters()
	w.reroute = max(w.now, 1)
}

func (s *session) Strings(_ context.Context, query string, arguments ...any) ([][]string, error) {
	d := s.o.d
	w := d.w
	if w.schedule.Seed < answering {
		if rows, done := d.asked(query); done {
			return rows, s.alive() // no call of the schedules that were recorded before there were questions
		}
	}
	f := d.call(callSQL)
	if err := d.before(f); err != nil {
		return nil, err
	}
	if err := s.alive(); err != nil {
		return nil, err
	}
	if rows, done := d.asked(query); done {
		d.checked = w.now
		return rows, nil
	}
	if err := w.slow(query); err != nil {
		return nil, err
	}
	d.checked = w.now
	rows, known := w.drillStrings(s.slot, query, arguments)
	switch {
	case known:
	case strings.HasPrefix(query, "SELECT count(*) FROM \""):
		if quoted := strings.Split(query, `"`); w.tableNamed(quoted[1]+"."+quoted[3]) == nil {
			return nil, rejected("Relation %q unknown", quoted[1]+"."+quoted[3])
		}
		rows = [][]string{{"1"}}
	case strings.Contains(query, "['allocation']['enable'] FROM sys.cluster"):
		d.looked.allocation = w.enable.effective("all")
		rows = [][]string{{d.looked.allocation}}
	case strings.HasPrefix(query, "SELECT settings['stats']['jobs_log_size'] FROM sys.cluster"):
		rows = [][]string{{w.jobsLogOn(s.slot)}}
		if d.looked.jobsLog == "" {
			d.looked.jobsLog = rows[0][0]
		}
	case query == "SELECT master_node FROM sys.cluster":
		rows = [][]string{{""}}
		d.looked.masterless = w.master < 0
		if w.master >= 0 {
			rows[0][0] = nameOf(nodeIDs, "node-", w.slots[w.master].volume.node)
		}
	case strings.HasPrefix(query, "SELECT name, version['number'] FROM sys.nodes"):
		for _, i := range w.used {
			if w.slots[i].pod.joined {
				d.looked.lists(&w.slots[i])
				rows = append(rows, []string{w.slots[i].nodeName, w.versionOf(&w.slots[i])})
			}
		}
	case strings.HasPrefix(query, "SELECT table_schema, table_name FROM sys.health WHERE"):
		if w.master < 0 {
			return nil, errors.New("MasterNotDiscoveredException")
		}
		d.looked.tablesAt = w.now
		for i := range w.tables {
			if colour, _, _ := w.health(i, w.desiredReplicas(&w.tables[i])); colour > 1 && !w.tables[i].denied {
				d.looked.lacking = w.tables[i].name
				rows = append(rows, []string{"doc", w.tables[i].name})
			}
		}
	case strings.HasPrefix(query, "SELECT health, missing_shards, underreplicated_shards FROM sys.cluster_health"):
		if w.master < 0 {
			return nil, errors.New("MasterNotDiscoveredException")
		}
		worst, missing, under := 1, 0, 0
		for i := range w.tables {
			colour, m, u := w.health(i, w.desiredReplicas(&w.tables[i]))
			worst, missing, under = max(worst, int(colour)), missing+m, under+u
		}
		rows = [][]string{{[...]string{"", "GREEN", "YELLOW", "RED"}[worst], versionText(int64(missing)), versionText(int64(under))}}
	case strings.HasPrefix(query, "SELECT type, class, ident FROM sys.privileges"):
	case strings.HasPrefix(query, "SELECT type FROM sys.privileges"):
		if u := w.user(s.user); u != nil && u.granted {
			rows = [][]string{{"AL"}, {"DDL"}, {"DML"}, {"DQL"}}
		}
	case strings.HasPrefix(query, "SELECT state, type, class, ident FROM sys.privileges"):
		if u := w.user(fmt.Sprint(arguments[0])); u != nil && u.granted {
			rows = [][]string{{"GRANT", "AL", "CLUSTER", ""}}
		}
	case strings.HasPrefix(query, "SELECT node_id FROM sys.node_checks WHERE id = 1"):
		expected := w.dataMembers()
		for _, i := range w.used {
			if l := &w.slots[i]; l.pod.joined && w.templates[l.pod.template].counts != expected && expected != 1 && w.acknowledged&(1<<i) == 0 {
				rows = append(rows, []string{nameOf(nodeIDs, "node-", l.volume.node)})
			}
		}
	case strings.HasPrefix(query, "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'], settings['cluster']['routing']['allocation']['exclude'] FROM sys.cluster"):
		d.looked.excluded, d.looked.excludedAt, d.looked.inForce = w.excludeID.effective(""), w.now, w.inForce[0]
		keys, err := json.Marshal(map[string]string{"_id": d.looked.excluded, "_name": w.excludeName.effective("")})
		if err != nil {
			return nil, err
		}
		rows = [][]string{{d.looked.excluded, string(keys)}}
	case strings.HasPrefix(query, "SELECT settings['routing']['allocation']['exclude']['_id'], settings['routing']['allocation'] FROM information_schema.tables"):
		if t := w.tableNamed(fmt.Sprintf("%v.%v", arguments[0], arguments[1])); t != nil {
			d.looked.pinsAt = w.now
			rows = [][]string{{t.exclude, t.routing()}}
		}
	case strings.Contains(query, "settings['routing']['allocation'] FROM information_schema.table_partitions"):
	case strings.HasPrefix(query, "SELECT settings['routing']['allocation'] FROM information_schema.tables"):
		for i := range w.tables {
			t := &w.tables[i]
			if t.denied {
				continue
			}
			if t.filtered() {
				d.looked.filtered++
			}
			rows = append(rows, []string{t.routing()})
		}
	case strings.HasPrefix(query, "SELECT id, name, version['number'] FROM sys.nodes"):
		for _, i := range w.used {
			if l := &w.slots[i]; l.pod.joined {
				d.looked.lists(l)
				rows = append(rows, []string{nameOf(nodeIDs, "node-", l.volume.node), l.nodeName, w.versionOf(l)})
			}
		}
	case strings.HasPrefix(query, "SELECT schema_name, table_name, partition_ident, id, routing_state,"):
		if w.master < 0 {
			return nil, errors.New("MasterNotDiscoveredException")
		}
		d.copied = w.now
		rows = w.copyRows(false)
		for _, r := range rows {
			if r[4] != "STARTED" {
				d.looked.moving = r[1]
			}
		}
	default:
		if rows, known = w.backupStrings(query, arguments); !known {
			w.violate("world", "the simulation does not know the query %q", query)
		}
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

// copyRows is sys.shards, as the superuser or as `system` is shown it.
func (w *world) copyRows(superuser bool) (rows [][]string) {
	for i := range w.shards {
		s := &w.shards[i]
		t := &w.tables[s.table]
		if t.denied && !superuser {
			continue
		}
		lacks := w.desiredReplicas(t) + 1
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
