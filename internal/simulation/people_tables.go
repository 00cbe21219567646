package simulation

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/ops/model"
)

// tableSettings are a table's own of routing.allocation and write, each "" where it has
// none.
type tableSettings struct {
	exclude      string // exclude._id: the daemon's
	excludeNames string // exclude._name: somebody's, as all that follow
	pin                 // during a drain the daemon's
	enable       string
	wait         string // write.wait_for_active_shards
}

// pin are the filters of a table that decide alone.
type pin struct{ includeNames, requireZone string }

// recordedPin are the filters that a daemon has written down for a drain, those of before, and the
// commit that it wrote them down for.
type recordedPin struct {
	during, before pin
	commit         int
}

func pinOf(l model.SettingList) (p pin) {
	p.includeNames, _ = l.Get("include._name")
	p.requireZone, _ = l.Get("require.zone")
	return p
}

// pinned notes that people have set these filters. Who sets what is there already changes nothing.
// Who sets the very filters that a daemon has written down for a drain, and is about to set, cannot
// be told from it: it may have set them and been killed. From here on it is as if it had.
func (w *world) pinned(t *table, before pin) {
	if t.pin == before {
		return
	}
	t.theirs, t.theirsAt = t.pin, w.now
	if t.drain.during.includeNames != "" && t.pin == t.drain.during {
		t.theirs = t.drain.before
	}
}

// writesPins notes which filters a daemon writes down for a drain.
func (w *world) writesPins(d *daemon, next *model.Record) {
	for i := range w.tables {
		t := &w.tables[i]
		now := recordedPin{commit: d.want}
		if x := next.Exclusions; x != nil {
			for k := range x.Tables {
				if x.Tables[k].Name == t.name {
					now.during, now.before = pinOf(x.Tables[k].Drain), pinOf(x.Tables[k].Filters)
				}
			}
		}
		if now.during == t.drain.during && now.before == t.drain.before {
			continue
		}
		t.drain = now
		if now.during.includeNames != "" && t.theirs == now.during && t.theirsAt >= d.readAt {
			t.theirs = now.before // as in pinned: they have set the very same since the reading
		}
	}
}

// setFilters is a daemon's ALTER TABLE of these filters: parts are the statement between its
// quotation marks.
func (w *world) setFilters(d *daemon, statement string, parts []string) error {
	t := w.tableNamed(parts[1] + "." + parts[3])
	if t == nil {
		return errors.New("relation unknown")
	}
	before, resets := t.pin, strings.HasPrefix(parts[4], " RESET ")
	for i := 5; i+1 < len(parts); i += 2 {
		value := strings.Split(parts[i+1], "'")
		if resets != (len(value) == 1) {
			w.violate("world", "the simulation does not know the statement %q", statement)
			return nil
		}
		value = append(value, "")
		switch parts[i] {
		case "routing.allocation.include._name":
			t.includeNames = value[1]
		case "routing.allocation.require.zone":
			t.requireZone = value[1]
		default:
			w.violate("world", "the simulation does not know the filter %q", parts[i])
		}
	}
	if w.telling() {
		w.say("daemon %s sets the filters of table %s to include %q, require zone %q (were %q, %q)", d.name, t.name, t.includeNames, t.requireZone, before.includeNames, before.requireZone)
	}
	w.judge.filters(w, d, t, before)
	w.reroute = max(w.now, 1)
	return nil
}

func (t *table) filtered() bool { return t.exclude != "" || t.excludeNames != "" || t.alone() }

// alone: whatever is excluded, by the cluster or by the table, this decides (from 5.9).
func (t *table) alone() bool { return t.includeNames != "" || t.requireZone != "" }

// settings are those that the deciders ask for.
func (t *table) settings() *allocation.Table {
	if t.read != t.tableSettings {
		t.read, t.rules.Filters, t.rules.Enable = t.tableSettings, allocation.Filters{}, allocation.Enable(t.enable)
		t.rules.Filters.Add("exclude", "_id", t.exclude)
		t.rules.Filters.Add("exclude", "_name", t.excludeNames)
		t.rules.Filters.Add("include", "_name", t.includeNames)
		t.rules.Filters.Add("require", "zone", t.requireZone)
	}
	return &t.rules
}

// filters are those that a reading shows of a table.
func (t *table) filters(seen *model.Table) {
	seen.Filtered = t.filtered()
	one := func(pairs ...string) (m map[string]string) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != "" && m == nil {
				m = map[string]string{}
			}
			if pairs[i+1] != "" {
				m[pairs[i]] = pairs[i+1]
			}
		}
		return m
	}
	seen.Exclude, seen.Include, seen.Require = one("_id", t.exclude, "_name", t.excludeNames), one("_name", t.includeNames), one("zone", t.requireZone)
}

// routing is settings['routing']['allocation'] of a table.
func (t *table) routing() string {
	var seen model.Table
	t.filters(&seen)
	text, _ := json.Marshal(map[string]map[string]string{"exclude": seen.Exclude, "include": seen.Include, "require": seen.Require})
	return string(text)
}

// changeTable is a person's ALTER TABLE of what CrateDB does with the table's shards.
func (w *world) changeTable(it Item) {
	if w.common() == 0 || w.master < 0 || !w.recovered {
		return
	}
	w.judge.disturbed = w.now
	w.reroute = max(w.now, 1)
	t := &w.tables[it.A%w.common()]
	before := t.pin
	defer func() { w.pinned(t, before) }()
	switch it.What {
	case pinTable:
		t.includeNames, t.requireZone = "", ""
		if it.B%3 == 0 {
			t.requireZone = zoneNames[it.B/3%3]
			break
		}
		// Some of the nodes, one at least that runs.
		var names []string
		for n, i := range w.used {
			if l := &w.slots[i]; l.pod.joined && !l.set.masters && (len(names) == 0 || (n+it.B)%2 == 0) {
				names = append(names, l.nodeName)
			}
		}
		t.includeNames = strings.Join(names, ",")
	case holdTable:
		t.enable = []string{"none", "primaries", "new_primaries"}[it.B%3]
	case waitForAll:
		t.wait = "ALL"
	}
	if w.telling() {
		w.say("table %s: include %q, require zone %q, enable %q, wait_for_active_shards %q", t.name, t.includeNames, t.requireZone, t.enable, t.wait)
	}
}

// freeTables takes back what people have set of their tables.
func (w *world) freeTables() {
	for i := range w.tables {
		t := &w.tables[i]
		before := t.pin
		t.tableSettings = tableSettings{exclude: t.exclude}
		w.pinned(t, before)
	}
}

// fillDisks fills the disks of some nodes above the low watermark, and not above the high
// one: they take no copy more, also none that was there before.
func (w *world) fillDisks(it Item) {
	w.judge.disturbed = w.now
	for n, i := range w.used {
		if it.A%3 == 0 || n%2 == it.A%2 {
			l := &w.slots[i]
			if l.fullDisk = 0; l.pod.mounts.has(1) && it.B%2 == 1 {
				l.fullDisk = 1
			}
			l.full, l.filled = true, l.sizeOn(l.fullDisk)/100*87
		}
	}
	w.reroute = max(w.now, 1)
}

// dropShards: people drop tables that are lost.
func (w *world) dropShards(of []bool) {
	w.shards = slices.DeleteFunc(w.shards, func(s shard) bool { return of[s.table] && !w.tables[s.table].drill })
}
