package daemon

import (
	"context"
	"errors"

	"stevedore.dev/stevedore/internal/record"
)

// errSuperseded ends a pass whose definition has been replaced while it ran: nothing more is begun for it.
var errSuperseded = errors.New("a newer definition has come, the pass ends here")

type currentKey struct{}

// whileCurrent makes mayWrite ask still before each write under this context.
func whileCurrent(ctx context.Context, still func() bool) context.Context {
	return context.WithValue(ctx, currentKey{}, still)
}

// mayWrite is asked before each write of a pass: by a daemon that holds the Lease, for a definition that is still
// the newest.
func (l *leadership) mayWrite(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	if still, ok := ctx.Value(currentKey{}).(func() bool); ok && !still() {
		return errSuperseded
	}
	return nil
}

// still says that what was desired of a cluster is desired now. A build that says the same again changes nothing:
// the fleet keeps the value from before.
func (f *fleet) still(key record.Cluster, recordedOwner string, want wanted) bool {
	now, ok := f.get(key, recordedOwner)
	return ok && now.owner == want.owner && now.removed == want.removed && now.otherOwner == want.otherOwner &&
		made(now.cluster, want.cluster)
}
