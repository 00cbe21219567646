package cratedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	cratemodel "stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// hang makes a repository answer no more: in the place of the list of its snapshots is a
// pipe that nobody writes to. What it returns makes it answer again.
func hang(t *testing.T, c *testcluster.Cluster, repository string) (again func()) {
	t.Helper()
	if !c.Real {
		c.Hub.Do(func(m *cratemodel.Model) { m.RepositoryHangs(repository, true) })
		return func() { c.Hub.Do(func(m *cratemodel.Model) { m.RepositoryHangs(repository, false) }) }
	}
	folder := filepath.Join(c.Repositories(), repository)
	kept := filepath.Join(folder, "kept")
	lists, err := filepath.Glob(filepath.Join(folder, "index-*"))
	require.NoError(t, err)
	require.Len(t, lists, 1)
	content, err := os.ReadFile(lists[0])
	require.NoError(t, err)
	require.NoError(t, os.Rename(lists[0], kept))
	require.NoError(t, syscall.Mkfifo(lists[0], 0o666))
	require.NoError(t, os.Chmod(lists[0], 0o666))
	return func() {
		pipe := filepath.Join(folder, "pipe")
		require.NoError(t, os.Rename(lists[0], pipe))
		require.NoError(t, os.Rename(kept, lists[0]))
		// Each reader that waits gets the list once, until nobody waits any more.
		require.Eventually(t, func() bool {
			to, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				return true
			}
			_, err = to.Write(content)
			return errors.Join(err, to.Close()) != nil
		}, patience, 50*time.Millisecond)
	}
}

// Finding 3: while a repository does not answer, each reading left one more statement
// behind in CrateDB, which nothing ends.
func TestARepositoryThatDoesNotAnswerIsNamedAndAskedOnce(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			client := Client{Dialer: c, Listings: &Listings{}, Timeout: patience, WriteTimeout: patience}
			read := func(client Client) model.Database {
				begin := time.Now()
				db := client.Observe(t.Context(), Target{Password: password, Detailed: true, Pods: []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}}})
				require.Equal(t, model.Yes, db.Contact, db.Error)
				assert.Less(t, time.Since(begin), patience/2, "nothing else waits for it long: a statement may take the whole of it")
				assert.True(t, db.TablesKnown)
				assert.Equal(t, model.Green, db.Health.Colour)
				return db
			}
			outstanding := func() any {
				return c.Rows("SELECT count(*) FROM sys.jobs WHERE stmt = ?", snapshotsQuery)[0][0]
			}
			c.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)")
			c.Settled()
			var db model.Database
			known := func(why string) {
				t.Helper()
				// A reading waits 2 s for a listing, and a later one has what it said.
				require.Eventually(t, func() bool { db = read(client); return db.SnapshotsKnown }, patience, 50*time.Millisecond, why)
			}
			known("no repository, no snapshot")

			c.Run("CREATE REPOSITORY nightly TYPE fs WITH (location = 'nightly')", "CREATE SNAPSHOT nightly.one ALL WITH (wait_for_completion = true)")
			known("a repository that answers")
			assert.Zero(t, db.Snapshots)

			again := hang(t, c, "nightly")
			for range 3 {
				db = read(client)
				if db.SnapshotsKnown {
					continue // what an earlier listing said still holds
				}
			}
			client.Listings = &Listings{} // an earlier answer is forgotten, as by a new process
			for range 3 {
				db = read(client)
				assert.False(t, db.SnapshotsKnown)
				assert.Contains(t, db.Why(model.PartSnapshots), "repository nightly does not answer")
			}
			assert.Equal(t, float64(1), outstanding(), "one listing, however often it is read")
			client.Listings = &Listings{}
			for range 3 {
				db = read(client)
				assert.Contains(t, db.Why(model.PartSnapshots), "repository nightly does not answer")
			}
			db = read(Client{Dialer: c, Timeout: patience, WriteTimeout: patience})
			assert.False(t, db.SnapshotsKnown)
			assert.Equal(t, float64(1), outstanding(), "a new process finds it")

			again()
			require.Eventually(t, func() bool { return outstanding() == float64(0) }, patience, 100*time.Millisecond)
			known("it answers again")

			// What a person does where it never comes back, as the gate says.
			again = hang(t, c, "nightly")
			defer again()
			client.Listings = &Listings{}
			assert.False(t, read(client).SnapshotsKnown)
			c.Run("DROP REPOSITORY nightly")
			known("without a repository there is no snapshot")
		})
	}
}

