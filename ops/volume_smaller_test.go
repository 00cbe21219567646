package ops_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// lies has each node have so many bytes of shards, of which one is so large, on disks that are as
// large as their claims.
func (w *world) lies(each, largest int64) {
	w.see = func(db *model.Database) {
		db.Settings.DiskThreshold, db.Settings.LowWatermark = true, "85%"
		for i := range db.Nodes {
			db.Nodes[i].Bytes = each
		}
		if len(db.Shards) > 0 {
			db.Shards[0].Bytes = largest
		}
	}
}

// Three nodes of 100 GiB become smaller. What all of them have must fit on what they then have.
func TestSmallerVolumesAreLookedAtBeforeTheFirstNodeIsDrained(t *testing.T) {
	for _, c := range []struct {
		name    string
		size    string
		so      func(w *world)
		refused string // the words; "": it is done
		says    string // of what waits, where it is not done and not refused
	}{
		{"it fits", "50Gi", func(w *world) { w.lies(42*gib, gib) }, "", ""},
		{"it does not fit", "50Gi", func(w *world) { w.lies(43*gib, gib) }, "the shards of all nodes: 129.0 GiB, and the volumes that are desired for 3 node(s) have room for 127.5 GiB below the low watermark (85%): ask for larger volumes or for more nodes, or delete data", ""},
		{"no disk has room for the largest shard", "50Gi", func(w *world) { w.lies(20*gib, 43*gib) }, "the largest shard: 43.0 GiB, and the volumes that are desired for 3 node(s) have room for 42.5 GiB", ""},
		{"another class of the same size takes what is there", sizeBefore, func(w *world) { w.lies(90*gib, gib) }, "", ""},
		{"a threshold that is off", "50Gi", func(w *world) {
			w.lies(90*gib, gib)
			before := w.see
			w.see = func(db *model.Database) { before(db); db.Settings.DiskThreshold = false }
		}, "", ""},
		{"folders of a larger file system: sizes of claims say nothing", "50Gi", func(w *world) {
			w.lies(43*gib, gib)
			w.folder = 1000 * gib
		}, "", ""},
		{"what nodes have is not known: the StatefulSet stays", "50Gi", func(w *world) {
			w.lies(43*gib, gib)
			before := w.see
			w.see = func(db *model.Database) { before(db); db.ShardsKnown = false }
		}, "", "whether the shards fit on smaller volumes is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := consentingWorld(t)
			c.so(w)
			class := "fast"
			if c.size == sizeBefore {
				class = "slow"
			}
			w.desired = classed(w.desired, class, c.size)
			if c.refused == "" && c.says == "" {
				w.run(600)
				assert.NotEmpty(t, w.renamed)
				assert.Equal(t, w.desired.Volumes[0].Size, w.Claims[0].Capacity)
				return
			}
			var d model.Decision
			for range 100 {
				d, _ = w.pass()
			}
			if c.refused != "" {
				assert.Equal(t, []string{"volumes-too-small"}, reasons(d.Refusals))
				assert.Contains(t, d.Refusals[0].Message, c.refused)
			} else {
				assert.Empty(t, d.Refusals)
				assert.Contains(t, messages(d.Waits), c.says)
			}
			assert.Equal(t, 1, w.made[hot], "the StatefulSet was not recreated")
			assert.Nil(t, w.record.Operation)
			assert.Empty(t, w.excluded())
			assert.Empty(t, w.renamed)
		})
	}
}

func messages(list []model.Reason) string {
	out := ""
	for _, r := range list {
		out += r.Message + "\n"
	}
	return out
}

