package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// A node that gets less memory says how much of its heap it uses until it has restarted. Whether that is
// known or not, and whether it fits or not, the restart goes on.
func TestLessMemoryIsSaidWithTheHeapInUseAndHoldsNothingBack(t *testing.T) {
	const mib = 1 << 20
	amounts := func(memory string, ratio float64) []model.GroupCompute {
		return []model.GroupCompute{{Group: "hot", Compute: model.Compute{MemoryLimit: memory, HeapRatio: ratio}}}
	}
	used := map[string]model.Heap{
		hot + "/0": {Used: 300 * mib, Max: 1024 * mib}, hot + "/1": {Used: 600 * mib, Max: 1024 * mib}, hot + "/2": {Used: 128 * mib, Max: 1024 * mib},
	}
	for _, c := range []struct {
		name          string
		before, after []model.GroupCompute
		heaps         map[string]model.Heap
		// first is said before the first pod goes, then once only pod 2 is left.
		first, then []string
	}{
		{"it fits on no node", amounts("4Gi", 0.25), amounts("1Gi", 0.25), used,
			[]string{"a memory limit of 1.0 GiB instead of 4.0 GiB", "a heap of 256.0 MiB instead of 1.0 GiB", "node crate-data-hot-c/1 uses about 640.0 MiB of its heap of 1.0 GiB now", "more than it gets"},
			[]string{"node crate-data-hot-c/2 uses about 128.0 MiB of its heap of 1.0 GiB now"}},
		{"it fits", amounts("4Gi", 0.25), amounts("3Gi", 0.25), used, []string{"node crate-data-hot-c/1 uses about 640.0 MiB", "a heap of 768.0 MiB"}, []string{hot + "/2"}},
		{"the same heap beside less memory", amounts("4Gi", 0.25), amounts("2Gi", 0.5), used, []string{"a memory limit of 2.0 GiB instead of 4.0 GiB, and the same heap", hot + "/1"}, []string{hot + "/2"}},
		{"a smaller heap alone", amounts("4Gi", 0.25), amounts("4Gi", 0.2), used, []string{"a heap of 819.2 MiB instead of 1.0 GiB", hot + "/1"}, []string{hot + "/2"}},
		{"one node says it", amounts("4Gi", 0.25), amounts("1Gi", 0.25), map[string]model.Heap{hot + "/0": used[hot+"/0"]}, []string{"node crate-data-hot-c/0 uses about 320.0 MiB", "of 2 more it is not known"}, []string{"is not known"}},
		{"no node says it", amounts("4Gi", 0.25), amounts("1Gi", 0.25), nil, []string{"how much of its heap is in use now is not known"}, []string{"is not known"}},
		{"more memory", amounts("4Gi", 0.25), amounts("8Gi", 0.25), used, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := restartable(wantedCluster(3))
			d.Computes = c.before
			w := newWorld(t, d)
			w.see = func(db *model.Database) {
				for i := range db.Nodes {
					db.Nodes[i].Heap = c.heaps[db.Nodes[i].Name]
				}
			}
			w.run(60)
			assert.Equal(t, c.before, w.record.Computes)
			w.desired.Computes = c.after
			byTemplate(w)
			first, then, last := "", "", ""
			for range 200 {
				d, err := w.pass()
				assert.NoError(t, err)
				said := waitsWith(d, "less-memory")
				switch last = said; {
				case restarts(w) == 0 && first == "":
					first = said
				case restarts(w) == 2 && w.pods[hot+"-1"].away == 0 && w.pods[hot+"-0"].away == 0 && said != "":
					then = said
				}
			}
			for _, words := range c.first {
				assert.Contains(t, first, words)
			}
			for _, words := range c.then {
				assert.Contains(t, then, words)
			}
			if c.first == nil {
				assert.Empty(t, first+then)
			}
			assert.Empty(t, last, "all have restarted")
			assert.Equal(t, 3, restarts(w), "it holds nothing back")
			assert.Equal(t, c.after, w.record.Computes)
		})
	}
}
