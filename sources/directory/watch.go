package directory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxWatched bounds how many folders are watched: the system's own bound is the
// whole user's (fs.inotify.max_user_watches). Beyond it only the poll sees changes.
const maxWatched = 4096

// watch turns events and a slow poll into hints.
type watch struct {
	source   *Source
	notify   *fsnotify.Watcher // nil when the system gives none
	cancel   context.CancelFunc
	ended    chan struct{}
	mu       sync.Mutex
	complain sync.Once
}

func (s *Source) startWatch() *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{source: s, cancel: cancel, ended: make(chan struct{})}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		s.opts.Log.Warn("changes of the directory are found by polling only", "dir", s.opts.Dir, "error", err, "every", s.opts.Poll)
	} else {
		w.notify = notify
		w.followParent()
	}
	go w.run(ctx)
	return w
}

func (w *watch) close() error {
	w.cancel()
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.notify == nil {
		return nil
	}
	err := w.notify.Close()
	w.notify = nil
	return err
}

// followParent makes a root that is replaced or appears later an event. Where the
// folder that holds it does not exist either, the nearest one that does is
// watched.
func (w *watch) followParent() {
	for {
		dir := filepath.Dir(w.source.opts.Dir)
		missing := "" // the highest folder that does not exist
		for !w.add(dir) && dir != filepath.Dir(dir) {
			dir, missing = filepath.Dir(dir), dir
		}
		// It may have come between the look for it and the watch above it.
		if _, err := os.Stat(missing); missing == "" || err != nil {
			return
		}
	}
}

// follow watches the folders of a scan; a watch that exists already is kept. The
// system drops those of folders that are gone.
func (w *watch) follow(s *scan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.notify == nil {
		return
	}
	w.followParent()
	for i, dir := range s.folders() {
		if i >= maxWatched {
			w.complain.Do(func() {
				w.source.opts.Log.Warn("the directory has too many folders to watch, the rest is polled", "dir", w.source.opts.Dir,
					"watched", maxWatched, "every", w.source.opts.Poll)
			})
			return
		}
		w.add(filepath.Join(w.source.opts.Dir, filepath.FromSlash(dir)))
	}
}

// add says false of a folder that does not exist.
func (w *watch) add(dir string) bool {
	err := w.notify.Add(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.complain.Do(func() {
			w.source.opts.Log.Warn("a folder cannot be watched, its changes are found by polling", "folder", dir, "error", err,
				"every", w.source.opts.Poll)
		})
	}
	return !errors.Is(err, os.ErrNotExist)
}

// run hints after the quiet time has passed without an event, and whenever the
// poll finds another tree than the one that was taken.
func (w *watch) run(ctx context.Context) {
	defer close(w.ended)
	var events <-chan fsnotify.Event
	var failures <-chan error
	if w.notify != nil {
		events, failures = w.notify.Events, w.notify.Errors
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	defer quiet.Stop()
	poll := time.NewTicker(w.source.opts.Poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if w.leads(e.Name) {
				w.mu.Lock()
				w.followParent()
				w.mu.Unlock()
				quiet.Reset(w.source.opts.Quiet)
			} else if w.matters(e) {
				quiet.Reset(w.source.opts.Quiet)
			}
		case _, ok := <-failures:
			// Among them the overflow of the event queue: anything may have changed.
			if !ok {
				failures = nil
				continue
			}
			quiet.Reset(w.source.opts.Quiet)
		case <-quiet.C:
			w.hint()
		case <-poll.C:
			if w.source.differs(ctx) {
				w.hint()
			}
		}
	}
}

func (w *watch) hint() {
	select {
	case w.source.changed <- struct{}{}:
	default: // one is waiting already
	}
}

// leads says that a folder is on the way to the root's parent.
func (w *watch) leads(name string) bool {
	rel, err := filepath.Rel(name, filepath.Dir(w.source.opts.Dir))
	return err == nil && filepath.IsLocal(rel)
}

// matters leaves out what happens beside the root, and ignored files.
func (w *watch) matters(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod && e.Name != w.source.opts.Dir {
		return false // attributes only; the status time tells when a content came with it
	}
	if e.Name == w.source.opts.Dir {
		return true
	}
	rel, err := filepath.Rel(w.source.opts.Dir, e.Name)
	return err == nil && filepath.IsLocal(rel) && !ignored(filepath.Base(rel))
}

// differs compares the tree with the one that was taken last. A root that cannot
// be read differs while there is a good one, and a failed look differs as soon as
// the root can be read again.
func (s *Source) differs(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	s.mu.Lock()
	fetched := s.fetched
	s.mu.Unlock()
	root, err := os.OpenRoot(s.opts.Dir)
	if err != nil {
		return fetched != nil
	}
	defer root.Close()
	now, err := s.opts.look(ctx, root)
	if err != nil {
		return fetched != nil
	}
	return !now.equal(fetched)
}
