package ops_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/model"
)

var (
	fetchedTables   = regexp.MustCompile(`^RESTORE SNAPSHOT "(\w+)"\."([a-z0-9-]+)" TABLE (.*) WITH \(wait_for_completion = false(, schema_rename_pattern = '\(\.\+\)', schema_rename_replacement = '(.*)')?\)$`)
	withoutReplicas = regexp.MustCompile(`^ALTER TABLE "(\w+)"\."(\w+)" SET \(number_of_replicas = 0\)$`)
)

// liveTables are those that the cluster has.
func (w *world) liveTables() []string {
	if w.operations == nil {
		return []string{"doc.one", "doc.two"}
	}
	return slices.Sorted(maps.Keys(w.operations))
}

// seeFetch shows what a running cluster has of tables that are being restored, as a reading does.
func (w *world) seeFetch(db *model.Database) {
	if !w.record.Bootstrap.Done || db.Contact != model.Yes {
		return
	}
	db.Hidden = fetch.Hidden(&w.record)
	for name, looks := range w.restored {
		if looks != 0 && !slices.Contains(db.Hidden, name) {
			db.Health.Colour = max(db.Health.Colour, model.Red)
			db.Health.Tables = append(db.Health.Tables, name)
		}
	}
	if !backup.NeedsFacts(&w.desired, &w.record) {
		return
	}
	db.FactsKnown = true
	for name, n := range w.operations {
		db.Facts = append(db.Facts, model.TableFacts{Name: name, Primaries: 4, Started: 4, Operations: n, Bytes: 1 << 20})
	}
	for name, looks := range w.restored {
		facts := model.TableFacts{Name: name, Primaries: 4, Bytes: 1 << 20}
		if looks == 0 {
			facts.Started, facts.Operations = 4, w.came[name]
		}
		db.Facts = append(db.Facts, facts)
	}
}

// seeDiskUse shows how full the disks are, where a test says so: each node has one of 1 GiB.
func (w *world) seeDiskUse(db *model.Database) {
	if w.diskUse == nil {
		return
	}
	db.Settings.LowWatermark, db.Settings.DiskThreshold = cmp.Or(w.watermark, "85%"), true
	for i := range db.Nodes {
		n := &db.Nodes[i]
		n.DiskSize, n.DiskUsed = 1<<30, *w.diskUse
		if *w.diskUse < 0 {
			n.DiskSize = -1 // as CrateDB says it where it does not know
		}
	}
}

// fetchUnder restores tables into a cluster that has others.
func (w *world) fetchUnder(repository, snapshot, list, schema string) error {
	r := w.repository(repository)
	require.NotNil(w.t, r)
	i := slices.IndexFunc(r.snapshots, func(s *toySnapshot) bool { return s.name == snapshot })
	if i < 0 {
		return fmt.Errorf("%w: snapshot does not exist", execute.ErrRejected)
	}
	content := r.snapshots[i].operations
	f := model.Fetch{Schema: schema}
	names := strings.Split(strings.ReplaceAll(list, `"`, ""), ", ")
	for _, name := range names {
		if why := w.refused[name]; why != "" {
			return fmt.Errorf("%w: %s", execute.ErrRejected, why)
		}
		_, live := w.operations[f.Target(name)]
		if _, there := w.restored[f.Target(name)]; there || live {
			return fmt.Errorf("%w: Relation '%s' already exists.", execute.ErrRejected, f.Target(name))
		}
	}
	w.write(func() {
		if w.restored == nil {
			w.restored = map[string]int{}
		}
		if w.came == nil {
			w.came = map[string]int64{}
		}
		for _, name := range names {
			target := f.Target(name)
			w.restored[target], w.came[target] = max(w.needs, 1), content[name]
			if w.unfetchable[name] > 0 {
				w.unfetchable[name]--
				w.restored[target] = -1
			}
		}
		w.fetching = repository
	})
	return nil
}
