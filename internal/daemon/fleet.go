package daemon

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

// wanted is what the sources say of one cluster.
type wanted struct {
	// cluster is the last good definition; its Definition is nil when there has
	// been none since the start.
	cluster render.Cluster
	owner   string
	commit  string
	// newest is the commit that problems, or removed, were found in.
	newest string
	// problems are of the newest commit, and keep it from replacing cluster.
	problems []definition.Problem
	// removed: the definition is gone from its source.
	removed bool
	// missing: the newest build does not name it; it is removed, or just
	// unreadable.
	missing bool
	// otherOwner is another source that names the same cluster.
	otherOwner string
	// waits is why a newer definition is not taken yet; "" when there is none.
	waits string
	// held is why the source's newest commit is not followed, and heldBack why it
	// is not for this cluster alone; the zero value when it is.
	held, heldBack held
	// renamedFrom is a removed cluster of the same source with the same
	// spec.cluster.name.
	renamedFrom string
}

// fleet is what all sources want, by cluster. It decides nothing: it holds the
// newest good word of each source.
type fleet struct {
	mu       sync.Mutex
	bySource map[string]*sourceView
	// names are spec.cluster.name of clusters whose definition is gone, as
	// their records say.
	orphanNames map[record.Cluster]orphan
}

type orphan struct{ owner, clusterName string }

type sourceView struct {
	// built is true once a snapshot of the source was built.
	built bool
	// broken: the newest build has problems that belong to no cluster, so a
	// cluster that is missing in it may just be unreadable.
	broken   []definition.Problem
	clusters map[record.Cluster]wanted
	// missing are those of them that the newest build does not name: few, and a new
	// name is compared with each.
	missing map[record.Cluster]bool
	held    held
	// revision is of the newest build.
	revision string
}

func newFleet() *fleet {
	return &fleet{bySource: map[string]*sourceView{}, orphanNames: map[record.Cluster]orphan{}}
}

// take lays a build over what was known and returns the clusters to look at now.
func (f *fleet) take(owner, commit string, build *render.Build) []record.Cluster {
	return f.takeBut(owner, commit, build, nil)
}

// same says that a cluster is defined as before. Then the value from before is
// kept: who goes by it knows without a look that nothing changed, and of a
// thousand clusters a commit wakes those that it touches.
func same(before, now render.Cluster) bool {
	return before.Definition != nil && reflect.DeepEqual(before, now)
}

// made says that two values of a cluster are made of the same definition and the
// same other objects, by their addresses: a file that is as it was is not read again,
// so that the definition may be the same one while an object beside it is not.
func made(a, b render.Cluster) bool {
	return a.Definition == b.Definition && slices.Equal(a.Others, b.Others)
}

// touched says that more than the commit changed.
func touched(before, now wanted) bool {
	return !made(before.cluster, now.cluster) || before.owner != now.owner ||
		before.removed != now.removed || before.missing != now.missing || before.waits != now.waits ||
		before.heldBack != now.heldBack || len(before.problems) > 0 || len(now.problems) > 0
}

// behindWhy is why a cluster is left at its last good word: it waits for another
// source, or is held back.
type behindWhy struct {
	waits string
	held  held
}

// takeBut takes a build but for some clusters. Those to look at now are all that a
// source says something new of; the others come to it by themselves.
func (f *fleet) takeBut(owner, commit string, build *render.Build, but map[record.Cluster]behindWhy) []record.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.bySource[owner]
	if view == nil {
		view = &sourceView{clusters: map[record.Cluster]wanted{}, missing: map[record.Cluster]bool{}}
		f.bySource[owner] = view
	}
	view.built, view.revision = true, commit
	view.broken = build.Problems
	present, changed := map[record.Cluster]bool{}, map[record.Cluster]bool{}
	for _, cluster := range build.Clusters {
		key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
		present[key] = true
		before, known := view.clusters[key]
		now := before
		now.owner, now.removed, now.missing = owner, false, false
		now.problems, now.newest = cluster.Problems, commit
		why, left := but[key]
		now.waits, now.heldBack = why.waits, why.held
		if left && len(cluster.Problems) == 0 {
			if now.cluster.Name == "" {
				now.cluster = render.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
			}
		} else if len(cluster.Problems) == 0 {
			if now.commit = commit; !same(now.cluster, cluster) {
				now.cluster = cluster
			}
		} else if now.commit == "" {
			now.cluster = render.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
			now.commit = commit
		}
		view.clusters[key] = now
		delete(view.missing, key)
		changed[key] = !known || touched(before, now)
	}
	for key, now := range view.clusters {
		if present[key] {
			continue
		}
		before := now
		now.missing, now.newest = true, commit
		if len(build.Problems) > 0 && !now.removed {
			now.problems = build.Problems
		} else {
			now.removed, now.problems = true, nil
		}
		view.clusters[key] = now
		view.missing[key] = true
		changed[key] = touched(before, now)
	}
	return slices.DeleteFunc(f.keysLocked(), func(key record.Cluster) bool {
		again, named := changed[key]
		return named && !again
	})
}

