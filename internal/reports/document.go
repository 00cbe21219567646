package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/record"
)

// document is the content of a cluster's reports ConfigMap.
type document struct {
	// The webhook's list stands at the top, as releases before have written it.
	list
	// Others are the lists of other targets, by their names.
	Others map[string]*list `json:"others,omitempty"`
	// Statuses are commit statuses that the repository's server has not taken, at
	// most one for each commit and context.
	Statuses []pending `json:"statuses,omitempty"`
	// Posted is the last commit status that was queued, by context.
	Posted map[string]posted `json:"posted,omitempty"`
}

// list is what one target is to be told.
type list struct {
	// Pending in the order in which they happened.
	Pending []pending `json:"pending"`
	// Taken are the ids that were delivered last: a report that is made again
	// after a kill between its delivery and the record of it is known by them.
	Taken []string `json:"taken,omitempty"`
}

// pending is a report that no receiver has taken yet.
type pending struct {
	ID       string    `json:"id"`
	Revision string    `json:"revision,omitempty"`
	At       time.Time `json:"at"`
	// Coalesced is how many reports this one stands for; 0 for a report itself.
	Coalesced int `json:"coalesced,omitempty"`
	// Until is the time of the youngest that it stands for.
	Until time.Time `json:"until,omitzero"`
	// Body as it is sent, byte for byte.
	Body json.RawMessage `json:"body"`
}

const (
	// maxTaken bounds Taken: it has to reach over what one turn reports.
	maxTaken = 64
	// maxBody bounds one report; with MaxMessage and fifty groups it is a few KiB.
	maxBody = 32 << 10
)

// of is the list of a target.
func (d *document) of(f *format) *list {
	if f == webhook {
		return &d.list
	}
	if d.Others[f.name] == nil {
		if d.Others == nil {
			d.Others = map[string]*list{}
		}
		d.Others[f.name] = &list{}
	}
	return d.Others[f.name]
}

// waiting counts what these targets have not taken yet, commit statuses included.
func (d *document) waiting(told []*format) int {
	n := len(d.Statuses)
	for _, f := range told {
		n += len(d.of(f).Pending)
	}
	return n
}

func (l *list) knows(id string) bool {
	return slices.Contains(l.Taken, id) || slices.ContainsFunc(l.Pending, func(p pending) bool { return p.ID == id })
}

func (l *list) take(id string) bool {
	before := len(l.Pending)
	l.Pending = slices.DeleteFunc(l.Pending, func(p pending) bool { return p.ID == id })
	if len(l.Pending) == before {
		return false
	}
	l.Taken = append(l.Taken, id)
	if extra := len(l.Taken) - maxTaken; extra > 0 {
		l.Taken = slices.Delete(l.Taken, 0, extra)
	}
	return true
}

func (l *list) bytes() (n int) {
	for i := range l.Pending {
		n += len(l.Pending[i].Body)
	}
	return n
}

// fit coalesces the oldest reports of the largest list until the document keeps its bound,
// and says how many more are coalesced now. The youngest report of a list always stays.
func (d *document) fit(cluster record.Cluster) (int, error) {
	coalesced := 0
	for {
		_, err := record.Encode(record.Reports, d)
		if err == nil {
			return coalesced, nil
		}
		var large *record.TooLargeError
		if !errors.As(err, &large) {
			return coalesced, err
		}
		largest := webhook
		for _, f := range formats {
			if other := d.Others[f.name]; other != nil && other.bytes() > d.of(largest).bytes() {
				largest = f
			}
		}
		gone, smaller, err2 := d.of(largest).coalesce(cluster, largest, large.Size-large.Limit)
		switch {
		case err2 != nil:
			return coalesced, err2
		case !smaller:
			return coalesced, fmt.Errorf("make room in the queue of %s: %w", cluster, err)
		}
		coalesced += gone
	}
}

// coalesce makes one report of the oldest, until so many bytes are freed, and says how many
// reports it stands for. It says false where the list cannot be made smaller.
func (l *list) coalesce(cluster record.Cluster, f *format, over int) (gone int, smaller bool, err error) {
	// Enough of them at once: each look at the size encodes everything.
	n := 0
	for freed := -512; n < len(l.Pending)-1 && freed < over; n++ {
		freed += len(l.Pending[n].Body) + 128
	}
	if n == 0 {
		return 0, false, nil
	}
	// An only one that stands for others already cannot be made smaller.
	if n == 1 && l.Pending[0].Coalesced > 0 {
		if n = min(2, len(l.Pending)-1); n < 2 {
			return 0, false, nil
		}
	}
	notice := pending{At: l.Pending[0].At}
	for _, p := range l.Pending[:n] {
		if p.Coalesced == 0 {
			gone++
		}
		notice.Coalesced += max(p.Coalesced, 1)
		notice.Until, notice.Revision = p.At, p.Revision
		if p.Until.After(notice.Until) {
			notice.Until = p.Until
		}
	}
	notice.ID = fmt.Sprintf("coalesced-%s-%d", l.Pending[n-1].ID, notice.Coalesced)
	if p := l.Pending[n-1]; p.Coalesced > 0 {
		notice.ID = p.ID
	}
	if notice.Body, err = f.missing(cluster, coalescedReason(notice.Coalesced, notice.At, notice.Until)); err != nil {
		return 0, false, err
	}
	l.Pending = append([]pending{notice}, l.Pending[n:]...)
	return gone, true, nil
}
