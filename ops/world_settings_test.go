package ops_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/setting"
)

// toySettings are the cluster settings of a world, without that which is held.
type toySettings struct {
	byHand, transients map[string]string
	statements         []string
	// late are the pods whose nodes have not taken what was set, with what they show.
	late map[string]string
}

var toyDefaults = map[string]string{"stats.jobs_log_size": "10000", "cluster.max_shards_per_node": "1000", "bulk.request_timeout": "1m"}

// A template in the toy is its hash and the settings taken live.
func split(token string) (string, model.SettingList) {
	hash, list, _ := strings.Cut(token, "|")
	return hash, model.SettingList(list)
}

func join(hash string, list model.SettingList) string {
	if list == "" {
		return hash
	}
	return hash + "|" + string(list)
}

func settingChanges(set string, old, wanted model.SettingList) []model.Change {
	var changes []model.Change
	for _, s := range slices.Concat(old.Settings(), wanted.Settings()) {
		before, _ := old.Get(s.Name)
		after, _ := wanted.Get(s.Name)
		if before != after {
			changes = append(changes, model.Change{Class: model.ChangeSetting, Set: set, Path: "command[" + s.Name + "]", Old: before, New: after})
		}
	}
	return changes
}

// effectiveSetting is what the node in the first pod shows.
func (w *world) effectiveSetting(name string) (string, bool) {
	return w.settingOn(slices.Min(slices.Collect(maps.Keys(w.pods))), name)
}

func (w *world) settingOn(pod, name string) (string, bool) {
	if v, ok := w.late[pod]; ok && name == jobsLog {
		return v, true
	}
	if v, ok := w.transients[name]; ok {
		return v, true
	}
	if v, ok := w.byHand[name]; ok {
		return v, true
	}
	if p := w.pods[pod]; p != nil {
		if v, ok := p.settings.Get(name); ok {
			return v, true
		}
	}
	v, ok := toyDefaults[name]
	return v, ok
}

func (w *world) readSettings(db *model.Database, pods []model.Pod) {
	db.SettingsAsked, db.Effective = setting.SettingsToRead(&w.desired, &w.record, pods), map[string]string{}
	for i := range db.Pods {
		var shown []model.Setting
		for _, name := range db.SettingsAsked {
			v, _ := w.settingOn(db.Pods[i].Pod, name)
			shown = append(shown, model.Setting{Name: name, Value: v})
			if i == 0 {
				db.Effective[name] = v
			}
		}
		db.Pods[i].Settings = manifest.NewSettingList(shown)
	}
}

func (w *world) askSetting(pod, query string) (string, bool) {
	for name := range toyDefaults {
		if strings.Contains(query, "settings['"+strings.ReplaceAll(name, ".", "']['")+"']") {
			return w.settingOn(pod, name)
		}
	}
	return "", false
}

func (w *world) changeSettings(statement string) (bool, error) {
	if names, ok := strings.CutPrefix(statement, "RESET GLOBAL "); ok {
		w.write(func() {
			w.statements = append(w.statements, statement)
			for name := range strings.SplitSeq(names, ", ") {
				delete(w.byHand, strings.Trim(name, `"`))
				delete(w.transients, strings.Trim(name, `"`))
			}
		})
		return true, nil
	}
	list, ok := strings.CutPrefix(statement, "SET GLOBAL PERSISTENT ")
	if !ok {
		return false, nil
	}
	if strings.Contains(list, "'bad'") {
		return true, errors.New("Failed to parse value [bad]")
	}
	w.write(func() {
		w.statements = append(w.statements, statement)
		for assignment := range strings.SplitSeq(list, ", ") {
			name, value, _ := strings.Cut(assignment, " = ")
			name, value = strings.Trim(name, `"`), strings.Trim(value, "'")
			i := slices.IndexFunc(w.record.Settings, func(e model.RecordedSetting) bool { return e.Name == name && e.Value == value })
			require.GreaterOrEqual(w.t, i, 0, "the intent is recorded before the setting")
			for set := range w.live {
				require.Contains(w.t, w.set(set).Annotated, name, "and is said on the StatefulSet")
			}
			if w.byHand == nil {
				w.byHand = map[string]string{}
			}
			w.byHand[name] = value
		}
	})
	return true, nil
}

const (
	jobsLog = "stats.jobs_log_size"
	shards  = "cluster.max_shards_per_node"
)

// settled is a made cluster whose definition has settings from the start.
func settledWorld(t *testing.T, settings ...model.Setting) *world {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.desired.Settings = settings
	w.run(60)
	require.Empty(t, w.statements, "what a node was started with is not set again")
	return w
}

func (w *world) push(revision string, settings ...model.Setting) {
	w.desired.Settings, w.desired.Revision, w.desired.Commit = settings, revision, "commit of "+revision
}

func (w *world) noneRestarted() {
	w.t.Helper()
	for name, p := range w.pods {
		require.Zero(w.t, p.restarts, name)
	}
}

func (w *world) reportsOf(reason string) int {
	n := 0
	for _, r := range w.reports {
		if r.Reason == reason {
			n++
		}
	}
	return n
}

func (w *world) waiting() []string {
	d, err := w.pass()
	require.NoError(w.t, err)
	var all []string
	for _, r := range d.Waits {
		all = append(all, r.Name)
	}
	return all
}
