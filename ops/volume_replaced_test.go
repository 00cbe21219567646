package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// classed gives each claim template another storage class and size.
func classed(d model.Desired, class, text string) model.Desired {
	d = sized(d, text)
	for i := range d.Volumes {
		d.Volumes[i].Class = class
	}
	d.Revision = "rev-" + class + text
	return d
}

// consentingWorld is a cluster of three nodes with data, whose definition lets volumes be deleted
// and is in effect.
func consentingWorld(t *testing.T) *world {
	w := newWorld(t, sized(wantedCluster(3), sizeBefore))
	w.mayDelete = model.Yes
	w.run(40)
	w.fill(model.Table{Name: "doc.one", Replicas: "1"}, 6, 2)
	w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
	w.desired.Revision = "rev-consent"
	w.run(40)
	return w
}

func checkReplaced(t *testing.T, w *world, class string, size int64) {
	t.Helper()
	for _, c := range w.Claims {
		assert.Equal(t, class, c.Class, c.Name)
		assert.Equal(t, size, c.Capacity, c.Name)
		assert.False(t, c.Terminating, c.Name)
	}
	for name, p := range w.pods {
		assert.Equal(t, 1, p.restarts, name)
	}
	for node := range 3 {
		assert.NotEmpty(t, w.renamed[fmt.Sprintf("%s/%d", hot, node)], "node %d is on a new volume", node)
	}
	assert.Len(t, w.shards, 12, "each copy is there")
	assert.Empty(t, w.excluded(), "the exclusions were given back")
	assert.Nil(t, w.record.Replacing)
	assert.Nil(t, w.record.Operation)
	assert.Zero(t, w.least["crate-data-c"], "the budget is as it was")
}

func TestVolumesAreReplacedNodeByNode(t *testing.T) {
	for _, c := range []struct {
		name, class, size string
	}{
		{"another storage class", "slow", sizeBefore},
		{"a smaller size", "fast", "50Gi"},
		{"another class and a smaller size", "slow", "50Gi"},
		{"another class and a larger size: nothing grows before", "slow", sizeAfter},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := consentingWorld(t)
			w.desired = classed(w.desired, c.class, c.size)
			w.run(600)
			checkReplaced(t, w, c.class, w.desired.Volumes[0].Size)
			assert.Empty(t, w.asked, "no claim was asked for more")
			assert.Zero(t, w.undrained, "no shard may come back to a node that was drained")
			assert.Equal(t, 2, w.made[hot], "the StatefulSet was recreated once")
			assert.Equal(t, 1, reported(w, "VolumesReplacing"))
			assert.Equal(t, 1, reported(w, "VolumesReplaced"))
			assert.Zero(t, reported(w, "VolumesGrowing"))
			assert.Zero(t, reported(w, "ClaimBeingDeleted"), "nobody else has deleted a claim")
			assert.Zero(t, reported(w, "RestartSucceeded"), "each node is no restart of its own")
			assert.Equal(t, model.StageVerified, w.record.Stage)
		})
	}
}

// Deleted is what cannot come back: each refusal is before anything was done.
func TestNoVolumeIsReplacedWithoutWhatItNeeds(t *testing.T) {
	for _, c := range []struct {
		name    string
		so      func(w *world)
		refused string
		waits   string
		says    string
	}{
		{"the definition does not consent", func(w *world) { w.desired.Operations.Consent = nil }, "volume-change-not-supported", "", "delete-volumes"},
		{"the consent came with the change", func(w *world) { w.record.VolumesConsent = false }, "volume-change-not-supported", "", "delete-volumes"},
		{"no right to delete claims", func(w *world) { w.mayDelete = model.No }, "", "volumes-replaced", "apply deploy/volumes"},
		{"nobody knows whether claims may be deleted", func(w *world) { w.mayDelete = model.Unknown }, "", "volumes-replaced", "it is not known"},
		{"a table has a copy on each node", func(w *world) {
			w.tables[0].Replicas = "2"
			w.shards = nil
			w.tables = w.tables[:0]
			w.fill(model.Table{Name: "doc.one", Replicas: "2"}, 6, 3)
		}, "replicas-do-not-fit", "", "doc.one"},
		{"the node is the only one of a zone that a table needs, to which it comes back whatever leave-zone says", func(w *world) {
			w.aware, w.zones = true, map[string]string{hot + "/0": "b", hot + "/1": "a", hot + "/2": "a"}
			w.desired.Operations.Consent = append(w.desired.Operations.Consent, definition.ConsentLeaveZone)
		}, "last-node-of-zone", "", "zone b"},
		{"a snapshot runs", func(w *world) { w.snapshot = 1 << 20 }, "", "snapshot-running", ""},
		{"it is aborted", func(w *world) { w.commands.Abort = "true" }, "aborted", "", "no further claim is deleted; nodes that are on new volumes stay on them. Change the definition, or take the abort back with `stevedore resume`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := consentingWorld(t)
			w.desired = classed(w.desired, "slow", sizeBefore)
			c.so(w)
			var d model.Decision
			for range 200 {
				d, _ = w.pass()
			}
			if c.refused != "" {
				assert.Contains(t, reasons(d.Refusals), c.refused)
			} else {
				assert.Contains(t, reasons(d.Waits), c.waits)
			}
			said := ""
			for _, r := range append(slices.Clone(d.Refusals), d.Waits...) {
				said += r.Message + "\n"
			}
			assert.Contains(t, said, c.says)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, name)
			}
			for _, claim := range w.Claims {
				assert.False(t, claim.Terminating, claim.Name)
			}
			assert.Empty(t, w.excluded())
		})
	}
}

