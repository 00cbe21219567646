package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/sources"
)

// held is why a source does not follow its reference; the zero value when it does.
type held struct{ reason, message string }

// heldBy picks the errors that a person has to answer: until then the clusters
// stay as they were, and who pushed must learn it. What corrects itself (a host
// that is down) is in the log and the metrics only.
func heldBy(err error) held {
	reason := sources.ReasonOf(err)
	switch reason {
	case sources.HistoryRewritten, sources.RefDeleted:
		return held{reason: string(reason), message: err.Error()}
	case sources.PathNotFound:
		// A folder on this machine may come back by itself; in a commit it is gone.
		if e, ok := errors.AsType[*sources.Error](err); ok && e.Commit != "" {
			return held{reason: string(reason), message: err.Error()}
		}
	}
	return held{}
}

// hold notes why a source stays behind and returns the clusters to tell it to:
// none when nothing changed.
func (f *fleet) hold(owner string, why held) []record.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.bySource[owner]
	if view == nil || view.held == why {
		return nil
	}
	view.held = why
	var keys []record.Cluster
	for key := range view.clusters {
		keys = append(keys, key)
	}
	return keys
}

// hold says why a cluster is held: for its own reason or its source's.
func (w *wanted) hold(view *sourceView) {
	if w.held = view.held; w.held == (held{}) {
		w.held = w.heldBack
	}
}

// historian is a source that knows the history of what it gave.
type historian interface {
	Lacks(ctx context.Context, commits []string) ([]string, error)
}

// rewritten finds what a history that was rewritten would change, by the records:
// the mirror that remembers what was followed may be another pod's, or gone. It
// is asked for the first build of a term, and from then on while it holds
// something; all others are the mirror's to hold.
func (d *daemon) rewritten(ctx context.Context, p pendingBuild) map[record.Cluster]behindWhy {
	source, ok := p.source.Source.(historian)
	owner := p.source.Identity()
	if !ok || d.historyKnown[owner] {
		return nil
	}
	label, _, _ := strings.Cut(p.commit, "@sha1:")
	last := map[record.Cluster]string{}
	var commits []string
	for _, cluster := range p.build.Clusters {
		key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
		rec, err := d.recordOf(ctx, key)
		before, commit, found := strings.Cut(rec.Commit, "@sha1:")
		if err != nil || rec.Owner != owner || !found || before != label || len(commit) != 40 {
			continue
		}
		last[key] = commit
		commits = append(commits, commit)
	}
	slices.Sort(commits)
	lacks, err := source.Lacks(ctx, slices.Compact(commits))
	if err != nil {
		d.options.Log.Warn("whether history was rewritten is not known, it is followed", "source", owner, "error", err)
		return nil
	}
	back := map[record.Cluster]behindWhy{}
	for _, cluster := range p.build.Clusters {
		key := record.Cluster{Namespace: cluster.Namespace, Name: cluster.Name}
		if commit := last[key]; commit != "" && slices.Contains(lacks, commit) && !d.unchanged(ctx, cluster) {
			back[key] = behindWhy{held: held{reason: string(sources.HistoryRewritten), message: fmt.Sprintf("following %s: %s was rewritten: its history does not have the commit %s "+
				"any more, by which this cluster was last changed; push that again, or go on with a commit that has both: git merge -s ours %s; --on-rewrite=follow goes along with every rewrite",
				owner, label, commit[:12], commit)}}
		}
	}
	if len(back) > 0 {
		d.options.Log.Warn("history was rewritten, what it would change is held", "source", owner, "reason", string(sources.HistoryRewritten), "commit", p.commit, "clusters", len(back))
	}
	d.historyKnown[owner] = len(back) == 0
	return back
}

func (d *daemon) recordOf(ctx context.Context, key record.Cluster) (model.Record, error) {
	var rec model.Record
	if err := d.live.EnsureNamespace(ctx, key.Namespace); err != nil {
		return rec, err
	}
	_, err := d.store.Load(ctx, key, record.Operation, &rec)
	return rec, err
}

// heldSource reports it, once a cluster and reason. The id is made of what is
// told, so that a kill before the record is saved tells no other report.
func heldSource(key record.Cluster, before model.Shown, want wanted) []model.Report {
	if want.held.reason == "" || slices.Contains(before.Problems, want.held.message) {
		return nil
	}
	sum := sha256.Sum256([]byte(key.String() + "\x00" + want.commit + "\x00" + want.held.message))
	return []model.Report{{
		ID: "held-" + hex.EncodeToString(sum[:12]), Event: model.EventFeedback, Status: model.StatusFailure,
		Operation: "update", Action: "unknown", Commit: want.commit, Reason: reports.EventReason(want.held.reason), Warning: true,
		Message: "the source is not followed, the cluster stays as it was: " + want.held.message,
		Names:   []string{want.held.reason},
	}}
}
