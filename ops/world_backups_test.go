package ops_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// toyBackups are CrateDB's repositories and what is in them.
type toyBackups struct {
	repositories map[string]*toyRepository
	// takes is for how many looks a snapshot runs; endsAs is how it ends, "" for SUCCESS.
	takes  int
	endsAs string
	// closed are tables of which no snapshot can be taken.
	closed []string
	// silent: sys.snapshots shows nothing of any repository; mute: it does not end at all.
	silent, mute bool
	// unshown: no reading shows that a snapshot runs.
	unshown bool
	// unseen looks show no repository.
	unseen int
	// blobs are the BLOB tables.
	blobs []string
	// looksAway: the list lacks what runs.
	looksAway bool
	// red: a table has lost a shard.
	red bool
	// listings counts the looks at sys.snapshots, created the CREATE REPOSITORY and ALTER REPOSITORY.
	listings int
	created  []string
	// secretsSeen are the bound values of those.
	secretsSeen []string
	broken      error
}

type toyRepository struct{ snapshots []*toySnapshot }

type toySnapshot struct {
	name, state, what string
	finished          time.Time
	looks             int
	// operations are what its tables have.
	operations map[string]int64
}

func (w *world) repository(name string) *toyRepository { return w.repositories[name] }

// seeBackups lets time pass for snapshots, and shows what a reading asks for.
func (w *world) seeBackups(db *model.Database) {
	for _, r := range w.repositories {
		for _, s := range r.snapshots {
			if s.state != model.SnapshotInProgress {
				continue
			}
			if s.looks--; s.looks <= 0 {
				s.state, s.finished = model.SnapshotSuccess, w.now
				if w.endsAs != "" {
					s.state = w.endsAs
				}
			} else if !w.unshown && !w.looksAway {
				db.Snapshots++
			}
		}
	}
	w.seeRestore(db)
	if w.red {
		db.Health.Colour = model.Red
	}
	if db.Contact != model.Yes {
		return
	}
	if db.RepositoriesKnown = w.unseen == 0; db.RepositoriesKnown {
		for name := range w.repositories {
			db.Repositories = append(db.Repositories, name)
		}
	} else {
		w.unseen--
		db.RepositoriesKnown = true // a node that is behind shows none
	}
	if backup.NeedsTables(&w.desired, &w.record) {
		db.UnreadableKnown, db.Readable, db.Blobs = true, []string{"doc.one", "doc.two"}, w.blobs
		for _, name := range w.closed {
			db.Unreadable = append(db.Unreadable, model.UnreadableTable{Name: name, Why: "closed"})
			db.Readable = slices.DeleteFunc(db.Readable, func(r string) bool { return r == name })
		}
	}
	if !backup.NeedsListing(&w.desired, &w.record, w.now) || w.mute {
		return
	}
	w.listings++
	db.Listed = w.now
	db.Listing = w.listed()
}

var (
	repositoryStatement = regexp.MustCompile(`^(CREATE|ALTER|DROP) REPOSITORY "(\w+)"`)
	createdSnapshot     = regexp.MustCompile(`^CREATE SNAPSHOT "(\w+)"\."([a-z0-9-]+)" (.*) WITH \(wait_for_completion = false\)$`)
	droppedSnapshot     = regexp.MustCompile(`^DROP SNAPSHOT "(\w+)"\."([a-z0-9-]+)"$`)
)

