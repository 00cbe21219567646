package telemetry_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/telemetry"
)

// all is the exposition of a daemon to which everything has happened once.
func all(t *testing.T) string {
	t.Helper()
	m := telemetry.NewMetrics(telemetry.Build{Version: "1"}, func() time.Time { return start })
	m.SourceLooked("apps", time.Second, start, nil)
	m.SourceFailed("apps", "ref-deleted")
	m.PushReceived("accepted")
	m.Rendered("apps", time.Second, 1)
	m.Decided(orders, "wait", []string{"health-green"}, nil)
	m.Working(orders, telemetry.Work{Operation: "grow", Started: start, Late: true, Groups: []telemetry.Group{{Name: "hot", Wanted: 3, Ready: 2}}})
	m.Backups(orders, &telemetry.Backups{Waiting: start, Failed: start, Proven: start, Drill: start, Restore: time.Minute, Schedules: []telemetry.BackupSchedule{{Name: "nightly", LastSuccess: start, Snapshots: map[string]int{"success": 1}}}})
	m.Looked(orders, start)
	m.Applied("in-sync", 1)
	m.Acted("set-user", errors.New("x"))
	m.StatementSent(orders)()
	m.Reconciled("done", time.Second)
	m.Leading(true)
	m.EventDropped()
	m.Target("webhook").ReportsQueued(orders, 1, start)
	m.Target("webhook").ReportDelivery("delivered", 1)
	m.CommitStatuses().ReportsQueued(orders, 1, start)
	m.CommitStatuses().ReportDelivery("delivered", 1)
	m.Health(orders, "orders", telemetry.Green, start)
	return scrape(t, m)
}

var metric = regexp.MustCompile(`\b(?:stevedore|cloud_clusters)_[a-z_]+\b`)

// exposed are the metrics' names, as they are asked for.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for line := range strings.Lines(all(t)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[1] == "TYPE" && metric.MatchString(fields[2]) {
			found[fields[2]] = true
		}
	}
	return found
}

// stevedore_reconcile_duration_seconds stood in the manual for weeks, and nobody ever measured it.
func TestEachMetricOfTheManualIsThereAndEachThatIsThereIsInTheManual(t *testing.T) {
	have, named := exposed(t), map[string][]string{}
	for _, folder := range []string{"../../docs", "../../deploy"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, name := range metric.FindAllString(string(text), -1) {
				if strings.HasPrefix(name, "stevedore_drill_") || strings.HasPrefix(name, "stevedore_replaced_") {
					continue // a schema
				}
				named[name] = append(named[name], path)
			}
			return nil
		}))
	}
	require.NotEmpty(t, named)
	for name, where := range named {
		ofHistogram := have[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")]
		assert.True(t, have[name] || ofHistogram, "%s is named in %v, and no daemon says it", name, where)
	}
	for name := range have {
		assert.Contains(t, named["stevedore_build_info"], "../../docs/reports.md")
		assert.Contains(t, named[name], "../../docs/reports.md", "%s is not in the manual", name)
	}
}

// A metric that nothing in the daemon sets is one that no alert may be built on.
func TestEachMetricIsSetBySomebody(t *testing.T) {
	var source strings.Builder
	for _, folder := range []string{"../daemon", "../reports", "../receiver"} {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			source.Write(text)
		}
	}
	// Sources are followed for as long as the process runs.
	unset := []string{"ForgetSource"}
	for method := range reflect.TypeFor[*telemetry.Metrics]().Methods() {
		if !slices.Contains(append(unset, "Handler", "Gatherer"), method.Name) {
			assert.Regexp(t, `\.`+method.Name+`\b`, source.String(), "nothing calls Metrics.%s", method.Name)
		}
	}
}

// What an alert of the manual asks is there to be asked.
func TestTheMetricsOfAnAlertSayWhatIsWrong(t *testing.T) {
	text := all(t)
	for _, line := range []string{
		`stevedore_cluster_nodes_wanted{cluster="orders",group="hot",namespace="prod"} 3`,
		`stevedore_cluster_nodes_ready{cluster="orders",group="hot",namespace="prod"} 2`,
		`stevedore_cluster_looked_timestamp_seconds{cluster="orders",namespace="prod"} 1.7952552e+09`,
		`stevedore_operation_started_timestamp_seconds{cluster="orders",namespace="prod",operation="grow"} 1.7952552e+09`,
		`stevedore_operation_late{cluster="orders",namespace="prod",operation="grow"} 1`,
		`stevedore_leader 1`,
	} {
		assert.Contains(t, text, line+"\n")
	}
	m := telemetry.NewMetrics(telemetry.Build{}, nil)
	m.Working(orders, telemetry.Work{Operation: "grow", Groups: []telemetry.Group{{Name: "hot"}}})
	m.Looked(orders, start)
	m.Working(orders, telemetry.Work{Groups: []telemetry.Group{{Name: "hot"}}})
	assert.Empty(t, series(t, m, "stevedore_operation_"), "the operation has ended")
	m.Forget(orders)
	assert.Empty(t, series(t, m, "stevedore_cluster_"))
}
