package ops_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/rollout"
)

// upgradable is a cluster that was made with CrateDB 6.3.7.
func upgradable(t *testing.T, d model.Desired) *world {
	t.Helper()
	d = restartable(d)
	d.Version = "6.3.7"
	d.License = nil
	w := newWorld(t, d)
	w.run(60)
	w.now = w.now.Add(time.Minute)
	return w
}

func to(w *world, version string) {
	w.desired.Version, w.desired.ImageRegistry = version, "new/crate"
	w.desired.Revision = "rev-" + version
}

func checkUpgraded(t *testing.T, w *world, version string) {
	t.Helper()
	require.Nil(t, w.record.Operation)
	require.Nil(t, w.record.Lock)
	require.Equal(t, "all", w.persistent, "C: the allocation lock is given back")
	require.Equal(t, version, w.record.Version)
	for name, p := range w.pods {
		require.Equal(t, w.wanted(), p.template, name)
	}
	for _, table := range w.middles {
		require.NotEmpty(t, table.replica, "what was made midway has its replica in the end")
	}
}

func reportOf(t *testing.T, w *world, reason string) model.Report {
	t.Helper()
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == reason })
	require.GreaterOrEqual(t, i, 0, reason)
	return w.reports[i]
}

func TestAnUpgradeTakesEachPodOnceAndIsReportedAsCrateOperatorDoes(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	to(w, "6.4.3")
	var progress []model.Progress
	for range 200 {
		d, err := w.pass()
		require.NoError(t, err)
		if d.Progress != nil {
			progress = append(progress, *d.Progress)
		}
	}
	checkUpgraded(t, w, "6.4.3")
	for name, p := range w.pods {
		assert.Equal(t, 1, p.restarts, name)
	}
	data := model.Upgrade{OldVersion: "6.3.7", NewVersion: "6.4.3", OldRegistry: "old/crate", NewRegistry: "new/crate"}
	for reason, status := range map[string]model.Status{"UpgradeStarted": model.StatusInProgress, "UpgradeSucceeded": model.StatusSuccess} {
		require.Equal(t, 1, reported(w, reason))
		r := reportOf(t, w, reason)
		assert.Equal(t, model.EventUpgrade, r.Event)
		assert.Equal(t, status, r.Status)
		assert.Equal(t, data, r.Upgrade)
	}
	assert.Zero(t, reported(w, "RestartSucceeded"))
	assert.Zero(t, reported(w, "Refused"))

	require.NotEmpty(t, progress)
	assert.Equal(t, 0, progress[0].Done)
	assert.Equal(t, 3, progress[0].Total)
	assert.Zero(t, progress[0].ETA, "there is no base for it")
	for _, p := range progress {
		assert.NotEqual(t, hot, p.Subject, "before a pod is chosen none is named, and no StatefulSet in its place")
	}
	assert.True(t, slices.ContainsFunc(progress, func(p model.Progress) bool {
		return p.Done == 1 && p.ETA > 0 && p.Subject == hot+"-1"
	}), "%v", progress)
	writes := w.writes
	w.run(3)
	assert.Equal(t, writes, w.writes, "and then nothing is written")
}

// Another registry with the same version is the same, and so is a hotfix back.
func TestWhatElseIsAnUpgrade(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	to(w, "6.3.9")
	w.run(200)
	checkUpgraded(t, w, "6.3.9")
	to(w, "6.3.8")
	w.run(200)
	checkUpgraded(t, w, "6.3.8")
	for name, p := range w.pods {
		assert.Equal(t, 2, p.restarts, name)
	}
	assert.Equal(t, 2, reported(w, "UpgradeSucceeded"))

	s := made(t)
	s.d.Revision, s.d.ImageRegistry = "rev-x", "mine"
	s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot, Path: "image", Old: "registry:5000/crate:5.10.1", New: "mine:5.10.1"}}
	d := s.decide()
	require.NotNil(t, d.Record.Operation)
	assert.Equal(t, model.OperationUpgrade, d.Record.Operation.Kind)
	assert.Equal(t, model.Upgrade{OldVersion: "5.10.1", NewVersion: "5.10.1", OldRegistry: "registry:5000/crate", NewRegistry: "mine"}, d.Reports[0].Upgrade)
}

func TestAnUpgradeKilledAtAnyWriteEndsTheSame(t *testing.T) {
	atEachWrite(t, 15, 1, func(t *testing.T, c cut) *world {
		w := upgradable(t, wantedCluster(3))
		to(w, "6.4.3")
		w.dies(c)
		w.until2(func() bool { return w.writes > w.began+12 })
		w.middles = append(w.middles, &toyTable{primary: hot + "/0"})
		w.run(300)
		checkUpgraded(t, w, "6.4.3")
		for name, p := range w.pods {
			require.Equal(t, 1, p.restarts, "%s is restarted once", name)
		}
		if !c.lose {
			require.Equal(t, 1, reported(w, "UpgradeSucceeded"))
			require.Equal(t, 1, reported(w, "UpgradeStarted"))
		}
		return w
	})
}

