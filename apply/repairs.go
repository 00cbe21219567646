package apply

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"stevedore.dev/stevedore/apply/compare"
)

// An object that others change again and again is put right this often within
// this time; beyond it, it is left and reported: two writers that fight at the
// speed of their watches help no one.
const (
	maxRepairs   = 10
	repairWindow = time.Minute
)

// repairs remembers when objects were put right.
type repairs struct {
	now func() time.Time

	mu    sync.Mutex
	times map[compare.Key][]time.Time
}

func newRepairs(now func() time.Time) *repairs {
	return &repairs{now: now, times: map[compare.Key][]time.Time{}}
}

// next counts one repair; it is refused where there were too many.
func (r *repairs) next(key compare.Key, why string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	recent := slices.DeleteFunc(r.times[key], func(at time.Time) bool { return now.Sub(at) > repairWindow || at.After(now) })
	if len(recent) >= maxRepairs {
		r.times[key] = recent
		return fmt.Errorf("something else keeps changing it (%s), it was put right %d times within %s and is left for now: "+
			"find the other writer with `kubectl get --show-managed-fields`, and stop it or leave the field out", why, len(recent), repairWindow)
	}
	r.times[key] = append(recent, now)
	return nil
}

// trim forgets what is long past.
func (r *repairs) trim() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for key, times := range r.times {
		if len(times) == 0 || now.Sub(times[len(times)-1]) > repairWindow {
			delete(r.times, key)
		}
	}
}
