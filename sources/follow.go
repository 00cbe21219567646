package sources

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// State is what is known of a source after a look.
type State struct {
	Snapshot Snapshot  // zero until the first good look; afterwards the last good one
	Err      error     // nil when the last look was good
	At       time.Time // when the look ended
	NextLook time.Time // when the next one is due at the latest
}

// FollowOptions say how often Follow looks. The zero value is good.
type FollowOptions struct {
	// Interval between two good looks; zero means one minute. It is jittered by
	// up to a tenth, so that many daemons do not ask one server at once.
	Interval time.Duration

	// RetryMin is the wait after the first failure (zero means 2 s, or Interval
	// when that is shorter); it doubles up to RetryMax (zero means 5 minutes).
	// Each is jittered by up to a fifth. A hint of the source cuts it short.
	RetryMin, RetryMax time.Duration

	// Spacing is the least between two looks, however many hints come; zero means
	// 200 ms.
	Spacing time.Duration

	// Timeout ends a look of a source that has no deadline of its own; zero
	// means 10 minutes.
	Timeout time.Duration

	// Log gets one line for each new state; nil logs nothing.
	Log *slog.Logger
}

func (o FollowOptions) withDefaults() FollowOptions {
	if o.Interval <= 0 {
		o.Interval = time.Minute
	}
	if o.RetryMin <= 0 {
		o.RetryMin = min(2*time.Second, o.Interval)
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 5 * time.Minute
	}
	o.RetryMax = max(o.RetryMax, o.RetryMin)
	if o.Spacing <= 0 {
		o.Spacing = 200 * time.Millisecond
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Follow looks at src until ctx ends, and then returns ctx's error. It keeps the
// last good snapshot through any failure and calls onState for each new state: a
// new revision, a new or another error, an error that is gone. onState runs on
// Follow's own goroutine, so looks wait for it. Follow does not close src.
func Follow(ctx context.Context, src Source, opts FollowOptions, onState func(State)) error {
	opts = opts.withDefaults()
	log := opts.Log.With("source", src.Identity())
	var last State
	failures := 0
	for first := true; ; first = false {
		snapshot, err := lookOnce(ctx, src, opts.Timeout)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next := State{Snapshot: last.Snapshot, Err: err, At: time.Now()}
		if err == nil {
			next.Snapshot = snapshot
			failures = 0
		} else {
			failures++
			if last.Snapshot.IsZero() {
				next.Snapshot = snapshot // kept from before a restart
			}
		}
		wait := opts.wait(failures)
		next.NextLook = next.At.Add(wait)

		if first || isNews(last, next) {
			switch {
			case err != nil:
				message := "source cannot be read, and the last good revision stays"
				if next.Snapshot.IsZero() {
					message = "source cannot be read, and no revision of it has been read yet"
				}
				log.Warn(message, "error", err,
					"reason", string(ReasonOf(err)), "revision", next.Snapshot.Revision, "retryIn", wait.Round(time.Millisecond))
			case last.Err != nil && last.Snapshot.Revision == next.Snapshot.Revision:
				log.Info("source can be read again", "revision", next.Snapshot.Revision)
			default:
				log.Info("source has a revision", "revision", next.Snapshot.Revision, "before", last.Snapshot.Revision)
			}
			onState(next)
		}
		last = next

		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		case <-src.Changed():
			timer.Stop()
			if !space(ctx, opts.Spacing-time.Since(last.At)) {
				return ctx.Err()
			}
		}
	}
}

// space keeps hints from making looks follow each other without a pause.
func space(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// lookOnce turns a panic into an error: what a source reads comes from
// strangers, and one source must not end the others.
func lookOnce(ctx context.Context, src Source, timeout time.Duration) (s Snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			s, err = Snapshot{}, fmt.Errorf("looking at %s: the reader broke off: %v", src.Identity(), p)
		}
	}()
	s, err = src.Fetch(ctx)
	if err == nil && s.IsZero() {
		err = fmt.Errorf("looking at %s: no snapshot", src.Identity())
	}
	return s, err
}

func isNews(last, next State) bool {
	if (last.Err == nil) != (next.Err == nil) {
		return true
	}
	if next.Err != nil && last.Err.Error() != next.Err.Error() {
		return true
	}
	return last.Snapshot.Revision != next.Snapshot.Revision
}

// wait is how long to wait after a look, failures being how many failed in a row.
func (o FollowOptions) wait(failures int) time.Duration {
	if failures == 0 {
		return jitter(o.Interval, 0.1)
	}
	d := o.RetryMin
	for i := 1; i < failures && d < o.RetryMax; i++ {
		d *= 2
	}
	return jitter(min(d, o.RetryMax), 0.2)
}

// jitter takes up to the given part off d, so that no wait exceeds its cap.
func jitter(d time.Duration, part float64) time.Duration {
	return d - time.Duration(rand.Float64()*part*float64(d))
}