// until2 runs passes until a condition holds, and lives through a kill.
func (w *world) until2(so func() bool) {
	w.t.Helper()
	for range 300 {
		if so() {
			return
		}
		_, _ = w.pass()
	}
	require.Fail(w.t, "it did not come to that")
}

// While one node is new its tables are yellow, and it goes on; a copy that is
// missing for another reason holds it up.
func TestATableThatIsMadeMidwayDoesNotStopAnUpgrade(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	to(w, "6.4.3")
	w.until(func() bool { return w.pods[hot+"-0"].template == w.wanted() && w.pods[hot+"-0"].away == 0 })
	w.middles = []*toyTable{{primary: hot + "/0"}, {primary: hot + "/0"}}
	yellow := false
	for range 200 {
		d, err := w.pass()
		require.NoError(t, err)
		yellow = yellow || w.middles[0].replica == "" && d.Record.Operation != nil
	}
	require.True(t, yellow)
	checkUpgraded(t, w, "6.4.3")
}

func TestAnImageThatDoesNotComeUpStopsAtTheFirstPodAndIsCorrectedForward(t *testing.T) {
	stopped := func(t *testing.T, unpullable bool) *world {
		w := upgradable(t, wantedCluster(3))
		w.desired.Operations.RestartTimeout = 20 * time.Second
		to(w, "6.4.2")
		w.bad[w.wanted()], w.unpullable[w.wanted()] = true, unpullable
		w.passes(60)
		d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
		require.Contains(t, reasons(d.Refusals), "upgrade-stopped")
		require.Equal(t, "t1", w.live[hot], "the template protects the others again")
		require.Equal(t, "all", w.persistent, "the allocation lock is given back")
		require.Equal(t, w.wanted(), w.pods[hot+"-0"].template, "the pod is left as it is")
		require.Zero(t, w.pods[hot+"-1"].restarts)
		require.Equal(t, 1, reported(w, "UpgradeStopped"))
		r := reportOf(t, w, "UpgradeStopped")
		require.Equal(t, model.StatusFailure, r.Status)
		require.Equal(t, model.EventUpgrade, r.Event)
		require.Equal(t, "6.4.2", r.Upgrade.NewVersion)
		require.Equal(t, "6.3.7", w.record.Version)
		return w
	}
	for _, unpullable := range []bool{false, true} {
		t.Run(fmt.Sprintf("forward, never started %v", unpullable), func(t *testing.T) {
			w := stopped(t, unpullable)
			to(w, "6.4.3")
			w.run(200)
			checkUpgraded(t, w, "6.4.3")
			assert.Equal(t, "6.4.3", reportOf(t, w, "UpgradeSucceeded").Upgrade.NewVersion)
		})
		t.Run(fmt.Sprintf("with the record lost, never started %v", unpullable), func(t *testing.T) {
			w := stopped(t, unpullable)
			w.record = model.Record{}
			w.passes(60)
			assert.Zero(t, w.pods[hot+"-1"].restarts, "no other pod goes")
			to(w, "6.4.3")
			w.run(200)
			checkUpgraded(t, w, "6.4.3")
		})
		t.Run(fmt.Sprintf("aborted, never started %v", unpullable), func(t *testing.T) {
			w := stopped(t, unpullable)
			w.commands.Abort = "true"
			w.passes(20)
			assert.Equal(t, unpullable, w.pods[hot+"-0"].template == "t1", "what has started stays, the other is recreated")
			assert.Zero(t, w.pods[hot+"-1"].restarts)
		})
	}
	t.Run("taken back, never started", func(t *testing.T) {
		w := stopped(t, true)
		to(w, "6.3.7")
		w.desired.ImageRegistry = "old/crate"
		w.run(200)
		checkUpgraded(t, w, "6.3.7")
		assert.Equal(t, "t1", w.pods[hot+"-0"].template)
		assert.Zero(t, w.pods[hot+"-1"].restarts)
		assert.Equal(t, model.StatusFailure, reportOf(t, w, "UpgradeTakenBack").Status)
	})
	t.Run("taken back, though it has started", func(t *testing.T) {
		w := stopped(t, false)
		to(w, "6.3.7")
		w.passes(60)
		d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
		assert.Contains(t, reasons(d.Refusals), "downgrade-refused")
		assert.Equal(t, "t1 6.4.2", w.pods[hot+"-0"].template, "it is not put back")
		assert.Equal(t, 1, w.pods[hot+"-0"].restarts)
		to(w, "6.4.3")
		w.run(200)
		checkUpgraded(t, w, "6.4.3")
	})
}