// adopt makes known a cluster that stands in Kubernetes, recorded as owner's.
// It reports whether the cluster is worth a worker: its owner is one of the
// sources of this daemon.
func (f *fleet) adopt(key record.Cluster, owner, clusterName string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.bySource[owner]
	if view == nil || !view.built {
		return false
	}
	if clusterName != "" {
		f.orphanNames[key] = orphan{owner, clusterName}
	}
	if _, known := view.clusters[key]; !known {
		now := wanted{cluster: render.Cluster{Namespace: key.Namespace, Name: key.Name}, owner: owner, removed: len(view.broken) == 0, missing: true}
		if !now.removed {
			now.problems = view.broken
		}
		view.clusters[key] = now
		view.missing[key] = true
	}
	return true
}

// get is what is desired of one cluster; ok is false when no source names it. Of several that do, it is the one
// that lifecycle.OwnerAmong chooses.
func (f *fleet) get(key record.Cluster, recordedOwner string) (wanted, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var claimants []lifecycle.Claimant
	for owner, view := range f.bySource {
		if now, ok := view.clusters[key]; ok && !now.removed {
			d := now.cluster.Definition
			claimants = append(claimants, lifecycle.Claimant{
				Owner: owner, TakeOver: d != nil && d.Spec.Operations.Has(definition.ConsentTakeOver),
			})
		}
	}
	owner, other := lifecycle.OwnerAmong(recordedOwner, claimants)
	if owner == "" {
		for owner, view := range f.bySource {
			if now, ok := view.clusters[key]; ok && (recordedOwner == "" || owner == recordedOwner) {
				now.hold(view)
				return now, true
			}
		}
		return wanted{}, false
	}
	now := f.bySource[owner].clusters[key]
	now.hold(f.bySource[owner])
	now.otherOwner = other
	now.renamedFrom = f.renamedLocked(key, now)
	return now, true
}

// renamedLocked finds the cluster that key would be a new name of: one that is
// not named any more, though it be for an error in another file.
func (f *fleet) renamedLocked(key record.Cluster, now wanted) string {
	if now.cluster.Definition == nil {
		return ""
	}
	name := now.cluster.Definition.Spec.Cluster.Name
	var found []string
	view := f.bySource[now.owner]
	for other := range view.missing {
		if other == key {
			continue
		}
		was := view.clusters[other]
		oldName := f.orphanNames[other].clusterName
		if was.cluster.Definition != nil {
			oldName = was.cluster.Definition.Spec.Cluster.Name
		}
		if oldName == name {
			found = append(found, other.String())
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// gone says whether the source, all of which could be read, names the cluster no
// more; left is how many it names.
func (f *fleet) gone(owner string, key record.Cluster) (gone bool, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.bySource[owner]
	if view == nil || !view.built || len(view.broken) > 0 {
		return false, 0
	}
	for _, now := range view.clusters {
		if !now.removed {
			left++
		}
	}
	now, known := view.clusters[key]
	return !known || now.removed, left
}

// forget drops a cluster that was deleted: its name is free.
func (f *fleet) forget(owner string, key record.Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.orphanNames, key)
	if view := f.bySource[owner]; view != nil && view.clusters[key].removed {
		delete(view.clusters, key)
		delete(view.missing, key)
	}
}

// problems are those of every source that belong to no single cluster.
func (f *fleet) problems() []definition.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []definition.Problem
	for _, view := range f.bySource {
		all = append(all, view.broken...)
	}
	return all
}

// ready reports whether each of n sources has been built once.
func (f *fleet) ready(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	built := 0
	for _, view := range f.bySource {
		if view.built {
			built++
		}
	}
	return built == n
}

func (f *fleet) keys() []record.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keysLocked()
}

func (f *fleet) keysLocked() []record.Cluster {
	seen := map[record.Cluster]bool{}
	var keys []record.Cluster
	for _, view := range f.bySource {
		for key := range view.clusters {
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b record.Cluster) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}
