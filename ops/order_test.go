package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// began are the operations in the order in which they were told to begin or to
// succeed, each report once.
func began(w *world) []string {
	var all []string
	seen := map[string]bool{}
	for _, r := range w.reports {
		operation := strings.HasPrefix(r.Reason, "Upgrade") || strings.HasPrefix(r.Reason, "Grow") || strings.HasPrefix(r.Reason, "Shrink") ||
			strings.HasPrefix(r.Reason, "Restart") || strings.HasPrefix(r.Reason, "Suspend") || strings.HasPrefix(r.Reason, "Resume")
		if operation && !seen[r.ID] {
			seen[r.ID] = true
			all = append(all, r.Reason)
		}
	}
	return all
}

// everything is what one commit may want at once.
func everything(w *world) {
	w.change("ada", "rotated")
	w.change(systemSecret, "rotated too")
	w.desired.RestartedAt = w.now.Add(time.Hour).Format(time.RFC3339)
	to(w, "6.4.3")
	w.desired.Sets = slices.Clone(w.desired.Sets)
	w.desired.Sets[0].Replicas = 5 // dedicated masters
	w.desired.Sets[1].Replicas = 4 // the hot group grows, the cold one shrinks
	w.desired.Sets[2].Replicas = 1
}

// large has masters, a group that grows and one that shrinks, with shards on all.
func large(t *testing.T) *world {
	d := tiered(3, 2)
	d.Sets[2].Replicas = 3
	w := upgradable(t, d)
	w.fill(model.Table{Name: "doc.one", Replicas: "1", TotalShardsPerNode: -1}, 6, 2)
	return w
}

func checkEverything(t *testing.T, w *world) {
	t.Helper()
	checkUpgraded(t, w, "6.4.3")
	checkSystem(t, w)
	require.Equal(t, "rotated", w.users["ada"].password)
	require.Equal(t, "rotated too", w.users["system"].password)
	require.Len(t, w.nodeNames(), 10)
	require.Equal(t, 10, w.counts)
	require.Equal(t, model.StageVerified, w.record.Stage)
}

// What one commit brings is done in an order that people can rely on, and the
// passwords wait for none of it.
func TestOneCommitWithEverythingIsDoneInOrder(t *testing.T) {
	w := large(t)
	everything(w)
	w.run(1500)
	checkEverything(t, w)
	operations := began(w)
	require.Greater(t, len(operations), 7, "%v", operations)
	assert.Equal(t, []string{"UpgradeStarted", "UpgradeSucceeded", "GrowStarted", "GrowSucceeded", "GrowStarted", "GrowSucceeded", "ShrinkStarted", "ShrinkSucceeded"}, operations[:8], "%v", operations)
	assert.Equal(t, []string{cold + " 3 to 1"}, w.lowered)
	grows := slices.DeleteFunc(slices.Clone(w.reports), func(r model.Report) bool { return r.Reason != "GrowSucceeded" })
	require.Len(t, grows, 2)
	assert.Equal(t, []int{3, 5, 5, 5}, []int{grows[0].OldMasters, grows[0].NewMasters, grows[1].OldMasters, grows[1].NewMasters}, "masters come first")
	user := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "PasswordChanged" })
	upgrade := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "UpgradeSucceeded" })
	assert.Less(t, user, upgrade, "passwords do not wait for an upgrade")
}

// Where one operation has ended and the next one is due, nothing is done: the first
// time that all is said to be as its definition says, it is.
func TestBetweenTwoOperationsOfACommitNothingIsDone(t *testing.T) {
	for name, change := range map[string]func(*world){
		"everything": everything,
		"nodes and another template": func(w *world) {
			w.desired.Sets = slices.Clone(w.desired.Sets)
			w.desired.Sets[1].Replicas = 4
			w.template, w.desired.Revision = "t2", "rev-t2"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := large(t)
			change(w)
			done := false
			for turns := 0; turns < 1500 && !done; turns++ {
				d, err := w.pass()
				require.NoError(t, err)
				done = d.Verdict == model.Done
			}
			require.True(t, done)
			reports := len(w.reports)
			w.run(1500)
			assert.Empty(t, w.reports[reports:], "nothing is left to begin")
		})
	}
}

