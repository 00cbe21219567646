package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/fault"
	"stevedore.dev/stevedore/internal/names"
)

// ErrNotLeader stops a write of a daemon that does not hold the Lease any more.
var ErrNotLeader = errors.New("the Lease is not held any more: another daemon may act now")

// leadership knows until when the Lease is ours. It trusts its own monotonic
// clock from the moment a renewal was *sent*, so a process that slept through
// its lease finds it gone before it writes.
type leadership struct {
	// usable is how long after a renewal was sent writes may leave.
	usable time.Duration

	mu      sync.Mutex
	renewed time.Time
	// wall is renewed by the wall clock: the monotonic one stands still while a
	// machine is suspended, and others do not wait for it.
	wall time.Time
	// holds is the identity of who acts, as far as is known.
	holds string
}

// until is when the lease ends for us; the zero time when it is not held.
func (l *leadership) until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return time.Time{}
	}
	return l.renewed.Add(l.usable)
}

// holder is who acts, by the last look at the Lease; "" when it is not known.
func (l *leadership) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holds
}

func (l *leadership) setHolder(identity string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = identity
}

// check is asked before each write.
func (l *leadership) check(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.renewed.IsZero() || !now.Before(l.renewed.Add(l.usable)) || !now.Round(0).Before(l.wall.Add(l.usable)) {
		return ErrNotLeader
	}
	return nil
}

// held is ctx, ended with ErrNotLeader when the lease ends; renewals in between
// prolong it.
func (l *leadership) held(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	var mu sync.Mutex
	var timer *time.Timer
	var look func()
	look = func() {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ctx.Err() != nil:
		case l.check(ctx) != nil:
			end(ErrNotLeader)
		default:
			// A little more than nothing, where only the wall clock says that it ended.
			timer = time.AfterFunc(max(time.Until(l.until()), time.Millisecond), look)
		}
	}
	look()
	return ctx, func() {
		end(context.Canceled)
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
		}
	}
}

// bounded ends no later than the lease does: a statement cannot be fenced, so
// it must be over before another daemon may begin one.
func (l *leadership) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, l.until())
}

func (l *leadership) note(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed, l.wall = sent, sent.Round(0)
}

func (l *leadership) lost() { l.note(time.Time{}) }

// notedLock tells leadership of each write of the Lease that succeeded.
type notedLock struct {
	resourcelock.Interface
	leadership *leadership
	identity   string
	// over says that nobody acts any more. The election gives the Lease back
	// also when it could not be renewed in time, while writes are under way:
	// then it is left to run out.
	over func() bool
}

var errStillActing = errors.New("writes are under way, the Lease is left to run out")

func (n notedLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	err := n.write(r, func() error { return n.Interface.Create(ctx, r) })
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: create that namespace, or name another one with --lease-namespace", err)
	}
	return err
}

func (n notedLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return n.write(r, func() error { return n.Interface.Update(ctx, r) })
}

func (n notedLock) write(r resourcelock.LeaderElectionRecord, write func() error) error {
	if r.HolderIdentity != n.identity {
		n.leadership.lost()
		if !n.over() {
			return errStillActing
		}
		return write()
	}
	sent := time.Now()
	err := write()
	if err == nil {
		n.leadership.note(sent)
	}
	return err
}

// LeaseOptions say which Lease makes a daemon the one that acts. Zero durations
// mean 15 s, 10 s and 2 s, client-go's own.
type LeaseOptions struct {
	Namespace, Name, Identity      string
	Duration, RenewDeadline, Retry time.Duration
}

// name is NAMESPACE/NAME.
func (o LeaseOptions) name() string { return o.Namespace + "/" + o.Name }

