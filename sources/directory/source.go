package directory

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// Source watches one folder.
type Source struct {
	opts    Options
	watch   *watch
	changed chan struct{}

	mu      sync.Mutex
	fetched *scan // what last was made of; nil when the last look failed
	last    sources.Snapshot
}

var _ sources.Source = (*Source)(nil)

// New starts to watch. The folder need not exist yet.
func New(opts Options) (*Source, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &Source{opts: opts, changed: make(chan struct{}, 1)}
	s.watch = s.startWatch()
	return s, nil
}

// Identity is the absolute path as it was given: links in it are not resolved,
// so that it stays the same when they move.
func (s *Source) Identity() string { return s.opts.Dir }

// Changed hints once the tree has been quiet after a change.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Close ends the watch. Snapshots stay readable.
func (s *Source) Close() error { return s.watch.close() }

// Fetch takes the tree once no file has changed for the quiet time and two
// scans, before and after the reading, agree. A tree that has not changed since
// costs one scan.
func (s *Source) Fetch(ctx context.Context) (sources.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Patience)
	defer cancel()
	snapshot, taken, err := s.take(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = taken
	if err != nil {
		return sources.Snapshot{}, s.classify(err)
	}
	s.last = snapshot
	return snapshot, nil
}

var errUnsettled = errors.New("files go on changing")

func (s *Source) take(ctx context.Context) (sources.Snapshot, *scan, error) {
	for {
		snapshot, taken, wait, err := s.attempt(ctx)
		switch {
		case err == nil && wait == 0:
			return snapshot, taken, nil
		case ctx.Err() != nil:
			return sources.Snapshot{}, nil, errUnsettled
		case err != nil && !errors.Is(err, errVanished):
			return sources.Snapshot{}, nil, err
		}
		timer := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return sources.Snapshot{}, nil, errUnsettled
		}
	}
}

// attempt gives how long to wait when the tree is not quiet yet. The root is
// opened anew each time, because it may have been replaced.
func (s *Source) attempt(ctx context.Context) (sources.Snapshot, *scan, time.Duration, error) {
	root, err := os.OpenRoot(s.opts.Dir)
	if err != nil {
		return sources.Snapshot{}, nil, 0, err
	}
	defer root.Close()
	before, err := s.opts.look(ctx, root)
	if err != nil {
		return sources.Snapshot{}, nil, 0, err
	}
	s.watch.follow(before)
	s.mu.Lock()
	last, fetched := s.last, s.fetched
	s.mu.Unlock()
	if before.equal(fetched) {
		return last, fetched, 0, nil
	}
	// A change in the future is a clock that was set back: waiting for it would
	// never end.
	if age := time.Since(before.newest); age >= 0 && age < s.opts.Quiet {
		return sources.Snapshot{}, nil, s.opts.Quiet - age, nil
	}
	contents, err := s.opts.read(ctx, root, before)
	if err != nil {
		return sources.Snapshot{}, nil, s.opts.Quiet, err
	}
	// By its name again: the folder that was read may have been moved away.
	again, err := os.OpenRoot(s.opts.Dir)
	if err != nil {
		return sources.Snapshot{}, nil, 0, err
	}
	defer again.Close()
	after, err := s.opts.look(ctx, again)
	if err != nil {
		return sources.Snapshot{}, nil, 0, err
	}
	if !before.equal(after) {
		return sources.Snapshot{}, nil, s.opts.Quiet, errVanished
	}
	files, err := s.build(before, contents)
	if err != nil {
		return sources.Snapshot{}, nil, 0, err
	}
	snapshot := sources.Snapshot{Source: s.opts.Dir, Revision: "dir@sha256:" + digest(before, contents), Files: files, Tree: files, Dir: "."}
	if snapshot.Revision == last.Revision {
		snapshot = last // touched, but the same
	}
	return snapshot, before, 0, nil
}

func (s *Source) build(seen *scan, contents []tree.Content) (*tree.FS, error) {
	b := tree.NewBuilder(s.opts.Limits)
	for i, e := range seen.entries {
		var err error
		switch {
		case e.mode.IsDir():
			err = b.Folder(e.name)
		case e.mode&fs.ModeSymlink != 0:
			err = b.Link(e.name, e.target)
		case e.mode.IsRegular():
			err = b.File(e.name, contents[i])
		default:
			err = b.Special(e.name)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.FS(".")
}

// digest is of names, kinds, targets and contents, each with its length before
// it, so that no two trees give the same bytes. Times and permissions do not
// count: they do not reach a reader.
func digest(seen *scan, contents []tree.Content) string {
	h := sha256.New()
	add := func(b []byte) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(b)))
		h.Write(b)
	}
	for i, e := range seen.entries {
		add([]byte(e.name))
		_ = binary.Write(h, binary.BigEndian, uint32(e.mode))
		add([]byte(e.target))
		switch c := contents[i].(type) {
		case tree.Bytes:
			add(c)
		case oversized:
			add(fmt.Appendf(nil, "%d bytes of %s", int64(c), e.changed.UTC().Format(time.RFC3339Nano)))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Source) classify(err error) error {
	e := &sources.Error{Reason: sources.Other, Doing: "reading the directory " + s.opts.Dir, Err: err}
	if pe, ok := errors.AsType[*fs.PathError](err); ok && (pe.Path == "." || pe.Path == s.opts.Dir) {
		e.Err = pe.Err
	}
	switch {
	case errors.Is(err, errUnsettled):
		e.Reason = sources.Unsettled
		e.Err = fmt.Errorf("%w: not quiet for %s within %s", errUnsettled, s.opts.Quiet, s.opts.Patience)
		e.Advice = "let what writes there finish"
	case errors.Is(err, tree.ErrTooLarge):
		e.Reason, e.Advice = sources.TooLarge, "use a folder with the definitions only"
	case errors.Is(err, fs.ErrNotExist):
		e.Reason, e.Advice = sources.PathNotFound, "create it, or correct --dir; it is picked up when it appears"
	case errors.Is(err, fs.ErrPermission):
		e.Reason, e.Advice = sources.Unreadable, "let the user that runs stevedore read it"
	default:
		if info, statErr := os.Stat(s.opts.Dir); statErr == nil && !info.IsDir() {
			e.Reason, e.Advice = sources.PathNotFound, "--dir takes a folder"
		}
	}
	return e
}
