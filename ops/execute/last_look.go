package execute

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"stevedore.dev/stevedore/ops/model"
)

// Statements of the last looks. No privilege filters any of the views.
const (
	clusterHealth = `SELECT health, missing_shards, underreplicated_shards FROM sys.cluster_health`
	// What system has from roles was looked at when this was decided.
	denials = `SELECT type, class, ident FROM sys.privileges WHERE state <> 'GRANT' AND grantee = 'system'`
)

// lookHealth asks for the health of all tables once more, those that `system` may not see
// included. Worse than when this was decided is an error.
func lookHealth(ctx context.Context, s Session, was model.WholeHealth) error {
	if !was.Asked {
		return nil
	}
	rows, err := s.Strings(ctx, clusterHealth)
	if err != nil {
		return fmt.Errorf("reading the health of the cluster once more: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 3 {
		return errors.New("reading the health of the cluster once more: the answer is not one row")
	}
	missing, err := strconv.ParseInt(rows[0][1], 10, 64)
	if err != nil {
		return fmt.Errorf("reading the health of the cluster once more: %q is no number", rows[0][1])
	}
	lacks, err := strconv.ParseInt(rows[0][2], 10, 64)
	if err != nil {
		return fmt.Errorf("reading the health of the cluster once more: %q is no number", rows[0][2])
	}
	if rows[0][0] == "RED" && !was.Red || missing+lacks > was.Lacks {
		return fmt.Errorf("the cluster is %s by now: of all its tables %d shards are missing and %d lack copies", rows[0][0], missing, lacks)
	}
	return nil
}

// lookUnfiltered is the last look before nodes are removed for good at what no privilege
// filters: the health of all tables, and whether `system` is denied anything by now.
func lookUnfiltered(ctx context.Context, s Session, a model.Action) error {
	if err := lookHealth(ctx, s, a.Whole); err != nil {
		return err
	}
	return lookDenied(ctx, s)
}

// lookDenied is an error where `system` is denied anything.
func lookDenied(ctx context.Context, s Session) error {
	rows, err := s.Strings(ctx, denials)
	if err != nil {
		return fmt.Errorf("looking for what is denied to system once more: %w", err)
	}
	if len(rows) > 0 {
		return fmt.Errorf("%s on %s %s is denied to the user system by now: shards and tables may be hidden from it", rows[0][0], rows[0][1], rows[0][2])
	}
	return nil
}
