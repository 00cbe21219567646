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
	// Pending in the order in which they happened.
	Pending []pending `json:"pending"`
	// Taken are the ids that were delivered last: a report that is made again
	// after a kill between its delivery and the record of it is known by them.
	Taken []string `json:"taken,omitempty"`
	// Statuses are commit statuses that the repository's server has not taken, at
	// most one for each commit and context.
	Statuses []pending `json:"statuses,omitempty"`
	// Posted is the last commit status that was queued, by context.
	Posted map[string]posted `json:"posted,omitempty"`
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

func (d *document) knows(id string) bool {
	return slices.Contains(d.Taken, id) || slices.ContainsFunc(d.Pending, func(p pending) bool { return p.ID == id })
}

func (d *document) take(id string) bool {
	before := len(d.Pending)
	d.Pending = slices.DeleteFunc(d.Pending, func(p pending) bool { return p.ID == id })
	if len(d.Pending) == before {
		return false
	}
	d.Taken = append(d.Taken, id)
	if extra := len(d.Taken) - maxTaken; extra > 0 {
		d.Taken = slices.Delete(d.Taken, 0, extra)
	}
	return true
}

// fit coalesces the oldest reports until the document keeps its bound, and
// says how many more are coalesced now. The youngest report always stays.
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
		// Enough of them at once: each look at the size encodes everything.
		over, n := large.Size-large.Limit, 0
		for freed := -512; n < len(d.Pending)-1 && freed < over; n++ {
			freed += len(d.Pending[n].Body) + 128
		}
		if n == 0 {
			return coalesced, fmt.Errorf("make room in the queue of %s: %w", cluster, err)
		}
		// An only one that stands for others already cannot be made smaller.
		if n == 1 && d.Pending[0].Coalesced > 0 {
			n = min(2, len(d.Pending)-1)
			if n < 2 {
				return coalesced, fmt.Errorf("make room in the queue of %s: %w", cluster, err)
			}
		}
		gone, notice := 0, pending{At: d.Pending[0].At}
		for _, p := range d.Pending[:n] {
			if p.Coalesced == 0 {
				gone++
			}
			notice.Coalesced += max(p.Coalesced, 1)
			notice.Until, notice.Revision = p.At, p.Revision
			if p.Until.After(notice.Until) {
				notice.Until = p.Until
			}
		}
		notice.ID = fmt.Sprintf("coalesced-%s-%d", d.Pending[n-1].ID, notice.Coalesced)
		if p := d.Pending[n-1]; p.Coalesced > 0 {
			notice.ID = p.ID
		}
		if notice.Body, err = delayBody(cluster, coalescedReason(notice.Coalesced, notice.At, notice.Until)); err != nil {
			return coalesced, err
		}
		d.Pending = append([]pending{notice}, d.Pending[n:]...)
		coalesced += gone
	}
}