// A slow listing is waited for beside the readings, and what it says holds for as long as a
// reading may be old.
func TestAListingIsBegunOnceAndItsAnswerHoldsForAWhile(t *testing.T) {
	l := &Listings{}
	release := make(chan struct{})
	begun := 0
	two := []model.ListedSnapshot{{Name: "a"}, {Name: "b"}}
	slow := func(ctx context.Context) ([]model.ListedSnapshot, error) { begun++; <-release; return two, nil }
	short, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		_, _, err := l.ask(short, noListing, slow)
		require.ErrorIs(t, err, errListing)
	}
	begunOnce := l.running
	close(release)
	<-begunOnce.done
	assert.Equal(t, 1, begun)
	rows, _, err := l.ask(t.Context(), oneListing, slow)
	require.NoError(t, err)
	assert.Equal(t, two, rows, "a listing that has ended is the answer")

	l.last.began = l.last.began.Add(-listingValid)
	_, _, err = l.ask(short, oneListing, slow)
	require.ErrorIs(t, err, errListing, "what it said is too old, and one of an earlier process runs")

	now := l.last.ended
	assert.False(t, l.due(now.Add(time.Second)), "it took long: the next one begins as much later")
	assert.True(t, l.due(now.Add(3*time.Minute)))
	l.failed, l.last.began = 3, now
	assert.False(t, l.due(now.Add(19*time.Second)), "each pause after a failure is twice the one before")
	assert.True(t, l.due(now.Add(21*time.Second)))
	l.failed = 40
	assert.True(t, l.due(now.Add(lastPause)), "and no longer than the longest")
}

// With stats.enabled = false sys.jobs says nothing of a listing whose client is gone: each further one could hold a
// thread of the master for good.
func TestWhereCrateDBDoesNotSayWhatRunsNoListingFollowsOneThatHadNoAnswer(t *testing.T) {
	begun := 0
	ends := func(with error) func(context.Context) ([]model.ListedSnapshot, error) {
		return func(context.Context) ([]model.ListedSnapshot, error) { begun++; return nil, with }
	}
	rejected := fmt.Errorf("%w: repository nightly is missing", execute.ErrRejected)
	for name, c := range map[string]struct {
		before earlier
		first  error
		again  bool
	}{
		"it had no answer":                            {notSaid, context.DeadlineExceeded, false},
		"it had no answer, and sys.jobs is kept":      {noListing, context.DeadlineExceeded, true},
		"CrateDB has rejected it":                     {notSaid, rejected, true},
		"it was answered":                             {notSaid, nil, true},
		"it had no answer, and CrateDB still runs it": {oneListing, context.DeadlineExceeded, false},
	} {
		for _, ask := range []struct {
			name string
			run  func(ctx context.Context, l *Listings, before earlier, list func(context.Context) ([]model.ListedSnapshot, error)) error
		}{
			{"in a reading", func(ctx context.Context, l *Listings, before earlier, list func(context.Context) ([]model.ListedSnapshot, error)) error {
				_, _, err := l.ask(ctx, before, list)
				return err
			}},
			{"before a write", func(ctx context.Context, l *Listings, before earlier, list func(context.Context) ([]model.ListedSnapshot, error)) error {
				_, err := l.anew(ctx, before, list)
				return err
			}},
		} {
			t.Run(name+", "+ask.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := &Listings{}
					begun = 0
					_ = ask.run(t.Context(), l, noListing, ends(c.first))
					require.Equal(t, 1, begun, "the first one may begin")
					time.Sleep(time.Hour) // of synctest
					err := ask.run(t.Context(), l, c.before, ends(nil))
					if c.again {
						assert.Equal(t, 2, begun)
						return
					}
					assert.Equal(t, 1, begun)
					require.ErrorIs(t, err, errListing)
					if c.before == notSaid {
						require.ErrorIs(t, err, execute.ErrJobsHidden)
						assert.Contains(t, err.Error(), `SET GLOBAL PERSISTENT "stats.enabled" = TRUE`)
					}
				})
			})
		}
	}
}
