package simulation

import (
	"slices"
	"sync"
)

// ended are worlds whose schedules are over. The next ones are made in their memory:
// of what a schedule allocates a quarter is the world that it begins with.
var ended = sync.Pool{New: func() any { return new(world) }}

// emptied is a world in which nothing is, in the memory of this one.
func (w *world) emptied() world {
	var next world
	next.sets, next.slots, next.used = w.sets[:0], w.slots[:0], w.used[:0]
	next.budgets, next.secrets, next.templates, next.drains = w.budgets[:0], w.secrets[:0], w.templates[:0], w.drains[:0]
	next.voters, next.users, next.tables, next.shards, next.wants = w.voters[:0], w.users[:0], w.tables[:0], w.shards[:0], w.wants[:0]
	next.commits, next.left, next.daemons = w.commits[:0], w.left[:0], w.daemons[:0]
	next.judge.down, next.judge.success = w.judge.down[:0], w.judge.success[:0]
	next.question.Others = w.question.Others[:0]
	return next
}

// emptied is a cache in which nothing is, in the memory of this one.
func (v *cached) emptied() cached {
	return cached{
		sets: v.sets[:0], state: v.state[:0], pods: v.pods[:0], claims: v.claims[:0],
		secrets: v.secrets[:0], budgets: v.budgets[:0], volumes: v.volumes[:0],
	}
}

// addDaemon is a process that starts at a time.
func (w *world) addDaemon(name string, wake millis) {
	n := len(w.daemons)
	w.daemons = slices.Grow(w.daemons, 1)[:n+1]
	if w.daemons[n] == nil {
		w.daemons[n] = new(daemon)
	}
	d := w.daemons[n]
	d.w, d.name = w, name
	d.forget()
	d.wake = wake
}
