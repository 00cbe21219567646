package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// converged says why the world is not yet what Git wants; "" when it is. Numbers
// are put into words only where somebody reads them.
func (j *judge) converged(w *world, words bool) string {
	why := func(format string, values ...any) string {
		if !words {
			return format
		}
		return fmt.Sprintf(format, values...)
	}
	c := w.head()
	if len(w.queue) > 0 {
		return "reports wait for their receiver"
	}
	if c.stands() && w.schedule.Start.Leave {
		return j.rests(w)
	}
	hash := w.templates[c.tmpl].hash
	for i := range w.sets {
		s := &w.sets[i]
		want := c.replicas[w.setKind(s)]
		if !c.wants(w.setKind(s)) {
			if s.exists {
				return why("%s is still there", s.name)
			}
			want = 0
		}
		switch {
		case want == 0 && !s.exists:
		case !s.exists:
			return why("%s is not there", s.name)
		case s.replicas != want:
			return why("%s has %d replicas of %d", s.name, s.replicas, want)
		case !w.templates[s.template].same(&w.templates[c.tmpl]) || !w.alike(s.template, c.tmpls[w.setKind(s)]):
			return why("%s has template %s (counts %d), not %s (%d)", s.name, w.templates[s.template].hash, w.templates[s.template].counts, hash, w.templates[c.tmpls[w.setKind(s)]].counts)
		case s.hold != "":
			return why("%s says that something is held", s.name)
		}
		for o := range maxOrdinals {
			l := &w.slots[i*maxOrdinals+o]
			switch {
			case o >= want && l.pod.exists:
				return why("%s is still there", l.podName)
			case o >= want:
			case !l.pod.exists || !l.pod.ready || !l.pod.joined || l.pod.terminating:
				return why("%s is not there", l.podName)
			case w.adopted.lost[i] && w.templates[l.pod.template].isAdopted():
			case !w.templates[l.pod.template].same(&w.templates[c.tmpl]) || w.disked() && w.templates[l.pod.template].hash != w.templates[s.template].hash:
				return why("%s runs another template", l.podName)
			}
		}
	}
	if lacks := w.lacksDisks(c); lacks != "" {
		return lacks
	}
	if claim := w.smaller(c); w.driver() != noDriver && claim != "" {
		return why("%s has not the size of %v", claim, c.volumes)
	}
	if pod := w.lacksCompute(c); pod != "" {
		return why("%s has not the CPU and memory that Git says", pod)
	}
	if claim := w.onOthers(c); claim != "" {
		return why("%s is not of %v", claim, c.volumes)
	}
	if lacks := cmp.Or(j.backupsLack(w, c), j.drillsLack(w)); lacks != "" {
		return lacks
	}
	if plain(w.enable.persistent) != plain(w.enable.theirs) {
		return why("cluster.routing.allocation.enable is %q, and people have set %q", w.enable.persistent, w.enable.theirs)
	}
	if !sameList(w.excludeID.persistent, w.excludeID.theirs) {
		return why("cluster.routing.allocation.exclude._id is %q, and people have set %q", w.excludeID.persistent, w.excludeID.theirs)
	}
	if lacks := j.jobsLogLacks(w, c); lacks != "" {
		return lacks
	}
	for i := range w.tables {
		if w.tables[i].exclude != "" {
			return why("table %s has our filter", w.tables[i].name)
		}
		if t := &w.tables[i]; t.pin != t.theirs {
			return why("table %s has include %q, require zone %q, and people have set %q, %q", t.name, t.includeNames, t.requireZone, t.theirs.includeNames, t.theirs.requireZone)
		}
	}
	if u := w.user("ada"); u == nil || u.password != w.secret("user-ada").password || !u.granted {
		return "user ada does not log in with her Secret's password"
	}
	if u := w.user("system"); u == nil || !u.granted {
		return "user system has no privileges"
	}
	for _, i := range w.used {
		for disk := range maxDisks {
			l := &w.slots[i]
			k := l.claimOn(disk)
			if l.pod.joined && l.pod.sees(disk) && (k.clusterID != idOf(l.volume.cluster) || k.version != l.volume.version) {
				return why("the claim %s does not say whose volume it is and which version wrote to it: %q, %q", l.claimNameOf(disk), k.clusterID, k.version)
			}
		}
	}
	for i := range w.budgets {
		if b := &w.budgets[i]; b.exists && b.value != 1 && j.allGreen(w) {
			return why("budget %s is closed", b.name)
		}
	}
	// With somebody's value over what Git says it is no success, and nobody is asked
	// to call it one.
	if !slices.Contains(j.success, c.desired.Revision) && !j.jobsLogTheirs(c, &w.jobsLog) && !w.jobsLogHidden(c) {
		return why("success of %s was never reported", c.desired.Revision)
	}
	return ""
}

// rests says why a suspended cluster does not stand still yet.
func (j *judge) rests(w *world) string {
	for i := range w.sets {
		s := &w.sets[i]
		if s.exists && (s.replicas > 0 || s.hold != "") {
			return s.name + " does not stand still"
		}
	}
	for _, i := range w.used {
		if w.slots[i].pod.exists {
			return w.slots[i].podName + " is still there"
		}
	}
	if plain(w.enable.persistent) != plain(w.enable.theirs) {
		return "cluster.routing.allocation.enable is held"
	}
	return ""
}

// sameList compares two lists of names, whatever their order.
func sameList(a, b string) bool {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for _, name := range strings.Split(pair[0], ",") {
			if name != "" && !listed(pair[1], name) {
				return false
			}
		}
	}
	return true
}

func (j *judge) allGreen(w *world) bool {
	for i := range w.tables {
		if colour, _, _ := w.health(i, w.desiredReplicas(&w.tables[i])); colour > 1 {
			return false
		}
	}
	return true
}