func (o LeaseOptions) withDefaults() LeaseOptions {
	if o.Namespace == "" {
		o.Namespace = names.DaemonNamespace
	}
	if o.Name == "" {
		o.Name = names.FieldManager
	}
	if o.Duration <= 0 {
		o.Duration = 15 * time.Second
	}
	if o.RenewDeadline <= 0 {
		o.RenewDeadline = o.Duration * 2 / 3
	}
	if o.Retry <= 0 {
		o.Retry = o.Duration / 7
	}
	return o
}

// lead waits for the Lease, runs act while it is held, and gives it back once
// act has returned. It returns when ctx ends, act returns, or the Lease is lost. The Lease
// says what follows does.
func lead(ctx context.Context, cfg *rest.Config, o LeaseOptions, l *leadership, log *slog.Logger, follows func() attendance.Following, act func(context.Context) error) error {
	// The election has a client of its own: its renewals must not wait behind
	// the writes of a thousand clusters.
	client, err := kubernetes.NewForConfig(rest.CopyConfig(cfg))
	if err != nil {
		return fmt.Errorf("making the client for the Lease: %w", err)
	}
	var acting atomic.Int32
	lock := notedLock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     attendance.Writer{LeasesGetter: client.CoordinationV1(), Follows: follows},
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		leadership: l,
		identity:   o.Identity,
		over:       func() bool { return acting.Load() == 0 },
	}
	// The election ends when act does: released last, so that nobody begins
	// while we still write.
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan error, 1)
	began := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   o.Duration,
		RenewDeadline:   o.RenewDeadline,
		RetryPeriod:     o.Retry,
		ReleaseOnCancel: true,
		Name:            names.FieldManager,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				acting.Add(1)
				close(began)
				term, cancel := context.WithCancel(leading)
				unhook := context.AfterFunc(ctx, cancel)
				defer unhook()
				defer cancel()
				log.Info("the Lease is ours, acting", "lease", o.Namespace+"/"+o.Name, "identity", o.Identity)
				err := act(term)
				acting.Add(-1)
				done <- err
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				l.setHolder(identity)
				if identity != o.Identity {
					log.Info("another daemon acts", "lease", o.Namespace+"/"+o.Name, "holder", identity)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("setting up the election for Lease %s/%s: %w", o.Namespace, o.Name, err)
	}
	unhook := context.AfterFunc(ctx, func() {
		select {
		case <-began: // act ends first, then the Lease is given back
		default:
			stop()
		}
	})
	defer unhook()
	elector.Run(electing)
	held := electing.Err() == nil
	l.lost()
	select {
	case <-began:
		err := <-done
		if held && ctx.Err() == nil {
			return fmt.Errorf("lease %s/%s: %w", o.Namespace, o.Name, ErrNotLeader)
		}
		return err
	default:
		return ctx.Err()
	}
}

// fenced lets a write to the API server leave only while the Lease is held, and
// waits for its answer no longer than that.
type fenced struct {
	next       http.RoundTripper
	leadership *leadership
}

// requestTimeout of the API server's own default; what takes longer hangs.
const requestTimeout = time.Minute

func (f fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	write := true
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		if r.URL.Query().Has("watch") {
			return f.next.RoundTrip(r)
		}
		write = false
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	if write {
		if err := f.leadership.check(ctx); err != nil {
			cancel()
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
		}
		held, release := f.leadership.held(ctx)
		timeout := cancel
		ctx, cancel = held, func() { release(); timeout() }
		fault.Before(fault.API)
	}
	response, err := f.next.RoundTrip(r.WithContext(ctx))
	if write {
		fault.After(fault.API)
	}
	if err != nil {
		if errors.Is(context.Cause(ctx), ErrNotLeader) {
			err = fmt.Errorf("%s %s: %w: %w", r.Method, r.URL.Path, ErrNotLeader, err)
		}
		cancel()
		return nil, err
	}
	response.Body = boundedBody{response.Body, cancel}
	return response, nil
}

// boundedBody ends the request's deadline when its answer has been read.
type boundedBody struct {
	io.ReadCloser
	end func()
}

func (b boundedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}