// An abort says what it cannot take back: claims that are deleted, and the volume that goes with the pod.
func TestAnAbortSaysWhichVolumeGoesAnyway(t *testing.T) {
	w := consentingWorld(t)
	w.desired = classed(w.desired, "slow", sizeBefore)
	deleted := func() bool {
		return slices.ContainsFunc(w.Claims, func(c model.Claim) bool { return c.Terminating })
	}
	for i := 0; i < 400 && !deleted(); i++ {
		_, err := w.pass()
		require.NoError(t, err)
	}
	require.True(t, deleted())
	w.commands.Abort = "true"
	for pass := range 5 {
		d, err := w.pass()
		require.NoError(t, err)
		require.Equal(t, []string{"aborted"}, reasons(d.Refusals), "pass %d", pass)
		said := d.Refusals[0].Message
		for _, want := range []string{"data0-" + hot + "-0, which nobody can take back", "the volume goes with pod " + hot + "-0", "stays excluded", "`stevedore resume`: then pod " + hot + "-0 restarts onto a new volume"} {
			assert.Contains(t, said, want)
		}
		for _, wait := range d.Waits {
			assert.NotContains(t, wait.Message, "is being taken off", "the node stays excluded")
			if wait.Name == "volumes-replaced" {
				assert.Contains(t, wait.Message, "it was aborted and goes no further; 0 of 3 nodes")
			}
		}
	}
	assert.Zero(t, w.pods[hot+"-0"].restarts)
	assert.NotEmpty(t, w.excluded())
	w.commands.Abort = ""
	w.run(900)
	checkReplaced(t, w, "slow", w.desired.Volumes[0].Size)
}

// A table with a range of replicas has a copy less while a node is excluded: CrateDB counts no
// excluded node.
func TestACopyOnEachNodeIsNotAwaitedOfANodeThatIsDrained(t *testing.T) {
	for _, replicas := range []string{"0-all", "1-all", "0-2"} {
		t.Run(replicas, func(t *testing.T) {
			w := consentingWorld(t)
			w.tables, w.shards = nil, nil
			w.fill(model.Table{Name: "doc.each", Replicas: replicas}, 2, 3)
			w.desired = classed(w.desired, "slow", sizeBefore)
			for range 600 {
				w.tables[0].Started, w.shards = 0, nil
				for _, name := range w.dataNodes() {
					if id := w.nodeID(name); !slices.Contains(w.excluded(), id) {
						w.shards = append(w.shards, model.Shard{Table: "doc.each", Node: id, Primary: w.tables[0].Started == 0, State: "STARTED", Bytes: 100})
						w.tables[0].Started++
					}
				}
				_, err := w.pass()
				require.NoError(t, err)
			}
			for _, c := range w.Claims {
				assert.Equal(t, "slow", c.Class, c.Name)
			}
			assert.Nil(t, w.record.Replacing)
		})
	}
}

