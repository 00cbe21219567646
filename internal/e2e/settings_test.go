package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/names"
)

// settings of the whole cluster, in the definition.
func clusterSettings(pairs ...string) edit {
	settings := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		settings[pairs[i]] = pairs[i+1]
	}
	return with("spec.cluster.settings", settings)
}

func (s *situation) setting(name string) string {
	s.Helper()
	return s.rows("orders", "SELECT settings['"+strings.ReplaceAll(name, ".", "']['")+"'] FROM sys.cluster")[0][0]
}

func (s *situation) hasArgument(argument string) bool {
	return slices.Contains(s.set("crate-data-hot-orders").Spec.Template.Spec.Containers[0].Command, argument)
}

func TestSettingsThatCrateDBTakesLiveRestartNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, "settings-live")
	s.appSecret("app-password")
	push := func(edits ...edit) {
		s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", append([]edit{with(replicasOfHot, 3)}, edits...)...)})
	}
	push(clusterSettings("stats.jobs_log_size", "5000"))
	s.run()
	s.done("orders")
	assert.Equal(t, "5000", s.setting("stats.jobs_log_size"))
	assert.Empty(t, s.record("orders").Settings, "what the nodes were started with is not set again")
	mark := s.set("crate-data-hot-orders").Spec.Template.Annotations[names.TemplateAnnotation]

	push(clusterSettings("stats.jobs_log_size", "20000", "indices.breaker.query.limit", "50%",
		"cluster.routing.allocation.disk.watermark.low", "20gb", "cluster.routing.allocation.disk.watermark.high", "10gb", "cluster.routing.allocation.disk.watermark.flood_stage", "5gb"))
	s.until("the settings are set", func() bool {
		return s.setting("stats.jobs_log_size") == "20000" && s.setting("cluster.routing.allocation.disk.watermark.low") == "20gb"
	})
	s.done("orders")
	s.untilEvent("orders", "SettingsSet")
	assert.True(t, s.hasArgument("-Cstats.jobs_log_size=20000"), "a node that starts later has it too")
	assert.Equal(t, mark, s.set("crate-data-hot-orders").Spec.Template.Annotations[names.TemplateAnnotation])

	// Somebody changes one by hand: said, and left.
	s.rows("orders", `SET GLOBAL PERSISTENT "stats.jobs_log_size" = 7`)
	s.until("the change is noticed", func() bool { return slices.Contains(s.reasons("orders"), "setting-changed") })
	s.untilEvent("orders", "SettingsChanged")
	s.rows("orders", `SET GLOBAL PERSISTENT "stats.jobs_log_size" = 20000`)
	s.until("and that it is ours again", func() bool { return isDone(s.record("orders")) && len(s.reasons("orders")) == 0 })

	// Gone from the definition: ours are taken off, others stay.
	s.rows("orders", `SET GLOBAL PERSISTENT "stats.operations_log_size" = 99`)
	push()
	s.until("the settings are reset", func() bool {
		return s.setting("cluster.routing.allocation.disk.watermark.low") == "85%" && len(s.record("orders").Settings) == 0
	})
	s.done("orders")
	assert.Equal(t, "5000", s.setting("stats.jobs_log_size"), "the nodes keep what they were started with")
	assert.Equal(t, "99", s.setting("stats.operations_log_size"))
	assert.False(t, s.hasArgument("-Cstats.jobs_log_size=20000"))
	assert.NotContains(t, s.set("crate-data-hot-orders").Annotations, names.SettingsAnnotation)
	s.noPodRestarted()
}

// CrateDB says no before the template follows: an evicted pod still starts.
func TestAValueThatCrateDBRefusesStaysOutOfTheTemplate(t *testing.T) {
	t.Parallel()
	s := begin(t, "settings-bad")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 1))})
	s.run()
	s.done("orders")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", clusterSettings("stats.jobs_log_size", "many"))})
	s.until("the failure is said", func() bool { return slices.Contains(s.reasons("orders"), "action-failed") })
	assert.False(t, s.hasArgument("-Cstats.jobs_log_size=many"))
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", clusterSettings("stats.jobs_log_size", "4000"))})
	s.done("orders")
	s.until("the corrected value is set", func() bool { return s.setting("stats.jobs_log_size") == "4000" })
	s.noPodRestarted()
}

// The daemon is killed before and after the n-th write of a change of settings.
func TestSettingsSurviveADaemonThatDies(t *testing.T) {
	t.Parallel()
	change := func(v *restartVoyage) {
		v.define(clusterSettings("stats.jobs_log_size", "20000", "cluster.max_shards_per_node", "2000"))
	}
	isSet := func(v *restartVoyage) bool {
		rec := v.record(cutCluster)
		return isDone(rec) && len(rec.Settings) == 2 && v.setting("stats.jobs_log_size") == "20000" &&
			v.setting("cluster.max_shards_per_node") == "2000" && v.hasArgument("-Cstats.jobs_log_size=20000")
	}
	arrived := func(v *restartVoyage) {
		v.Helper()
		v.until("the settings are set, and the template follows", func() bool { return isSet(v) })
	}
	v := departRestart(t, "settings-cut")
	v.end()
	trace := filepath.Join(t.TempDir(), "writes")
	daemon := v.sail("", trace)
	change(v)
	arrived(v)
	v.stop(daemon)
	v.noPodRestarted()
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	writes := strings.Count(string(content), "\n")
	t.Logf("two settings set live: %d writes", writes)
	require.Greater(t, writes, 3)

	for _, die := range cuts(writes) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			v := departRestart(t, "settings-"+strings.ReplaceAll(die, ":", "-"))
			v.end()
			change(v)
			v.cutOff(die, "the settings are set, and the template follows", patience, func() bool { return isSet(v) })
			v.noPodRestarted()
		})
	}
}
