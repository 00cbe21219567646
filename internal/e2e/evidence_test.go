package e2e

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A restart with the default waits of a cluster that has been left alone: each pod goes once,
// no acknowledged row is lost, and docs/performance.md has what it takes.
func TestSoakARestartWithTheDefaultWaitsGoesByTheEvidence(t *testing.T) {
	soak(t)
	v := departRestart(t, "restart-defaults")
	defaults := with("spec.operations", nil)
	v.define(defaults)
	daemon := v.sail("", "")
	v.settled(cutCluster)
	// As it is when a daemon has run for a while.
	v.throughout("the daemon has seen the cluster state for long enough", 35*time.Second, daemon.Running)
	before, began := statements(t, v.address(daemon)), time.Now()
	v.define(defaults, with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	address, spent := v.address(daemon), map[string][2]float64{}
	at, sent := began, before
	v.eventually("the restart has ended", restartPatience, func() bool {
		step := "none"
		if o := v.record(cutCluster).Operation; o != nil {
			step = o.Step
		}
		now, total := time.Now(), statements(t, address)
		spent[step] = [2]float64{spent[step][0] + now.Sub(at).Seconds(), spent[step][1] + float64(total-sent)}
		at, sent = now, total
		return v.restartEnded()
	})
	for _, step := range slices.Sorted(maps.Keys(spent)) {
		t.Logf("step %-9s %5.1f s, %4.0f statements", step, spent[step][0], spent[step][1])
	}
	took := time.Since(began)
	t.Logf("a restart of 3 nodes: %.1f s from the push to its end, %d statements", took.Seconds(), statements(t, v.address(daemon))-before)
	assert.Less(t, took, 3*time.Minute, "by the clock alone it takes more")
	v.stop(daemon)
	v.arrived()
}

// statements that a daemon has sent to databases, by its own count.
func statements(t *testing.T, address string) (total int) {
	t.Helper()
	_, metrics := get(t, "http://"+address+"/metrics")
	for _, match := range statementsOf.FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		total += n
	}
	return total
}

var statementsOf = regexp.MustCompile(`(?m)^stevedore_database_statements_total\{.*\} (\d+)$`)
