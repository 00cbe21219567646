package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrJobsHidden is returned while CrateDB does not keep what it works on. With stats.enabled = false
// sys.jobs has no row, not even that of the statement which asks (JobsLogs.logExecutionStart; run on 6.4.3).
var ErrJobsHidden = errors.New(`CrateDB does not say which statements it works on, because stats.enabled is false: run SET GLOBAL PERSISTENT "stats.enabled" = TRUE`)

// JobsShown reports whether the rows of a query of sys.jobs, which selects stmt first and its own statement too, say
// anything: the query itself is among them.
func JobsShown(rows [][]string, query string) bool {
	return slices.ContainsFunc(rows, func(r []string) bool { return len(r) > 0 && r[0] == query })
}

// jobs are the statements that a query of sys.jobs finds, its own one among them. An empty answer is no
// answer, and so an error.
func jobs(ctx context.Context, s Session, query string) ([][]string, error) {
	rows, err := s.Strings(ctx, query)
	if err == nil && !JobsShown(rows, query) {
		err = ErrJobsHidden
	}
	if err != nil {
		return nil, fmt.Errorf("reading sys.jobs: %w", err)
	}
	return rows, nil
}
