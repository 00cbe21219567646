package chaos

import "sync"

// ledger is what was written to one table: for each batch how many rows may be
// there, and how many were acknowledged by row count. What was answered with an
// error may be there or not; it is never counted as acknowledged.
type ledger struct {
	mu      sync.Mutex
	batches map[int64]batch
	// single are batches of one row that was acknowledged, to be looked up.
	single []int64
}

type batch struct{ rows, acked int }

func newLedger() *ledger { return &ledger{batches: map[int64]batch{}} }

// send notes rows before they leave.
func (l *ledger) send(id int64, rows int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches[id] = batch{rows: rows}
}

// ack notes how many rows of a batch were acknowledged.
func (l *ledger) ack(id int64, rows int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.batches[id]
	b.acked = min(b.acked+rows, b.rows)
	l.batches[id] = b
	if b.rows == 1 && b.acked == 1 {
		l.single = append(l.single, id)
	}
}

// acknowledged is the nth (modulo their number) acknowledged single row; false
// while there is none.
func (l *ledger) acknowledged(n uint64) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.single) == 0 {
		return 0, false
	}
	return l.single[n%uint64(len(l.single))], true
}

// Rows compares what was written to a table with what is there.
type Rows struct {
	// Acknowledged rows, and those that were sent and not acknowledged.
	Acknowledged, Maybe int
	// Lost were acknowledged and are not there; Applied were not acknowledged and
	// are; Strange are there twice or were never written.
	Lost, Applied, Strange int
}

func (r Rows) plus(o Rows) Rows {
	return Rows{r.Acknowledged + o.Acknowledged, r.Maybe + o.Maybe, r.Lost + o.Lost, r.Applied + o.Applied, r.Strange + o.Strange}
}

// compare with the rows that are there, by batch.
func (l *ledger) compare(there map[int64]int) Rows {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r Rows
	for id, b := range l.batches {
		have := there[id]
		r.Acknowledged += b.acked
		r.Maybe += b.rows - b.acked
		switch {
		case have < b.acked:
			r.Lost += b.acked - have
		case have > b.rows:
			r.Strange += have - b.rows
			r.Applied += b.rows - b.acked
		default:
			r.Applied += have - b.acked
		}
	}
	for id, have := range there {
		if _, known := l.batches[id]; !known {
			r.Strange += have
		}
	}
	return r
}