func TestARevertMidwayIsRefusedOnceANodeHasStartedTheNewMinor(t *testing.T) {
	for _, step := range []string{model.StepDown, model.StepStable, model.StepNext} {
		t.Run(step, func(t *testing.T) {
			w := upgradable(t, wantedCluster(3))
			to(w, "6.4.3")
			w.until(func() bool { return w.pods[hot+"-0"].template == w.wanted() && w.pods[hot+"-0"].away == 0 })
			w.until(func() bool { return w.record.Operation.Step == step })
			_, err := w.pass() // it is seen
			require.NoError(t, err)
			to(w, "6.3.7")
			w.passes(60)
			d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
			require.Contains(t, reasons(d.Refusals), "downgrade-refused")
			assert.Equal(t, "all", w.persistent)
			assert.Equal(t, "t1 6.4.3", w.live[hot], "the template stays")
			assert.LessOrEqual(t, w.pods[hot+"-0"].restarts+w.pods[hot+"-1"].restarts+w.pods[hot+"-2"].restarts, 2)
			to(w, "6.4.3")
			w.run(200)
			checkUpgraded(t, w, "6.4.3")
		})
	}
}

func TestAnAbortedUpgradeStaysWhereItStandsAndGoesOnWhenItIsResumed(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	to(w, "6.4.3")
	w.until(func() bool { return w.pods[hot+"-0"].template == w.wanted() && w.pods[hot+"-0"].away == 0 })
	w.commands.Abort = "true"
	w.passes(30)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	i := slices.Index(reasons(d.Refusals), "aborted")
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, d.Refusals[i].Message, "1 pod(s) run 6.4.3 and 2 still")
	assert.Equal(t, "all", w.persistent)
	assert.Nil(t, w.record.Operation)
	w.commands.Abort = "false"
	w.run(200)
	checkUpgraded(t, w, "6.4.3")
}

func TestAnUpgradeToAnotherMajorWaitsUntilTheAgesAreKnown(t *testing.T) {
	s := made(t)
	s.d.Revision, s.d.Version = "rev-x", "6.0.6"
	for _, c := range []struct {
		name   string
		change func(*situation)
		waits  bool
	}{
		{"no tables read", func(s *situation) { s.o.Database.TablesKnown = false }, true},
		{"no contact", func(s *situation) { s.o.Database = model.Database{At: s.o.At, Contact: model.No} }, true},
		{"an age unknown", func(s *situation) { s.o.Database.Tables = []model.Table{{Name: "doc.t"}} }, true},
		{"all known", func(s *situation) { s.o.Database.Tables = []model.Table{{Name: "doc.t", Created: "5.0.0"}} }, false},
		{"a hotfix", func(s *situation) {
			s.d.Version, s.o.Database.TablesKnown = "5.10.2", false
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &situation{d: s.d, o: s.o, r: s.r}
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.waits, slices.Contains(reasons(d.Waits), "table-ages-known"), "%v", d.Waits)
			assert.Equal(t, c.waits, d.Record.Operation == nil)
			assert.Empty(t, d.Refusals)
			assert.True(t, rollout.Detailed(&s.d, &s.r), "the tables are asked for")
		})
	}
}

func TestWhatEveryNodeSaysDecidesWhetherAnUpgradeHasSucceeded(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	to(w, "6.4.3")
	w.until(func() bool {
		return w.record.Operation != nil && len(w.record.Operation.Restart.Done) == 3 && w.record.Operation.Step == model.StepNext
	})
	for _, says := range []string{"6.4.2", ""} {
		o := w.observe()
		o.Database.Pods[1].Version = says
		d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
		assert.Contains(t, reasons(d.Waits), "version-running")
		assert.NotNil(t, d.Record.Operation)
	}
	w.run(30)
	checkUpgraded(t, w, "6.4.3")
}

// What has come up on the new version after the template went back is not outdated.
func TestAPodOnTheNewVersionIsNotRestartedOntoTheOldOne(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	w.desired.Operations.RestartTimeout = 20 * time.Second
	to(w, "6.4.3")
	w.bad[w.wanted()] = true
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepStopped })
	w.commands.Abort = "true"
	w.passes(5)
	require.Equal(t, "t1", w.live[hot])
	delete(w.bad, w.wanted())
	_, err := w.pass()
	require.NoError(t, err)
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Version, s.d.RestartedAt, s.d.Changes = "6.4.3", w.now.Format(time.RFC3339), nil
	s.r.Version, s.o.Commands.Abort = "6.4.3", "false" // nothing but the template is left to say so
	for i := range s.o.Pods {
		s.o.Pods[i].Created = w.now.Add(time.Hour)
	}
	d := s.decide()
	assert.Nil(t, d.Record.Operation, "%+v", d.Record.Operation)
	assert.Nil(t, d.Disruptive)
}
