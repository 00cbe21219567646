package cratedb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/execute"
)

// A column that CrateDB does not have is found here, and not when the statement is needed.
func TestEachStatementThatReadsIsAnswered(t *testing.T) {
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			c.Run("CREATE TABLE doc.t0 (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)",
				"CREATE REPOSITORY r TYPE fs WITH (location = 'r')", "CREATE SNAPSHOT r.one ALL WITH (wait_for_completion = true)")
			c.Settled()
			asked := 0
			for _, s := range append(Statements(), execute.Statements()...) {
				if s.Writes {
					continue
				}
				statement := strings.NewReplacer("$1", "?").Replace(s.SQL)
				answer := c.Nodes[0].As("system", password, statement, s.Arguments...)
				unknown := strings.Contains(answer.Error.Message, "unknown")
				assert.False(t, unknown || answer.Status == 400, "%s: %s", s.Name, fmt.Sprint(answer.Error))
				asked++
			}
			assert.Greater(t, asked, 40)
		})
	}
}
