package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// Source follows one reference of one repository.
type Source struct {
	opts   Options
	remote remote

	woken chan struct{}

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running chan struct{} // closed when the look that was started last has ended

	// The rest belongs to the look that runs; looks never overlap.
	mirror *mirror
	last   sources.Snapshot
	tip    plumbing.Hash // what last was made of: a commit or an annotated tag
	held   *heldBack     // why last is not the newest; nil while it is
	files  *objects      // of last
}

var _ sources.Source = (*Source)(nil)

// New checks the options; it asks neither the network nor the disk.
func New(opts Options) (*Source, error) {
	r, err := opts.check()
	if err != nil {
		return nil, err
	}
	s := &Source{opts: opts, remote: r, woken: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Identity is the URL without credentials, and "//path" for a path inside.
func (s *Source) Identity() string { return s.remote.identity }

// Repository is the URL without credentials and without a path inside.
func (s *Source) Repository() string { return s.remote.repository }

// Changed hints after Wake; otherwise only the interval says when to look.
func (s *Source) Changed() <-chan struct{} { return s.woken }

// Wake hints that something was pushed. It returns at once, and many hints
// before the next look are one.
func (s *Source) Wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// closePatience is how long Close waits for a look that cannot be interrupted.
const closePatience = 10 * time.Second

// Close ends a look that is under way, waits for it, and gives the mirror free.
// A look that is stuck in reading this machine's files keeps its mirror locked,
// which harms nobody: others take a part of their own.
func (s *Source) Close() error {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	running := s.running
	s.mu.Unlock()
	if running != nil {
		timer := time.NewTimer(closePatience)
		defer timer.Stop()
		select {
		case <-running:
		case <-timer.C:
			return fmt.Errorf("closing %s: a look is stuck and is left behind", s.remote.identity)
		}
	}
	if s.mirror == nil {
		return nil
	}
	m := s.mirror
	s.mirror = nil
	return m.close()
}

// Fetch asks the remote for its references and fetches only when the followed
// one has moved. It returns by its deadline even where go-git does not: reading
// a repository of this machine cannot be interrupted. Such a look goes on behind
// (one at most) and the next Fetch waits for it.
func (s *Source) Fetch(ctx context.Context) (sources.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	stop := context.AfterFunc(s.ctx, cancel)
	late := func() error { return classify(ctx, "looking at "+s.remote.identity, context.DeadlineExceeded, Login{}) }

	done, err := s.begin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = late()
		}
		stop()
		cancel()
		return sources.Snapshot{}, err
	}
	var snapshot sources.Snapshot
	go func() {
		defer close(done)
		defer cancel()
		defer stop()
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("looking at %s: what the remote sent cannot be read (%v)", s.remote.identity, p)
			}
		}()
		snapshot, err = s.look(ctx)
	}()
	select {
	case <-done:
		return snapshot, err
	case <-ctx.Done():
	}
	// A look that honours its context knows better what went wrong.
	grace := time.NewTimer(time.Second)
	defer grace.Stop()
	select {
	case <-done:
		return snapshot, err
	case <-grace.C:
		return sources.Snapshot{}, late()
	}
}

// begin waits for the look before and takes its place. Only the look itself
// closes what begin gives.
func (s *Source) begin(ctx context.Context) (chan struct{}, error) {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, fmt.Errorf("looking at %s: the source is closed", s.remote.identity)
		}
		before := s.running
		if before == nil || isClosed(before) {
			s.running = make(chan struct{})
			defer s.mu.Unlock()
			return s.running, nil
		}
		s.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// look is one whole look. When it fails right after a start, it gives what the
// mirror has kept with the error.
func (s *Source) look(ctx context.Context) (sources.Snapshot, error) {
	snapshot, err := s.lookAt(ctx)
	if err == nil || sources.ReasonOf(err) == sources.NotSupported {
		return snapshot, err
	}
	if s.mirror == nil && s.opts.Mirror != "" {
		if m, e := openMirror(s.opts.Mirror, s.remote.identity); e == nil {
			s.mirror = m
		}
	}
	s.restore(ctx)
	return s.last, err
}

