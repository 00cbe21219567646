package cratedb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// CrateDB lists the snapshots of all repositories whatever is asked of them, those in
// progress last, from the cluster state as it was when the statement began. A repository
// that does not answer (a dead mount, a bucket behind a firewall) holds the statement for
// ever: neither statement_timeout nor KILL ends it, and the thread that it has taken comes
// back with the repository (run on 6.3.7 and 6.4.3). So there is never more than one listing
// of ours in a cluster: sys.jobs says of one, also of an earlier process, whether it still
// runs, and before it has ended none is begun.
const (
	snapshotsQuery = `SELECT repository, name, state, CAST(finished AS BIGINT), tables, failures FROM sys.snapshots`
	// Without a repository there is no snapshot: CrateDB drops none while it is in use.
	repositoriesQuery = `SELECT name FROM sys.repositories`
	// Of all nodes; its own row is among them.
	snapshotJobsQuery = `SELECT stmt FROM sys.jobs WHERE lower(stmt) LIKE '%snapshot%'`
)

const (
	// listingWait is how long a reading waits for a listing, listingLimit how long the
	// listing itself is waited for beside the readings that follow.
	listingWait  = 2 * time.Second
	listingLimit = 10 * time.Minute
	// listingValid is how long what a listing has said holds, from when it began: as long
	// as a reading may be old (model.DefaultReadingAge).
	listingValid = model.DefaultReadingAge
	// firstPause is how long after a listing that has failed the next one begins; each
	// pause is twice the one before, up to lastPause.
	firstPause = 5 * time.Second
	lastPause  = 5 * time.Minute
)

// Listings keeps the listing of a cluster's snapshots that is under way from one reading to
// the next, so that a slow one holds up nothing else. Its zero value is ready. Not to be
// copied.
type Listings struct {
	mu      sync.Mutex
	running *snapshotListing
	last    *snapshotListing
	// failed counts the listings that have failed since one has not. unanswered: CrateDB has answered the last one
	// in no way, so it may still work on it.
	failed     int
	unanswered bool
}

// earlier is what sys.jobs says of a listing that CrateDB works on for a client that is gone.
type earlier uint8

const (
	noListing earlier = iota
	// oneListing: CrateDB still works on it.
	oneListing
	// notSaid: sys.jobs has no row at all (execute.ErrJobsHidden).
	notSaid
)

func earlierListing(jobs [][]string) earlier {
	switch {
	case slices.ContainsFunc(jobs, func(r []string) bool { return r[0] == snapshotsQuery }):
		return oneListing
	case !execute.JobsShown(jobs, snapshotJobsQuery):
		return notSaid
	}
	return noListing
}

// outstanding is an error where no listing may begin, because CrateDB works on an earlier one, or may do so. Where
// sys.jobs says nothing one listing of this process may begin: only once that has had no answer nobody knows
// whether it has ended.
func (l *Listings) outstanding(before earlier) error {
	switch {
	case before == oneListing:
		return fmt.Errorf("%w, and its client is gone", errListing)
	case before == notSaid && l.unanswered:
		return fmt.Errorf("%w before its client was gone, and whether it has since is not known: %w", errListing, execute.ErrJobsHidden)
	}
	return nil
}

// snapshotListing is one statement over sys.snapshots, in a session of its own.
type snapshotListing struct {
	began, ended time.Time
	done         chan struct{}
	rows         []model.ListedSnapshot
	err          error
}

// errListing is a listing that has not ended.
var errListing = errors.New("the listing has not ended")

// readSnapshots counts the snapshots in progress, and with listing reads what is known of each.
func (c Client) readSnapshots(ctx context.Context, p *asked, password string, db *model.Database, listing bool) {
	repositories, ok := p.ask(ctx, db, model.PartRepositories, repositoriesQuery)
	if db.RepositoriesKnown = ok; ok {
		for _, r := range repositories {
			db.Repositories = append(db.Repositories, r[0])
		}
	}
	if ok && len(repositories) == 0 {
		db.SnapshotsKnown, db.Listed = true, db.At
		return
	}
	jobs, ok := p.ask(ctx, db, model.PartJobs, snapshotJobsQuery)
	if !ok {
		return
	}
	for _, r := range jobs {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(r[0])), "create snapshot") {
			// Somebody waits for it: no listing has to say so.
			db.SnapshotsKnown = true
			db.Snapshots++
		}
	}
	if db.SnapshotsKnown && !listing {
		return
	}
	listings := c.Listings
	if listings == nil {
		listings = &Listings{}
	}
	rows, began, err := listings.ask(ctx, earlierListing(jobs), func(ctx context.Context) ([]model.ListedSnapshot, error) { return c.list(ctx, p.session.pod, password) })
	if err == nil {
		db.SnapshotsKnown, db.Snapshots, db.Listing, db.Listed = true, 0, rows, began
		for _, s := range rows {
			if s.State == model.SnapshotInProgress {
				db.Snapshots++
			}
		}
		return
	}
	part := model.UnreadPart{Part: model.PartSnapshots, Why: err.Error()}
	if errors.Is(err, errListing) {
		part.Slow, part.Why = true, silentRepositories(repositories)+": "+part.Why
	}
	db.Unread = append(db.Unread, part)
}

// silentRepositories names who holds a listing up: CrateDB does not say which one it is.
func silentRepositories(rows [][]string) string {
	var all []string
	for _, r := range rows {
		all = append(all, r[0])
	}
	if len(all) == 1 {
		return "repository " + all[0] + " does not answer"
	}
	return "one of the repositories " + strings.Join(all, ", ") + " does not answer"
}

