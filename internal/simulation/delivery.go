package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// queued is a report in the cluster's queue, which outlives every process.
type queued struct {
	id, revision, reason string
	status               model.Status
}

// delivery is the queue of reports and who receives them.
type delivery struct {
	queue []queued
	taken []string // the last ids that were delivered
	// deafUntil is until when the receiver takes nothing; losing is true where it
	// takes one and its answer is lost.
	deafUntil millis
	losing    bool
	delivered map[string]queued
}

// mostTaken is how many delivered ids the queue remembers.
const mostTaken = 64

// enqueue writes a pass's reports to the queue, those that it does not know. They come before the record that
// marks them.
func (d *daemon) enqueue(reports []model.Report) error {
	if len(reports) == 0 {
		return nil
	}
	w := d.w
	f, err := d.write()
	if err != nil {
		return err
	}
	for i := range reports {
		r := &reports[i]
		w.judge.reported(w, d, r)
		q := queued{id: r.ID, revision: r.Revision, reason: r.Reason, status: r.Status}
		switch i := slices.IndexFunc(w.queue, func(q queued) bool { return q.id == r.ID }); {
		case r.ID == "":
			w.violate("F", "a report has no id: %s", r.Message)
		case i >= 0 && w.queue[i] != q, slices.Contains(w.taken, r.ID) && w.delivered[r.ID] != q:
			w.violate("F", "two reports have one id, and the second is never delivered: %s %s", r.Reason, r.Message)
		case i < 0 && !slices.Contains(w.taken, r.ID):
			w.queue = append(w.queue, q)
		}
	}
	return d.after(f)
}

// deliver is what the leader does beside its turns: in the order in which things
// happened, and nothing overtakes what the receiver did not take.
func (w *world) deliver() {
	if w.now < w.deafUntil {
		return
	}
	if w.delivered == nil {
		w.delivered = map[string]queued{}
	}
	for len(w.queue) > 0 {
		q := w.queue[0]
		w.delivered[q.id] = q
		w.judge.delivered(w, q)
		if w.losing {
			w.losing = false // it is sent again
			return
		}
		w.queue = w.queue[1:]
		w.taken = append(w.taken, q.id)
		if len(w.taken) > mostTaken {
			w.taken = w.taken[1:]
		}
	}
}

// delivered: the receiver has it.
func (j *judge) delivered(w *world, q queued) {
	if q.status == model.StatusSuccess && !ofSnapshots[q.reason] {
		j.success = append(j.success, q.revision)
	}
}
