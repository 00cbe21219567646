package daemon

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
)

// following is what the Lease says of this daemon's sources: which revisions it has
// taken, and whose records do not say yet what the newest means for them. Who waits for
// a push goes by it; a commit that does not touch a cluster is written down nowhere else.
type following struct {
	holder string
	order  []string

	mu sync.Mutex
	// takes counts what was taken.
	takes   int
	sources map[string]*followed
}

type followed struct {
	revisions []string
	// behind are clusters that have not been looked at since that take.
	behind map[record.Cluster]int
}

func newFollowing(holder string, sources []Source) *following {
	f := &following{holder: holder, sources: map[string]*followed{}}
	for _, source := range sources {
		f.order = append(f.order, source.Identity())
		f.sources[source.Identity()] = &followed{behind: map[record.Cluster]int{}}
	}
	return f
}

// took notes a revision that is desired from now on, before the clusters that have to be looked at for it are
// woken.
func (f *following) took(source, revision string, clusters []record.Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.sources[source]
	if of == nil {
		return
	}
	f.takes++
	for _, key := range clusters {
		of.behind[key] = f.takes
	}
	of.revisions = slices.DeleteFunc(of.revisions, func(old string) bool { return old == revision })
	of.revisions = slices.Insert(of.revisions, 0, revision)
	of.revisions = of.revisions[:min(len(of.revisions), attendance.MaxRevisions)]
}

// now is the last take, as a pass that begins now knows it.
func (f *following) now() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes
}

// looked notes that the cluster's record says what the take means for it.
func (f *following) looked(key record.Cluster, take int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range f.sources {
		if of.behind[key] <= take {
			delete(of.behind, key)
		}
	}
}

// says is for the Lease.
func (f *following) says() attendance.Following {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := attendance.Following{Holder: f.holder}
	for _, source := range f.order {
		of := f.sources[source]
		one := attendance.Followed{Source: source, Revisions: slices.Clone(of.revisions)}
		for _, key := range slices.SortedFunc(maps.Keys(of.behind), func(a, b record.Cluster) int { return strings.Compare(a.String(), b.String()) }) {
			one.Behind = append(one.Behind, key.String())
		}
		out.Sources = append(out.Sources, one)
	}
	return out
}
