package cratedb

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// BenchmarkReading is one reading of three nodes with a thousand shards, login and all.
func BenchmarkReading(b *testing.B) {
	s, session := loggedIn(b, "6.4.3", 3)
	for i := range 25 {
		execAll(b, session, fmt.Sprintf("CREATE TABLE doc.t%d (a INT) CLUSTERED INTO 20 SHARDS WITH (number_of_replicas = 1)", i))
	}
	require.Eventually(b, func() bool { return settled(detailed(s, 3)) }, patience, 100*time.Millisecond)
	for name, read := range map[string]func(*simulated, int) model.Database{
		"plain": func(s *simulated, n int) model.Database { return s.observe(n) }, "detailed": detailed,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if db := read(s, 3); !db.ShardsKnown {
					b.Fatal(db.Error)
				}
			}
		})
	}
}
