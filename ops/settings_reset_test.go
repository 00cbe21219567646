package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// decidesReset takes the setting out of the definition and looks until its reset is decided.
func decidesReset(w *world) model.Decision {
	w.push("rev-3")
	for range 50 {
		d := w.at().decide()
		if slices.Contains(kinds(d), model.ActionResetSettings) {
			return d
		}
		w.record = d.Record
	}
	require.Fail(w.t, "the reset is not decided")
	return model.Decision{}
}

// The reset was done, its answer was lost, and it is tried again on the reading from before it.
// The setting is off then, and nobody else has set it.
func TestASettingWhoseResetHadNoAnswerIsReset(t *testing.T) {
	for shown, reported := range map[string][]int{"": {1, 0}, "7": {0, 1}} {
		w := settledWorld(t)
		w.push("rev-2", model.Setting{Name: jobsLog, Value: "20000"})
		w.run(20)
		d := decidesReset(w)
		reset := d.Actions()[0]
		_, err := execute.Run(t.Context(), reset, w.tools())
		require.NoError(t, err)
		require.Empty(t, w.byHand[jobsLog])
		if shown != "" {
			w.byHand[jobsLog] = shown
		}
		result, err := execute.Run(t.Context(), reset, w.tools())
		require.NoError(t, err)
		w.record = ops.RecordResult(d.Record, reset, result, w.now)
		w.run(20)
		assert.Equal(t, shown, w.byHand[jobsLog])
		assert.Empty(t, w.record.Settings)
		assert.Equal(t, reported, []int{w.reportsOf("SettingsReset"), w.reportsOf("SettingsLeft")}, "shown: %q", shown)
	}
}

// What was before our second value is our first one: to show it is not to be off.
func TestAResetKnowsNoValueBeforeItAfterASecondOneOfOurs(t *testing.T) {
	w := settledWorld(t)
	for _, value := range []string{"20000", "30000"} {
		w.push("rev-"+value, model.Setting{Name: jobsLog, Value: value})
		w.run(20)
	}
	d := decidesReset(w)
	assert.Empty(t, d.Actions()[0].Expected)
}

// The annotation says that a setting was about to be set. Each time the record is lost that is all that is known of it, and
// while nobody answers nothing more is found out.
func TestASettingThatWasOnlyAboutToBeSetIsSetHoweverOftenTheRecordIsLost(t *testing.T) {
	for lost := range 3 {
		w := settledWorld(t)
		w.push("rev-2", model.Setting{Name: jobsLog, Value: "20000"})
		for range 50 {
			if w.record = w.at().decide().Record; len(w.record.Settings) > 0 {
				break
			}
		}
		for i := range w.sets {
			w.sets[i].Annotated = setting.SettingsAnnotation(&view.View{Record: w.record})
		}
		for range lost {
			w.record = model.Record{}
			s := w.at()
			s.o.Database = model.Database{}
			e := effective(t, s.decide(), hot)
			w.set(hot).Annotated = e.Settings
		}
		w.run(30)
		assert.Equal(t, []string{`SET GLOBAL PERSISTENT "stats.jobs_log_size" = '20000'`}, w.statements, "lost %d times", lost)
		assert.Zero(t, w.reportsOf("SettingsChanged"))
	}
}

// Seed 6420117141: only the node that somebody had added was started with the setting, and so showed whose the value was.
func TestANodeThatSomebodyHasAddedSaysWhoseASettingIs(t *testing.T) {
	for _, c := range []struct{ started, left string }{{"5000", "7"}, {"", "20000"}} {
		w := settledWorld(t)
		w.record.Sets = slices.Clone(w.record.Sets)
		w.record.Sets[0].Replicas = 2
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas = 2
		if c.started != "" {
			w.pods[hot+"-2"].settings = manifest.NewSettingList([]model.Setting{{Name: jobsLog, Value: c.started}})
		}
		w.byHand = map[string]string{jobsLog: "7"}
		w.push("rev-2", model.Setting{Name: jobsLog, Value: "20000"})
		w.desired.Operations.Consent = append(w.desired.Operations.Consent, definition.ConsentTwoMasters)
		for range 8 {
			_, _ = w.pass()
		}
		if c.left == "7" {
			assert.Equal(t, "7", w.byHand[jobsLog])
		} else {
			assert.Len(t, w.statements, 1, "nothing says that it is theirs")
		}
	}
}