// Of one or two voting nodes the others may not go on without the volume of one.
func TestAVolumeOfFewVotersIsNotReplaced(t *testing.T) {
	w := newWorld(t, sized(wantedCluster(1), sizeBefore))
	w.mayDelete = model.Yes
	w.run(40)
	w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
	w.run(40)
	w.desired = classed(w.desired, "slow", sizeBefore)
	var d model.Decision
	for range 60 {
		d, _ = w.pass()
	}
	assert.Contains(t, reasons(d.Waits), "volumes-replaced")
	assert.True(t, slices.ContainsFunc(d.Waits, func(r model.Reason) bool { return strings.Contains(r.Message, "add nodes first") }), "%v", d.Waits)
	assert.False(t, w.Claims[0].Terminating)
}

// What a growth and a replacement say when one comes upon the other: nothing has succeeded before
// the volumes are as desired.
func TestAGrowthAndAReplacementSaySuccessOnlyWhereItIsSo(t *testing.T) {
	t.Run("another class comes while volumes grow", func(t *testing.T) {
		w := consentingWorld(t)
		w.desired = sized(w.desired, sizeAfter)
		w.passes(3)
		require.NotNil(t, w.record.Growth)
		w.desired = classed(w.desired, "slow", sizeBefore)
		w.run(900)
		for _, c := range w.Claims {
			assert.Equal(t, "slow", c.Class, c.Name)
		}
		assert.Zero(t, reported(w, "VolumesGrown"))
		assert.Equal(t, 1, reported(w, "VolumesReplaced"))
		assert.Nil(t, w.record.Growth)
	})
	t.Run("a larger size comes while volumes become smaller", func(t *testing.T) {
		w := consentingWorld(t)
		w.desired = classed(w.desired, "fast", "50Gi")
		for i := 0; i < 400 && w.renamed[hot+"/0"] == ""; i++ {
			_, err := w.pass()
			require.NoError(t, err)
		}
		w.desired, w.backAgain = classed(w.desired, "fast", sizeAfter), 1
		w.run(900)
		for _, c := range w.Claims {
			assert.Equal(t, w.desired.Volumes[0].Size, c.Capacity, c.Name)
		}
		assert.Equal(t, 1, reported(w, "VolumesGrown"))
		assert.Equal(t, 1, reported(w, "VolumesReplaced"), "once they have grown")
		assert.Nil(t, w.record.Replacing)
	})
}

// While a cluster is suspended no change of volumes is refused yet, and no claim has a pod.
func TestASuspensionBringsNoReplacementAbout(t *testing.T) {
	t.Run("the consent comes with the change while nothing is refused", func(t *testing.T) {
		w := newWorld(t, sized(wantedCluster(3), sizeBefore))
		w.mayDelete = model.Yes
		w.run(40)
		w.desired = classed(w.desired, "slow", sizeBefore)
		w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes, definition.ConsentSuspend}
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas = 0
		for range 60 {
			_, _ = w.pass()
		}
		assert.False(t, w.record.VolumesConsent)
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-resumed"
		var d model.Decision
		for range 60 {
			d, _ = w.pass()
		}
		assert.Contains(t, reasons(d.Refusals), "volume-change-not-supported")
		assert.Nil(t, w.record.Replacing)
	})
	t.Run("it is no success that no pod is there", func(t *testing.T) {
		w := consentingWorld(t)
		w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes, definition.ConsentSuspend}
		w.desired = classed(w.desired, "fast", "50Gi")
		for i := 0; i < 400 && w.made[hot] < 2; i++ {
			_, _ = w.pass()
		}
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas, w.desired.Revision = 0, "rev-suspended"
		for range 100 {
			_, _ = w.pass()
		}
		require.NotEmpty(t, w.record.Suspended)
		assert.Zero(t, reported(w, "VolumesReplaced"))
		assert.NotNil(t, w.record.Replacing, "it goes on once the cluster is resumed")
	})
}

// Claims that are deleted come back no more: whatever is desired by then, the exclusion stays until
// the pod has gone with its volume.
func TestAVolumeThatGoesStaysExcludedUntilItsPodHasGone(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
	}{
		{"another version", func(w *world) { w.desired.Version = "5.10.2" }},
		{"a node more", func(w *world) {
			w.desired.Sets = slices.Clone(w.desired.Sets)
			w.desired.Sets[0].Replicas = 4
		}},
		{"no consent any more", func(w *world) { w.desired.Operations.Consent = nil }},
		{"a pause", func(w *world) { w.desired.Paused = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := consentingWorld(t)
			w.desired = classed(w.desired, "slow", sizeBefore)
			for i := 0; i < 400 && !w.Claims[0].Terminating; i++ {
				_, _ = w.pass()
			}
			require.True(t, w.Claims[0].Terminating)
			c.so(w)
			w.desired.Revision = "rev-midway"
			require.Len(t, w.excluded(), 1)
			id := w.excluded()[0]
			for i := 0; i < 400 && w.renamed[hot+"/0"] == ""; i++ {
				_, _ = w.pass()
				if w.renamed[hot+"/0"] == "" {
					require.Contains(t, w.excluded(), id, "turn %d", i)
				}
				if w.desired.Paused && i == 40 {
					w.desired.Paused, w.desired.Revision = false, "rev-resumed"
				}
			}
			assert.NotEmpty(t, w.renamed[hot+"/0"], "the pod was restarted")
			for range 60 {
				_, _ = w.pass()
			}
			assert.NotContains(t, w.excluded(), id)
		})
	}
}

