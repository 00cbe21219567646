package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Snapshots are taken at each window, the older ones are dropped, and what is in one is there again when it is
// restored, wherever the daemon dies on the way. It waits for two minutes of a clock, and go test begins with the tests of the last
// files: in an earlier file it would be the last to end.
func TestSnapshotsAreTakenAndKeptBySchedule(t *testing.T) {
	t.Parallel()
	v := embark(t, "backup-kept")
	v.edits = append(v.edits, v.sharedFolder()...)
	v.define(v.backups())
	v.depart()
	repository := v.record(cutCluster).Backups.Repository.Name
	assert.Equal(v, [][]string{{repository, "fs"}}, v.rows(cutCluster, "SELECT name, type FROM sys.repositories"))
	v.rows(cutCluster, "REFRESH TABLE doc.one")
	before := v.rows(cutCluster, "SELECT count(*) FROM doc.one")

	v.define(v.backups(map[string]any{"name": "often", "cron": "* * * * *", "keep": 1}))
	plans := v.plans(2, v.dir)
	require.Len(t, plans, 1)
	assert.Empty(t, plans[0].Operations)
	assert.Equal(t, []string{"snapshots are taken by a new schedule often: * * * * * UTC"}, plans[0].Notes)
	daemon := v.sail("after:5", "")
	var first string
	v.carriedOut(&daemon, "a snapshot was taken", 3*time.Minute, func() bool {
		if all := v.taken(); len(all) > 0 {
			first = all[0]
		}
		return first != ""
	})
	v.carriedOut(&daemon, "the next one was taken, and the first is gone", 3*time.Minute, func() bool {
		all := v.taken()
		return len(all) == 1 && all[0] != first
	})
	v.stop(daemon)
	v.end()
	names := v.rows(cutCluster, "SELECT name, state FROM sys.snapshots")
	require.Len(t, names, 1)
	assert.Equal(t, "SUCCESS", names[0][1])
	assert.True(t, v.told("was taken in"), "it was reported")

	v.rows(cutCluster, fmt.Sprintf(`RESTORE SNAPSHOT "%s"."%s" TABLE doc.one WITH (wait_for_completion = true, schema_rename_replacement = 'restored')`, repository, names[0][0]))
	v.rows(cutCluster, "REFRESH TABLE restored.one")
	assert.GreaterOrEqual(t, counted(t, v.rows(cutCluster, "SELECT count(*) FROM restored.one")), counted(t, before), "what was there before is in it")
	v.rows(cutCluster, "DROP TABLE restored.one")
	v.noRowLost()
}