// The same, dying again and again at any write.
func TestOneCommitWithEverythingSurvivesAProcessThatKeepsDying(t *testing.T) {
	for _, every := range []int{5, 7, 11} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("every %d writes after=%v", every, after), func(t *testing.T) {
				w := large(t)
				everything(w)
				w.after = after
				w.keepsDying(every, 3000)
				w.run(200)
				checkEverything(t, w)
				for _, reason := range []string{"UpgradeSucceeded", "SuspendStarted"} {
					assert.LessOrEqual(t, reported(w, reason), 1, reason)
				}
			})
		}
	}
}

// A resume starts the version that was suspended; another one follows as an
// upgrade, and then the sizes.
func TestAnotherVersionAndSizeWhileSuspendedFollowTheResume(t *testing.T) {
	w := upgradable(t, tiered(3, 2))
	w.desired = at0(w.desired)
	w.run(60)
	checkSuspended(t, w)
	to(w, "6.4.3")
	var d model.Decision
	for range 5 {
		var err error
		d, err = w.pass()
		require.NoError(t, err)
	}
	require.Equal(t, []string{"suspended"}, reasons(d.Waits))
	require.Equal(t, "6.3.7", w.record.Version)
	sets := tiered(3, 3).Sets
	w.desired.Sets, w.desired.Revision = sets, "rev-back"
	w.run(1000)
	checkUpgraded(t, w, "6.4.3")
	require.Len(t, w.nodeNames(), 7)
	assert.Equal(t, []string{"SuspendStarted", "SuspendSucceeded", "ResumeStarted", "ResumeSucceeded", "UpgradeStarted", "UpgradeSucceeded", "GrowStarted", "GrowSucceeded"}, began(w))
}

// A suspension that comes while nodes are on two versions waits for the end of
// the upgrade.
func TestAnUpgradeThatHasBegunEndsBeforeASuspension(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	to(w, "6.4.3")
	for w.record.Operation == nil || w.record.Operation.Kind != model.OperationUpgrade || !slices.ContainsFunc(podsOf(w), func(p *toyPod) bool { return p.restarts > 0 }) {
		_, err := w.pass()
		require.NoError(t, err)
	}
	w.desired = at0(w.desired)
	w.run(400)
	checkSuspended(t, w)
	assert.Equal(t, "6.4.3", w.record.Version)
	assert.Equal(t, []string{"UpgradeStarted", "UpgradeSucceeded", "SuspendStarted", "SuspendSucceeded"}, began(w))
}

func podsOf(w *world) []*toyPod {
	var all []*toyPod
	for _, p := range w.pods {
		all = append(all, p)
	}
	return all
}

// A suspension that comes in the middle of a shrink takes back what was excluded
// and stops the nodes that there are.
func TestASuspensionMidwayThroughAShrinkLosesNoNode(t *testing.T) {
	for turns := range 16 {
		t.Run(fmt.Sprintf("after %d turns", turns), func(t *testing.T) {
			w := newWorld(t, tiers(3, 3))
			w.run(60)
			w.now = w.now.Add(time.Minute)
			w.fill(model.Table{Name: "doc.one", Replicas: "1", TotalShardsPerNode: -1}, 6, 2)
			w.desired = tiers(3, 1)
			w.passes(turns)
			w.desired = at0(tiers(3, 1))
			w.run(150)
			checkSuspended(t, w)
			require.Nil(t, w.record.Exclusions)
			require.Empty(t, w.exclude)
			w.desired = tiers(3, 1)
			w.desired.Revision = "rev-back"
			w.run(200)
			require.Len(t, w.nodeNames(), 4)
			require.Empty(t, w.exclude)
			for _, s := range w.shards {
				require.Contains(t, w.nodeNames(), s.Node)
			}
		})
	}
}