// Each cure that it names passes: a larger size, more nodes, fewer data.
func TestWhatIsTooSmallPassesByEachRemedy(t *testing.T) {
	for _, c := range []struct {
		name string
		cure func(w *world)
	}{
		{"a larger size", func(w *world) { w.desired = classed(w.desired, "fast", "60Gi") }},
		{"more nodes", func(w *world) {
			w.desired.Sets = append([]model.Set(nil), w.desired.Sets...)
			w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
			before := w.see
			w.see = func(db *model.Database) {
				before(db)
				for i := range db.Nodes {
					db.Nodes[i].Bytes = 129 * gib / int64(len(db.Nodes))
				}
			}
		}},
		{"fewer data", func(w *world) { w.lies(42*gib, gib) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := consentingWorld(t)
			w.lies(43*gib, gib)
			w.desired = classed(w.desired, "fast", "50Gi")
			var d model.Decision
			for range 20 {
				d, _ = w.pass()
			}
			assert.Equal(t, []string{"volumes-too-small"}, reasons(d.Refusals))
			c.cure(w)
			w.run(1200)
			for _, claim := range w.Claims {
				assert.Equal(t, w.desired.Volumes[0].Size, claim.Capacity, claim.Name)
			}
			assert.Empty(t, w.excluded())
		})
	}
}

// What was decided before a StatefulSet was recreated is not taken back when data grow meanwhile:
// the drains look at that.
func TestVolumesThatAreBeingReplacedAreNotTooSmallMidway(t *testing.T) {
	w := consentingWorld(t)
	w.lies(42*gib, gib)
	w.desired = classed(w.desired, "fast", "50Gi")
	for i := 0; i < 400 && w.renamed[hot+"/0"] == ""; i++ {
		_, _ = w.pass()
	}
	w.lies(43*gib, gib)
	w.run(900)
	assert.Len(t, w.renamed, 3)
	assert.Contains(t, w.desired.Operations.Consent, definition.ConsentDeleteVolumes)
}

// Each claim template counts by itself: of two disks the first becomes smaller, and somebody has made a claim of the second
// one larger.
func TestOnlyTheClaimsOfWhatBecameSmallerAreReplaced(t *testing.T) {
	w := newWorld(t, disked(wantedCluster(3), 2, sizeBefore))
	w.mayDelete = model.Yes
	w.run(40)
	w.fill(model.Table{Name: "doc.one", Replicas: "1"}, 6, 2)
	w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
	w.desired.Revision = "rev-consent"
	w.run(40)
	uids := map[string]string{}
	for i := range w.Claims {
		c := &w.Claims[i]
		if uids[c.Name] = c.UID; c.Name == "data1-"+hot+"-0" {
			c.Requested, c.Capacity = 300*gib, 300*gib
		}
	}
	w.desired = disked(w.desired, 2, sizeBefore)
	w.desired.Volumes[0].Text, w.desired.Volumes[0].Size, w.desired.Revision = "50Gi", 50*gib, "rev-smaller"
	for range 600 {
		_, _ = w.pass()
	}
	assert.Nil(t, w.record.Replacing)
	assert.Equal(t, model.StageVerified, w.record.Stage)
	for _, c := range w.Claims {
		switch {
		case c.Template == "data0":
			assert.Equal(t, 50*gib, c.Capacity, c.Name)
		case c.Ordinal == 0:
			assert.Equal(t, 300*gib, c.Capacity, c.Name)
			fallthrough
		default:
			assert.Equal(t, uids[c.Name], c.UID, "%s stays", c.Name)
		}
	}
}

// Releases before did not say which claim templates of a StatefulSet became smaller: then all did.
func TestARecordOfAReleaseBeforeSaysThatAllClaimTemplatesBecameSmaller(t *testing.T) {
	var before, now model.Operation
	require.NoError(t, json.Unmarshal([]byte(`{"recreation": {"set": "`+hot+`", "smaller": true}}`), &before))
	require.NoError(t, json.Unmarshal([]byte(`{"recreation": {"set": "`+hot+`", "shrinks": "data0,debug"}}`), &now))
	for _, c := range []struct {
		operation      model.Operation
		smaller        string
		first, another bool
	}{
		{before, hot, true, true},
		{now, hot + "/data0," + hot + "/debug", true, false},
	} {
		smaller := strings.Join(c.operation.Recreation.Shrunk(), ",")
		assert.Equal(t, c.smaller, smaller)
		var r model.VolumeReplacement
		require.NoError(t, json.Unmarshal([]byte(`{"smaller": "`+smaller+`"}`), &r))
		assert.Equal(t, c.first, r.Shrinks(hot, "data0"))
		assert.Equal(t, c.another, r.Shrinks(hot, "data1"))
		assert.False(t, r.Shrinks(warm, "data0"))
	}
}
