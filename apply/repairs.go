package apply

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stevedore.dev/stevedore/apply/compare"
)

// An object that others change again and again is put right this often within
// this time; beyond it, it is left and reported: two writers that fight at the
// speed of their watches help no one. From then on it counts as applied again
// only once nobody has changed it for that time.
const (
	maxRepairs   = 10
	repairWindow = time.Minute
)

// repairs remembers when objects were put right.
type repairs struct {
	now func() time.Time

	mu    sync.Mutex
	times map[compare.Key][]time.Time
	left  map[compare.Key]leftObject
}

// leftObject is one that was left to another writer.
type leftObject struct {
	hash    string    // of what was desired
	changed time.Time // when the other one's change was last seen
}

func newRepairs(now func() time.Time) *repairs {
	return &repairs{now: now, times: map[compare.Key][]time.Time{}, left: map[compare.Key]leftObject{}}
}

// next counts one repair; it is refused where there were too many.
func (r *repairs) next(p prepared, why string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	recent := slices.DeleteFunc(r.times[p.key], func(at time.Time) bool { return now.Sub(at) > repairWindow || at.After(now) })
	tooMany := len(recent) >= maxRepairs
	if _, was := r.left[p.key]; was || tooMany {
		r.left[p.key] = leftObject{p.hash, now}
	}
	if tooMany {
		r.times[p.key] = recent
		return fmt.Errorf("something else keeps changing it (%s), it was put right %d times within %s and is left for now: %s",
			why, len(recent), repairWindow, findWriter(p.key))
	}
	r.times[p.key] = append(recent, now)
	return nil
}

// contested is an error of an object that was left, is as it was applied again, and may be changed
// again at any moment.
func (r *repairs) contested(p prepared) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, was := r.left[p.key]
	if !was || left.hash != p.hash || r.now().Sub(left.changed) > repairWindow {
		return nil
	}
	return fmt.Errorf("something else kept changing it; it counts as applied once nobody has changed it for %s: %s", repairWindow, findWriter(p.key))
}

// findWriter says how a person finds who else writes an object.
func findWriter(key compare.Key) string {
	object := strings.ToLower(key.Kind)
	if key.Group != "" {
		object += "." + key.Group
	}
	if key.Namespace != "" {
		object = "-n " + key.Namespace + " " + object
	}
	return fmt.Sprintf("find the other writer with `kubectl get %s %s -o yaml --show-managed-fields`, and stop it or leave the field out", object, key.Name)
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
	for key, left := range r.left {
		if now.Sub(left.changed) > repairWindow {
			delete(r.left, key)
		}
	}
}
