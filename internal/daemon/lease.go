package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

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

// check is asked before each write.
func (l *leadership) check(context.Context) error {
	if until := l.until(); until.IsZero() || !time.Now().Before(until) {
		return ErrNotLeader
	}
	return nil
}

// bounded ends no later than the lease does: a statement cannot be fenced, so
// it must be over before another daemon may begin one.
func (l *leadership) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, l.until())
}

func (l *leadership) note(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = sent
}

func (l *leadership) lost() { l.note(time.Time{}) }

// notedLock tells leadership of each write of the Lease that succeeded.
type notedLock struct {
	resourcelock.Interface
	leadership *leadership
	identity   string
}

func (n notedLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return n.write(r, func() error { return n.Interface.Create(ctx, r) })
}

func (n notedLock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return n.write(r, func() error { return n.Interface.Update(ctx, r) })
}

func (n notedLock) write(r resourcelock.LeaderElectionRecord, write func() error) error {
	sent := time.Now()
	err := write()
	if err == nil && r.HolderIdentity == n.identity {
		n.leadership.note(sent)
	} else if err == nil {
		n.leadership.lost()
	}
	return err
}

// LeaseOptions say which Lease makes a daemon the one that acts. Zero durations
// mean 15 s, 10 s and 2 s, client-go's own.
type LeaseOptions struct {
	Namespace, Name, Identity      string
	Duration, RenewDeadline, Retry time.Duration
}

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
// act has returned. It returns when ctx ends, act returns, or the Lease is lost.
func lead(ctx context.Context, cfg *rest.Config, o LeaseOptions, l *leadership, log *slog.Logger, act func(context.Context) error) error {
	// The election has a client of its own: its renewals must not wait behind
	// the writes of a thousand clusters.
	client, err := kubernetes.NewForConfig(rest.CopyConfig(cfg))
	if err != nil {
		return fmt.Errorf("making the client for the Lease: %w", err)
	}
	lock := notedLock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		leadership: l,
		identity:   o.Identity,
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
				close(began)
				acting, cancel := context.WithCancel(leading)
				unhook := context.AfterFunc(ctx, cancel)
				defer unhook()
				defer cancel()
				log.Info("the Lease is ours, acting", "lease", o.Namespace+"/"+o.Name, "identity", o.Identity)
				done <- act(acting)
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
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

// fenced lets a write to the API server leave only while the Lease is held.
type fenced struct {
	next       http.RoundTripper
	leadership *leadership
}

func (f fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return f.next.RoundTrip(r)
	}
	if err := f.leadership.check(r.Context()); err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	fault.Before(fault.API)
	response, err := f.next.RoundTrip(r)
	fault.After(fault.API)
	return response, err
}