// list asks in a session of its own. It has no statement_timeout: the statement would go on,
// and be in sys.jobs no more.
func (c Client) list(ctx context.Context, pod, password string) ([]model.ListedSnapshot, error) {
	s, err := c.connect(ctx, pod, names.SystemUser, password, 0)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.timeout = listingLimit
	rows, err := s.Strings(ctx, snapshotsQuery)
	if err != nil {
		return nil, err
	}
	var out []model.ListedSnapshot
	for _, r := range rows {
		out = append(out, listedSnapshot(r, s.hidden...))
	}
	return out, nil
}

// listedSnapshot is a row of sys.snapshots. Its failures are what an object store has said.
func listedSnapshot(r []string, secrets ...string) model.ListedSnapshot {
	tables, failures := arrayOf(r[4]), arrayOf(r[5])
	listed := model.ListedSnapshot{Repository: r[0], Name: r[1], State: r[2], Tables: len(tables), Names: tables}
	if ms := number(r[3]); ms > 0 {
		listed.Finished = time.UnixMilli(ms).UTC()
	}
	listed.Failures = said(strings.Join(failures[:min(len(failures), maxFailures)], "; "), secrets...)
	return listed
}

// maxFailures of a snapshot are told.
const maxFailures = 3

// arrayOf is an array of texts as a session prints it.
func arrayOf(text string) []string {
	var out []string
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// ask returns what a listing says that is not too old. Outstanding: one of ours runs in the
// cluster, of this process or of an earlier one.
func (l *Listings) ask(ctx context.Context, before earlier, list func(context.Context) ([]model.ListedSnapshot, error)) (rows []model.ListedSnapshot, began time.Time, err error) {
	l.mu.Lock()
	outstanding := l.outstanding(before)
	if l.running == nil && outstanding == nil && l.due(time.Now()) {
		l.running = &snapshotListing{began: time.Now(), done: make(chan struct{})}
		go l.run(l.running, list)
	}
	running := l.running
	l.mu.Unlock()
	if running != nil {
		waited := time.NewTimer(listingWait)
		defer waited.Stop()
		select {
		case <-running.done:
		case <-waited.C:
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch last := l.last; {
	case last != nil && last.err == nil && time.Since(last.began) < listingValid:
		return last.rows, last.began, nil
	case l.running != nil:
		return nil, time.Time{}, fmt.Errorf("%w since %s", errListing, l.running.began.UTC().Format("15:04:05 UTC"))
	case outstanding != nil:
		return nil, time.Time{}, outstanding
	case last != nil && last.err != nil:
		return nil, time.Time{}, last.err
	case last != nil:
		return nil, time.Time{}, fmt.Errorf("%w within %s: it took %s", errListing, listingValid, last.ended.Sub(last.began).Round(time.Second))
	}
	return nil, time.Time{}, errListing
}

var _ execute.Snapshots = Client{}

// List lists the snapshots as they are after it was called. With a listing under way it waits for that
// one to end first, for as long as for a statement.
func (c Client) List(ctx context.Context, pod, password string) ([]model.ListedSnapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, c.writeTimeout())
	defer cancel()
	s, err := c.connect(ctx, pod, names.SystemUser, password, c.writeTimeout())
	if err != nil {
		return nil, err
	}
	jobs, err := s.Strings(ctx, snapshotJobsQuery)
	s.Close()
	if err != nil {
		return nil, fmt.Errorf("reading sys.jobs: %w", err)
	}
	listings := c.Listings
	if listings == nil {
		listings = &Listings{}
	}
	return listings.anew(ctx, earlierListing(jobs), func(ctx context.Context) ([]model.ListedSnapshot, error) { return c.list(ctx, pod, password) })
}

// anew returns what a listing says that begins now. Before: see ask.
func (l *Listings) anew(ctx context.Context, before earlier, list func(context.Context) ([]model.ListedSnapshot, error)) ([]model.ListedSnapshot, error) {
	for {
		l.mu.Lock()
		underWay, outstanding := l.running, l.outstanding(before)
		switch {
		case underWay != nil:
			before = noListing // that is the one
		case outstanding != nil:
			l.mu.Unlock()
			return nil, outstanding
		default:
			l.running = &snapshotListing{began: time.Now(), done: make(chan struct{})}
			go l.run(l.running, list)
		}
		running := l.running
		l.mu.Unlock()
		select {
		case <-running.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w since %s", errListing, running.began.UTC().Format("15:04:05 UTC"))
		}
		if underWay == nil {
			return running.rows, running.err
		}
	}
}

// due says whether the next listing may begin. A fast one is asked at each reading; after
// a slow one as much time passes as it took, after a failure more and more.
func (l *Listings) due(now time.Time) bool {
	if l.last == nil {
		return true
	}
	pause := l.last.ended.Sub(l.last.began)
	if pause < listingWait {
		pause = 0
	}
	if l.failed > 0 {
		pause = min(firstPause<<min(l.failed-1, 10), lastPause)
	}
	return now.Sub(l.last.ended) >= pause
}

// run carries a listing out, whatever becomes of the reading that has begun it.
func (l *Listings) run(now *snapshotListing, list func(context.Context) ([]model.ListedSnapshot, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), listingLimit)
	defer cancel()
	now.rows, now.err = list(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	now.ended = time.Now()
	l.unanswered = now.err != nil && !errors.Is(now.err, execute.ErrRejected)
	if now.err != nil {
		l.failed++
	} else {
		l.failed = 0
	}
	l.running, l.last = nil, now
	close(now.done)
}