// A kill before and after each write, with and without the record. If the record is lost before the
// StatefulSet makes other claims, nobody knows whether a definition with the consent was applied
// before: the change is refused, and nothing was done.
func TestAReplacementSurvivesAKillAtEachWrite(t *testing.T) {
	start := func() *world {
		w := consentingWorld(t)
		w.desired = classed(w.desired, "slow", sizeBefore)
		return w
	}
	cutOff(t, start, someOrEach(7), 450, func(t *testing.T, w *world, last model.Decision) {
		if w.lose && slices.Contains(reasons(last.Refusals), "volume-change-not-supported") {
			assert.Equal(t, "fast", w.Templates[0].Class)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, name)
			}
			return
		}
		assert.Equal(t, model.Done, last.Verdict, "%v %v", last.Waits, last.Refusals)
		checkReplaced(t, w, "slow", 100*gib)
	})
}

// Somebody makes a volume larger by hand, at 3 a.m.: with a consent that stands it stays.
func TestAClaimOfAnotherGroupThatSomebodyHasMadeLargerStays(t *testing.T) {
	d := wantedCluster(3)
	d.Sets = append(d.Sets, model.Set{Name: warm, Group: "warm", Data: true, Replicas: 2})
	w := newWorld(t, sized(d, sizeBefore))
	w.mayDelete = model.Yes
	w.run(60)
	w.desired.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
	w.desired.Revision = "rev-consent"
	w.run(40)
	byHand := func() *model.Claim {
		i := slices.IndexFunc(w.Claims, func(c model.Claim) bool { return c.Set == warm && c.Ordinal == 0 })
		return &w.Claims[i]
	}
	was := byHand().UID
	byHand().Requested, byHand().Capacity = 300*gib, 300*gib
	other := classed(w.desired, "slow", sizeBefore)
	for i := range other.Volumes {
		if other.Volumes[i].Set == warm {
			other.Volumes[i].Class = "fast"
		}
	}
	w.desired = other
	for range 400 {
		_, _ = w.pass()
	}
	for _, c := range w.Claims {
		if c.Set == hot {
			assert.Equal(t, "slow", c.Class, c.Name)
		}
	}
	assert.Equal(t, was, byHand().UID)
	assert.False(t, byHand().Terminating)
	assert.Nil(t, w.record.Replacing)
}

// Of the same group too, as long as that does not become smaller.
func TestAClaimThatSomebodyHasMadeLargerStays(t *testing.T) {
	w := consentingWorld(t)
	w.Claims[1].Requested, w.Claims[1].Capacity = 300*gib, 300*gib
	for range 60 {
		_, _ = w.pass()
	}
	assert.Nil(t, w.record.Replacing)
	assert.False(t, w.Claims[1].Terminating)
	assert.Empty(t, w.excluded())
}

// It said "3 of 3 nodes are on volumes as desired,  not" before the StatefulSet had the smaller claim template.
func TestAReplacementSaysThatTheStatefulSetComesFirst(t *testing.T) {
	w := consentingWorld(t)
	w.desired = classed(w.desired, "fast", "50Gi")
	said := func() string {
		for _, r := range (&situation{d: w.desired, o: w.observe(), r: w.record}).decide().Waits {
			if r.Name == "volumes-replaced" {
				return r.Message
			}
		}
		return ""
	}
	w.until(func() bool { return said() != "" })
	assert.Equal(t, "volumes are being replaced: the StatefulSets come first; without the desired claim templates yet: "+hot, said())
	w.until(func() bool { return w.made[hot] == 2 && said() != "" })
	assert.Contains(t, said(), "volumes are being replaced: 0 of 3 nodes are on volumes as desired, ")
}
