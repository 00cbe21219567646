package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// Pushes in any order, kills and lost records at any write: what holds always
// is asserted by the world at each write, and a push that can be reached is
// reached in the end.
func TestAnyHistoryEndsWhereTheLastPushSays(t *testing.T) {
	seeds := uint64(80)
	if soaks() {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			w := newWorld(t, wantedCluster(3))
			highest := 3
			for push := range 6 {
				for range r.IntN(12) {
					if r.IntN(4) == 0 {
						w.killAt, w.after, w.lose = w.writes+1+r.IntN(3), r.IntN(2) == 0, r.IntN(3) == 0
					}
					_, _ = w.pass() // a kill is part of the history
				}
				d := restartable(wantedCluster(1 + r.IntN(6)))
				switch r.IntN(6) {
				case 0:
					d.Version = "5.10.2"
				case 2:
					w.template = fmt.Sprintf("t%d", r.IntN(3))
				case 3:
					d.RestartedAt = w.now.Format("2006-01-02T15:04:05Z07:00")
				case 4:
					d.Settings = []model.Setting{{Name: jobsLog, Value: fmt.Sprint(1000 * r.IntN(3))}}
				case 1:
					d.Users = append(d.Users, model.User{Name: "eve", Secret: model.SecretKey{Name: "ada", Key: "password"}})
				}
				d.Revision = fmt.Sprintf("rev-%d-%d", seed, push)
				w.desired = d
			}
			for _, s := range w.sets {
				highest = max(highest, s.Replicas)
			}
			for _, s := range w.record.Sets {
				highest = max(highest, s.Replicas)
			}
			w.killAt = 0
			last := restartable(wantedCluster(highest))
			last.Revision = "the last"
			w.desired = last
			w.passes(300)
			d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
			for _, reason := range d.Refusals {
				require.Equal(t, "user-removal-not-supported", reason.Name, "%s", reason.Message)
			}
			require.Empty(t, d.Actions())
			require.Empty(t, d.Waits)
			require.Nil(t, d.Record.Operation)
			require.Nil(t, d.Record.Lock)
			require.NotContains(t, w.byHand, jobsLog, "C: what was set was reset")
			require.Equal(t, "all", w.persistent, "C: the allocation lock was given back")
			for name, p := range w.pods {
				require.Equal(t, w.wanted(), p.template, name)
			}
			require.Equal(t, "id-1", d.Record.ClusterID)
			require.True(t, d.Record.Bootstrap.Done)
			require.Len(t, w.nodeNames(), highest)
			require.True(t, w.users["system"].granted)
			require.Equal(t, "pw-ada", w.users["ada"].password)
		})
	}
}
