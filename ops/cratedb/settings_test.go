package cratedb

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// The node that is asked was started with the value, and the others were not: they
// are asked too, and have it after it was set on any node.
func TestASettingIsReadFromEveryNodeAndSetWhereOneLacksIt(t *testing.T) {
	const name = "stats.jobs_log_size"
	s := simulate(t, "6.4.3", 2)
	s.start(2, "6.4.3", 2, 2, "-C"+name+"=7000")
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	shown := func() map[string]string {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		target := Target{Password: s.secrets["system"], Settings: []string{name, "no.such.setting"}}
		for _, n := range []string{"2", "0", "1"} {
			target.Pods = append(target.Pods, PodRef{Name: "pod-" + n, NodeName: "data-hot-" + n})
		}
		db := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Observe(ctx, target)
		all := map[string]string{"asked": db.Effective[name]}
		for _, p := range db.Pods {
			all[p.Pod], _ = p.Settings.Get(name)
		}
		return all
	}
	started := map[string]string{"asked": "7000", "pod-0": "10000", "pod-1": "10000", "pod-2": "7000"}
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(started, shown()) }, patience, 50*time.Millisecond, "each node shows what it was started with")

	set := model.Action{Kind: model.ActionSetSettings, Pod: "pod-2", Settings: name + "=7000"}
	result, err := s.run(set)
	require.NoError(t, err)
	assert.Equal(t, "the settings were so already", result.Message, "as far as this node knows")
	set.Expected = name + "=10000" // what another one shows
	_, err = s.run(set)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"asked": "7000", "pod-0": "7000", "pod-1": "7000", "pod-2": "7000"}, shown())
}
