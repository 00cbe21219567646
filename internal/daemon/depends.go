package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
)

// dependsOn is the name under which a cluster waits for another source.
const dependsOn = "depends-on"

// pendingBuild is what a source wants once those before it are done.
type pendingBuild struct {
	source Source
	commit string
	build  *render.Build
}

// admit takes a build, or holds back what changes with it while the sources that
// its source depends on are not done. What has not changed since it was last
// taken up is not held back: after a restart it is looked after at once.
func (d *daemon) admit(ctx context.Context, source Source, commit string, build *render.Build) {
	d.admitting.Lock()
	defer d.admitting.Unlock()
	d.admitLocked(ctx, pendingBuild{source: source, commit: commit, build: build})
}

func (d *daemon) admitLocked(ctx context.Context, p pendingBuild) {
	owner := p.source.Identity()
	but, waiting := d.rewritten(ctx, p), 0
	if but == nil {
		but = map[record.Cluster]behindWhy{}
	}
	if why := d.unready(p.source, p.commit); why != "" {
		for _, cluster := range p.build.Clusters {
			key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
			if _, held := but[key]; !held && len(cluster.Problems) == 0 && !d.unchanged(ctx, cluster) {
				but[key] = behindWhy{waits: "the newest definition waits for the sources before it (dependsOn): " + why}
				waiting++
			}
		}
	}
	if waiting > 0 {
		d.pending[owner] = p
		d.options.Log.Info("the source waits for those that it depends on", "source", owner, "commit", p.commit, "clusters", waiting)
	} else {
		delete(d.pending, owner)
	}
	keys := d.fleet.takeBut(owner, p.commit, p.build, but)
	if d.statuses.on() {
		// Each says what became of the commit, also where it changes nothing.
		keys = d.fleet.keys()
	}
	d.following.took(owner, p.commit, keys)
	d.employ(keys)
}

// proceed admits what waits once it may, whenever something has settled.
func (d *daemon) proceed(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.settledOne:
		}
		d.admitting.Lock()
		for _, p := range d.pending {
			if d.unready(p.source, p.commit) == "" {
				d.options.Log.Info("the sources before it are done, the source goes on", "source", p.source.Identity(), "commit", p.commit)
				d.admitLocked(ctx, p)
			}
		}
		d.admitting.Unlock()
	}
}

// noteSettled wakes proceed; it must not block.
func (d *daemon) noteSettled() {
	select {
	case d.settledOne <- struct{}{}:
	default:
	}
}

// unready says which of the sources before is not done; "" when all are. The
// words stay the same while its clusters settle one after the other.
func (d *daemon) unready(source Source, commit string) string {
	for _, owner := range source.DependsOn {
		view := d.fleet.standing(owner)
		switch {
		case !view.built:
			return owner + " has not been read yet"
		case behind(owner, view.revision, source.Identity(), commit):
			// Both are of one repository: the other must have seen the same commit.
			for _, other := range d.options.Sources {
				if w, ok := other.Source.(wakeable); ok && (other.Identity() == owner || other.Identity() == source.Identity()) {
					w.Wake()
				}
			}
			return owner + " has not read the same commit yet"
		case view.problems:
			return owner + " has problems"
		}
		d.mu.Lock()
		done := !slices.ContainsFunc(view.clusters, func(key record.Cluster) bool { return d.outcome[key] != outcomeDone })
		d.mu.Unlock()
		if !done {
			return "a cluster of " + owner + " is not yet as its definition says"
		}
	}
	return ""
}

// behind says that two sources of one repository and reference stand at
// different commits.
func behind(owner, ownerRevision, other, otherRevision string) bool {
	repository := func(identity string) string {
		scheme, rest, found := strings.Cut(identity, "://")
		if !found {
			scheme, rest = "", identity
		}
		rest, _, _ = strings.Cut(rest, "//")
		return scheme + rest
	}
	label := func(revision string) string { before, _, _ := strings.Cut(revision, "@sha1:"); return before }
	return strings.Contains(ownerRevision, "@sha1:") && repository(owner) == repository(other) &&
		label(ownerRevision) == label(otherRevision) && ownerRevision != otherRevision
}

// standing is what a source before wants.
type standing struct {
	built, problems bool
	revision        string
	clusters        []record.Cluster
}

func (f *fleet) standing(owner string) standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.bySource[owner]
	if view == nil {
		return standing{}
	}
	out := standing{built: view.built, problems: len(view.broken) > 0 || view.held != held{}, revision: view.revision}
	for key, now := range view.clusters {
		if !now.removed {
			out.clusters = append(out.clusters, key)
		}
	}
	return out
}

// unchanged says that a definition is the one that was taken up before, by its
// record. What cannot be read is not known to be.
func (d *daemon) unchanged(ctx context.Context, cluster render.Cluster) bool {
	key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
	rec, err := d.recordOf(ctx, key)
	if err != nil || rec.Revision == "" {
		return false
	}
	rendered, problems, err := d.options.render(ctx, cluster, render.Pins(rec.Pins))
	return err == nil && len(problems) == 0 && rendered.Revision == rec.Revision
}

// waitingFor is what was decided for the definition before, and that a newer one
// waits.
func waitingFor(decision model.Decision, want wanted) model.Decision {
	if want.waits == "" {
		return decision
	}
	if decision.Verdict == model.Done {
		decision.Verdict = model.Wait
	}
	decision.Waits = append(slices.Clone(decision.Waits), model.Reason{Name: dependsOn, Message: want.waits})
	return decision
}

// checkDependencies refuses what would wait for itself.
func checkDependencies(all []Source) error {
	byOwner := map[string]Source{}
	for _, source := range all {
		if _, twice := byOwner[source.Identity()]; twice {
			return fmt.Errorf("the source %s is given twice: a cluster has one owner", source.Identity())
		}
		byOwner[source.Identity()] = source
	}
	var visit func(owner string, way []string) error
	visit = func(owner string, way []string) error {
		if slices.Contains(way, owner) {
			return fmt.Errorf("sources wait for each other: %s", strings.Join(append(way, owner), " → "))
		}
		for _, next := range byOwner[owner].DependsOn {
			if _, known := byOwner[next]; !known {
				return fmt.Errorf("the source %s depends on %s, which is not followed", owner, next)
			}
			if err := visit(next, append(slices.Clone(way), owner)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, source := range all {
		if err := visit(source.Identity(), nil); err != nil {
			return err
		}
	}
	return nil
}
