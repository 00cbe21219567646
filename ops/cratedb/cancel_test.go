package cratedb

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
)

// pgx sends a cancel request for a statement whose context ends; CrateDB takes it from 4.8
// on. So nothing of ours goes on there either where statement_timeout is not known (before
// 5.4) or longer than we wait.
func TestCrateDBEndsAStatementThatIsGivenUp(t *testing.T) {
	if !testcluster.IsReal() {
		t.Skip("no statement of the simulator is slow: this asks a real CrateDB (CRATEDB_HOME)")
	}
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			// statement_timeout does not come before the cancel request.
			s, err := Client{Dialer: c, WriteTimeout: time.Hour}.Login(t.Context(), "pod-0", "system", password)
			require.NoError(t, err)
			defer s.Close()
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			const endless = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b"
			_, err = s.Strings(short, endless)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			c.Eventually("CrateDB has ended the statement", func() bool {
				return c.Rows("SELECT count(*) FROM sys.jobs WHERE stmt = ?", endless)[0][0] == float64(0)
			})
		})
	}
}