// lookAt asks the remote. A mirror that turns out to be damaged is cloned anew
// within the same look.
func (s *Source) lookAt(ctx context.Context) (sources.Snapshot, error) {
	sound := s.files != nil && !s.files.damaged.Load()
	if sound && fullCommit.MatchString(s.opts.Ref) {
		return s.last, nil // a commit never moves
	}
	var login Login
	if s.opts.Credentials != nil && s.remote.dir == "" {
		var err error
		if login, err = s.opts.Credentials.Login(ctx); err != nil {
			if sources.ReasonOf(err) == sources.Other {
				err = &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the credentials for " + s.remote.identity, Err: err}
			}
			return sources.Snapshot{}, err
		}
	}
	doing := "listing the references of " + s.remote.identity
	listing, listed := context.WithTimeout(ctx, s.opts.LookTimeout)
	defer listed()
	conn, err := s.connect(ctx, listing, login)
	if err != nil {
		return sources.Snapshot{}, classify(ctx, doing, err, login)
	}
	defer conn.end()
	has, capabilities, err := s.list(listing, conn)
	if err != nil {
		return sources.Snapshot{}, classify(ctx, doing, err, login)
	}
	doing = "fetching from " + s.remote.identity
	if s.mirror == nil {
		if s.mirror, err = openMirror(s.opts.Mirror, s.remote.identity); err != nil {
			return sources.Snapshot{}, classify(ctx, doing, err, login)
		}
	}
	want, err := has.choose(s.opts.Ref)
	if err = s.gone(err, want); err != nil {
		s.held = nil
		return sources.Snapshot{}, err
	}
	if sound && want.hash == s.tip && !want.hash.IsZero() || sound && want.prefix != "" && strings.HasPrefix(s.tip.String(), want.prefix) {
		s.held = nil
		return s.last, nil
	}
	if sound && s.held != nil && s.held.tip == want.hash {
		return s.last, s.held.err
	}
	if s.files != nil && !sound {
		s.mirror.checked = map[string]int64{} // something was damaged after it had been verified
	}
	get := &fetch{conn: conn, has: has, capabilities: capabilities, want: want}
	files, fsys, err := s.update(ctx, get)
	if err != nil {
		err = classify(ctx, doing, err, login)
		if e, ok := errors.AsType[*sources.Error](err); ok && e.Reason == sources.PathNotFound && get.commit != nil {
			e.Commit = revisionOf(get.want.label, get.commit)
		}
		return sources.Snapshot{}, err
	}
	if err := s.rewritten(ctx, openStorage(s.mirror.generation), get); err != nil {
		err = classify(ctx, doing, err, login)
		if s.restore(ctx); s.files != nil && sources.ReasonOf(err) == sources.HistoryRewritten {
			s.held = &heldBack{tip: want.hash, err: err}
		}
		return sources.Snapshot{}, err
	}
	if get.want.moves() {
		f := followed{Label: get.want.label, Commit: get.commit.Hash.String()}
		if get.want.version != nil {
			f.Tag = get.want.label
		}
		if err := s.mirror.setFollowed(s.opts.Ref, f); err != nil {
			return sources.Snapshot{}, classify(ctx, doing, err, login)
		}
	}
	s.keep(files, fsys, get.commit, get.want.label)
	s.tip, s.held = get.want.hash, nil
	return s.last, nil
}

// keep makes a tree the last good one. What it was chosen by is not known of one
// that comes from the mirror alone, so the next look chooses again.
func (s *Source) keep(files *objects, fsys *tree.FS, commit *object.Commit, label string) {
	s.files, s.tip = files, plumbing.ZeroHash
	s.last = sources.Snapshot{Source: s.remote.identity, Revision: revisionOf(label, commit), Files: fsys, Tree: fsys.Whole(), Dir: fsys.At()}
}

func (s *Source) list(ctx context.Context, conn *connection) (advertised, *capability.List, error) {
	ar, err := conn.AdvertisedReferencesContext(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		} else if broken := conn.broken(); broken != nil {
			err = broken
		}
		return advertised{}, nil, err
	}
	if len(ar.Shallows) > 0 {
		return advertised{}, nil, errShallow
	}
	has, err := readAdvertised(ar)
	return has, ar.Capabilities, err
}
