package simulation

// longestPace is the most between two passes to which nothing new has come.
const longestPace = 16 * second

// calmPace is the least between two passes once all faults are over, where the last one did nothing: nothing is to
// be met any more.
const calmPace = 5 * second

// pace is when a daemon takes its next pass by itself. While nothing changes in the world, looks at it become rarer: each of
// them waits four times as long as the one before. As soon as something happens, the next look is when it would
// have been.
type pace struct {
	poll    millis // how soon it wants to look again
	ended   millis // when its last pass ended
	calm    bool   // that pass wrote nothing and did nothing
	moments int    // what had happened by then
	spaced  millis // between passes to which nothing new has come
	called  bool   // a watch has shown something since
}

// sleeps plans the next pass.
func (d *daemon) sleeps(wait millis, calm bool) {
	w, p := d.w, &d.pace
	wait = max(wait, 20)
	if w.healed && w.schedule.Start.Backups {
		wait = min(wait, 45*second) // else it looks at windows only, when a snapshot begins
	}
	if calm {
		// Another look at the same reading finds what this one found.
		wait = max(wait, d.readAt+readingAge-w.now)
		if w.healed {
			wait = max(wait, calmPace)
		}
	}
	if calm && p.calm && p.moments == w.moments() {
		p.spaced = min(4*max(p.spaced, wait), longestPace)
	} else {
		p.spaced = 0
	}
	p.poll, p.ended, p.calm, p.moments, p.called = wait, w.now, calm, w.moments(), false
	d.wake = w.now + max(wait, p.spaced)
}

// stir lets the daemons know that something has happened: a watch shows it soon,
// with what else has happened until then, and the database's part is found by the
// next poll.
func (w *world) stir() {
	for _, d := range w.daemons {
		if !d.running || !d.leading || w.now >= d.wake {
			continue
		}
		p := &d.pace
		if w.resource != d.seen && !p.called {
			p.called = true
			late := w.rnd.span(20, 800)
			if w.healed {
				late += calmPace / 2
			}
			d.wake = min(d.wake, w.now+late)
		}
		if p.spaced > 0 {
			d.wake = min(d.wake, p.ended+(w.now-p.ended+p.poll-1)/p.poll*p.poll)
		}
	}
}

// moments counts what has happened, the daemons' turns aside.
func (w *world) moments() int { return w.steps - w.passes }