func (w *world) execBackup(statement string, arguments []any) (bool, error) {
	if done, err := w.execRestore(statement); done {
		return true, err
	}
	if m := repositoryStatement.FindStringSubmatch(statement); m != nil {
		return true, w.changeRepository(m[1], m[2], statement, arguments)
	}
	if m := createdSnapshot.FindStringSubmatch(statement); m != nil {
		r := w.repository(m[1])
		require.NotNil(w.t, r, "a snapshot goes to a repository that is there")
		if slices.ContainsFunc(r.snapshots, func(s *toySnapshot) bool { return s.name == m[2] }) {
			return true, fmt.Errorf("%w: snapshot with the same name already exists", execute.ErrSnapshotExists)
		}
		if len(w.closed) > 0 && m[3] == "ALL" {
			return true, fmt.Errorf("%w: the relation doc.one is closed", execute.ErrRejected)
		}
		require.False(w.t, w.anyAway(), "no snapshot begins while a node is away")
		require.Equal(w.t, "all", w.allocation(), "no snapshot begins under the allocation lock")
		versions := map[string]bool{}
		for _, p := range w.pods {
			versions[w.versionOf(p.template)] = true
		}
		require.Len(w.t, versions, 1, "no snapshot begins in mixed versions")
		require.NotNil(w.t, w.record.Backups.Running, "the intent is recorded before the statement")
		require.Equal(w.t, m[2], w.record.Backups.Running.Name)
		w.write(func() {
			r.snapshots = append(r.snapshots, &toySnapshot{name: m[2], state: model.SnapshotInProgress, what: m[3], looks: max(w.takes, 1), operations: maps.Clone(w.operations)})
		})
		return true, nil
	}
	if m := droppedSnapshot.FindStringSubmatch(statement); m != nil {
		r := w.repository(m[1])
		left := 0
		good := false
		for _, s := range r.snapshots {
			if s.state != model.SnapshotSuccess {
				continue
			}
			if good = good || s.name == m[2]; s.name != m[2] {
				left++
			}
		}
		require.True(w.t, !good || left >= w.desired.Backups.KeepAtLeast, "no drop leaves fewer than keepAtLeast")
		require.Positive(w.t, left, "the newest that succeeded stays")
		w.write(func() {
			r.snapshots = slices.DeleteFunc(r.snapshots, func(s *toySnapshot) bool { return s.name == m[2] })
		})
		return true, nil
	}
	return false, nil
}

func (w *world) changeRepository(verb, name, statement string, arguments []any) error {
	if w.broken != nil {
		return w.broken
	}
	r := w.repository(name)
	if name == w.fetching {
		return errors.New("trying to modify or unregister repository that is currently used")
	}
	if r != nil && slices.ContainsFunc(r.snapshots, func(s *toySnapshot) bool { return s.state == model.SnapshotInProgress }) {
		return errors.New("trying to modify or unregister repository that is currently used")
	}
	w.write(func() {
		if w.repositories == nil {
			w.repositories = map[string]*toyRepository{}
		}
		switch {
		case verb == "CREATE" && r == nil:
			w.repositories[name] = &toyRepository{}
			for folder, content := range w.folders {
				if strings.Contains(statement, "'"+folder+"'") {
					w.repositories[name] = content
				}
			}
		case verb == "DROP" && strings.HasPrefix(name, "stevedore_from_"):
			delete(w.repositories, name)
		case verb == "DROP":
			// What is in it stays, and is there again when it is created.
			w.repositories[name+" dropped"] = r
			delete(w.repositories, name)
		}
		if kept := w.repositories[name+" dropped"]; verb == "CREATE" && kept != nil {
			w.repositories[name] = kept
			delete(w.repositories, name+" dropped")
		}
		w.created = append(w.created, statement)
		for _, a := range arguments {
			w.secretsSeen = append(w.secretsSeen, fmt.Sprint(a))
		}
	})
	return nil
}

// away reports whether a pod that we took down is away.
func (w *world) anyAway() bool {
	for _, p := range w.pods {
		if p.away > 0 {
			return true
		}
	}
	return false
}

func (w *world) backupRows(query string, arguments []any) ([][]string, bool) {
	if rows, ok := w.swapRows(query, arguments); ok {
		return rows, true
	}
	if rows, ok := w.restoreRows(query); ok {
		return rows, true
	}
	switch {
	case strings.Contains(query, "FROM sys.repositories"):
		if w.repository(fmt.Sprint(arguments[0])) != nil {
			return [][]string{{"fs"}}, true
		}
		return nil, true
	case strings.Contains(query, "FROM sys.jobs"):
		return [][]string{{query}}, true
	}
	return nil, false
}

// List is the listing of an executor.
func (w *world) List(context.Context, string, string) ([]model.ListedSnapshot, error) {
	w.listings++
	if w.mute {
		return nil, errors.New("the listing has not ended")
	}
	return w.listed(), nil
}

func (w *world) listed() (rows []model.ListedSnapshot) {
	if w.silent {
		return nil
	}
	for name, r := range w.repositories {
		for _, s := range r.snapshots {
			names := strings.Split(s.what, ",")
			if s.what == "ALL" {
				if names = w.liveTables(); s.operations != nil {
					names = slices.Sorted(maps.Keys(s.operations))
				}
			}
			rows = append(rows, model.ListedSnapshot{Repository: name, Name: s.name, State: s.state, Finished: s.finished, Tables: 2, Names: names})
		}
	}
	return rows
}
