package ops_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/volume"
)

// attributed gives each claim template another VolumeAttributesClass.
func attributed(d model.Desired, class string) model.Desired {
	d = sized(d, d.Volumes[0].Text)
	for i := range d.Volumes {
		d.Volumes[i].Attributes = class
	}
	d.Revision = "rev-of-" + class
	return d
}

// modifiedWorld is a cluster of three nodes whose volumes have one class ("" for none), and whose
// definition then says another one.
func modifiedWorld(t *testing.T, from, to string) *world {
	w := newWorld(t, attributed(sized(wantedCluster(3), sizeBefore), from))
	w.run(40)
	w.desired = attributed(w.desired, to)
	return w
}

func checkModified(t *testing.T, w *world, class string) {
	t.Helper()
	for _, c := range w.Claims {
		assert.Equal(t, class, c.Attributes, c.Name)
		assert.Equal(t, class, c.Current, c.Name)
	}
	assert.Equal(t, model.SizeList("data0="+class), model.AttributesList(w.Templates, hot), "later pods get such claims")
	assert.Zero(t, w.least["crate-data-c"], "the budget is as it was")
	assert.Nil(t, w.record.Growth)
	assert.Nil(t, w.record.Operation)
	for name, p := range w.pods {
		assert.Zero(t, p.restarts, "%s was restarted", name)
	}
}

func waitOf(t *testing.T, d model.Decision, name string) string {
	t.Helper()
	for _, r := range d.Waits {
		if r.Name == name {
			return r.Message
		}
	}
	require.Fail(t, "it does not wait for "+name, "%v", reasons(d.Waits))
	return ""
}

func (w *world) twenty() model.Decision {
	w.t.Helper()
	w.passes(19)
	d, err := w.pass()
	require.NoError(w.t, err)
	return d
}

func TestVolumesGetAnotherAttributesClassWithoutARestart(t *testing.T) {
	for _, c := range []struct{ name, from string }{{"where there was none", ""}, {"where there was another one", "silver"}} {
		t.Run(c.name, func(t *testing.T) {
			w := modifiedWorld(t, c.from, "gold")
			w.MakeClaims(hot, 7, []string{"data0"}, w.now) // of a pod that is scaled away
			w.run(60)
			checkModified(t, w, "gold")
			assert.Equal(t, "data0-"+hot+"-0=gold", w.asked[0], "the first one goes alone")
			assert.Len(t, w.asked, 4, "each claim is asked once")
			assert.Equal(t, 2, w.made[hot], "the StatefulSet was recreated once")
			assert.Equal(t, 1, reported(w, "VolumesGrown"))
			for _, r := range w.reports {
				if r.Reason == "VolumesGrown" {
					assert.Contains(t, r.Message, "no pod was restarted for it: data0 of "+hot+" has the VolumeAttributesClass gold")
				}
			}
			assert.Equal(t, model.StageVerified, w.record.Stage)
		})
	}
}

// One patch carries both, and a further disk comes with the class.
func TestASizeAndAnAttributesClassComeInOnePush(t *testing.T) {
	w := modifiedWorld(t, "", "gold")
	for i := range w.desired.Volumes {
		w.desired.Volumes[i].Size, w.desired.Volumes[i].Text = 200*gib, sizeAfter
	}
	w.run(60)
	checkModified(t, w, "gold")
	checkGrown(t, w)
	assert.Equal(t, "data0-"+hot+"-0="+sizeAfter+"/gold", w.asked[0])
}

func TestAnotherAttributesClassSurvivesAKillAtEachWrite(t *testing.T) {
	for _, from := range []string{"", "silver"} {
		cutOff(t, func() *world { return modifiedWorld(t, from, "gold") }, 1, 60, func(t *testing.T, w *world, _ model.Decision) {
			checkModified(t, w, "gold")
			assert.Equal(t, 2, w.made[hot], "the StatefulSet was recreated once")
		})
	}
}

func TestNothingHoldsUpAnotherAttributesClass(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
	}{
		{"the tables are red", func(w *world) { w.see = func(db *model.Database) { db.Health.Colour = model.Red } }},
		{"no node answers", func(w *world) {
			w.see = func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No} }
		}},
		{"a pod is down", func(w *world) { w.pods[hot+"-1"].away = 1 << 20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := modifiedWorld(t, "", "gold")
			c.so(w)
			w.twenty()
			for _, claim := range w.Claims {
				assert.Equal(t, "gold", claim.Current, claim.Name)
			}
		})
	}
}

func TestOfAPausedOrReleasedClusterNoAttributesClassIsChanged(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
	}{
		{"paused", func(w *world) { w.commands.Paused = "true" }},
		{"released", func(w *world) { w.commands.Released = "true" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := modifiedWorld(t, "", "gold")
			c.so(w)
			w.twenty()
			assert.Empty(t, w.asked)
			assert.Equal(t, 1, w.made[hot])
		})
	}
}

// Success is what the volumes have, and not what their claims ask for.
func TestTheStatefulSetWaitsUntilEachVolumeHasTheClass(t *testing.T) {
	w := modifiedWorld(t, "", "gold")
	w.slowClass = "gold"
	d := w.twenty()
	assert.Equal(t, 1, w.made[hot], "it was not deleted")
	assert.Zero(t, reported(w, "VolumesGrown"))
	assert.Len(t, w.asked, 1, "the first one goes alone")
	assert.Contains(t, waitOf(t, d, "volumes-grow"), "0 of 3 volume claims have the desired size and class: data0-"+hot+
		"-0 goes from no VolumeAttributesClass to the VolumeAttributesClass gold (its driver changes it)")
	w.slowClass = ""
	w.run(60)
	checkModified(t, w, "gold")
}

func TestAClassThatAVolumeCannotHaveIsNamedAndCanBeTakenBack(t *testing.T) {
	for _, c := range []struct {
		name, from, back string
	}{
		{"to the class before", "silver", "silver"},
		{"to another one", "silver", "bronze"},
		{"to none, where there was none", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func() *world {
				w := modifiedWorld(t, c.from, "gold")
				w.noClass = "gold"
				d := w.twenty()
				require.Len(t, w.asked, 1, "a driver that fails with one is not asked for others")
				assert.Contains(t, waitOf(t, d, "volume-modify-failed"), "data0-"+hot+"-0 stays at "+gates.ClassName(c.from)+", the VolumeAttributesClass gold is desired; its driver says: too many IOPS")
				assert.Equal(t, 1, reported(w, "VolumeGrowthFailed"))
				assert.Equal(t, 1, w.made[hot])
				w.desired = attributed(w.desired, c.back)
				return w
			}
			w := start()
			w.run(60)
			checkModified(t, w, c.back)

			w = start()
			w.record = model.Record{}
			w.run(60)
			checkModified(t, w, c.back)
		})
	}
}

// A full disk is healed by nothing else.
func TestVolumesGrowThoughTheyCannotHaveTheClass(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
		says string
	}{
		{"the driver fails", func(w *world) { w.noClass = "gold" }, "volume-modify-failed"},
		{"the driver is slow", func(w *world) { w.slowClass = "gold" }, "volumes-grow"},
		{"Kubernetes drops the class", func(w *world) { w.oldKubernetes = true }, "volume-attributes-class-dropped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := modifiedWorld(t, "", "gold")
			for i := range w.desired.Volumes {
				w.desired.Volumes[i].Size, w.desired.Volumes[i].Text = 200*gib, sizeAfter
			}
			c.so(w)
			w.twenty()
			d := w.twenty()
			for _, claim := range w.Claims {
				assert.Equal(t, 200*gib, claim.Capacity, claim.Name)
			}
			waitOf(t, d, c.says)
		})
	}
}

// Before 1.34 the API server takes the patch, and leaves the field out.
func TestAClassThatKubernetesDropsIsNamedAndNotAskedForEver(t *testing.T) {
	w := modifiedWorld(t, "", "gold")
	w.oldKubernetes = true
	d := w.twenty()
	assert.Len(t, w.asked, 1)
	assert.Equal(t, 1, w.made[hot], "the StatefulSet stays")
	assert.Contains(t, waitOf(t, d, "volume-attributes-class-dropped"), "it needs Kubernetes 1.34 or later")
	assert.Zero(t, reported(w, "VolumesGrown"))

	w.now = w.now.Add(volume.AsksAgainAfter)
	w.twenty()
	assert.Len(t, w.asked, 2, "it is asked again after a while")

	w.oldKubernetes = false
	w.now = w.now.Add(volume.AsksAgainAfter)
	w.run(60)
	checkModified(t, w, "gold")
}

// A cluster is made there without the class, and its StatefulSet is not recreated for ever.
func TestOfANewClusterTheDroppedClassIsNamedToo(t *testing.T) {
	w := newWorld(t, attributed(sized(wantedCluster(3), sizeBefore), "gold"))
	w.oldKubernetes = true
	for range 40 {
		_, _ = w.pass()
	}
	waitOf(t, w.twenty(), "volume-attributes-class-dropped")
	assert.Equal(t, 1, w.made[hot])
	w.desired = attributed(w.desired, "")
	w.run(40)
	checkModified(t, w, "")
}

func TestAClassOfAClaimThatIsOnlyByHandStays(t *testing.T) {
	w := modifiedWorld(t, "", "")
	w.Claims[1].Attributes = "gold"
	w.slowClass = "gold"
	w.twenty()
	w.slowClass = ""
	w.twenty()
	assert.Equal(t, "gold", w.Claims[1].Current)
	w.desired = sized(w.desired, sizeAfter)
	w.desired.Revision = "rev-grow"
	w.run(60)
	assert.Equal(t, "gold", w.Claims[1].Current)
	checkGrown(t, w)
}

func TestWhichAttributesClassesAreRefused(t *testing.T) {
	fast := classes("fast", "default")
	with := func(known ...gates.AttributesClass) model.Storage {
		s := fast
		s.Attributes, s.AttributesKnown = known, true
		return s
	}
	there := with(gates.AttributesClass{Name: "gold", Driver: "example.com/disk"})
	for _, c := range []struct {
		name, from, to string
		storage        model.Storage
		so             func(s *situation)
		refused, words string
	}{
		{"it is there", "", "gold", there, nil, "", ""},
		{"nothing is known of such classes", "", "gold", fast, nil, "", ""},
		{"it is not there", "", "gold", with(), nil, "volume-attributes-class-unusable", "the VolumeAttributesClass gold does not exist (there is none)"},
		{"it is of another driver", "", "gold", with(gates.AttributesClass{Name: "gold", Driver: "other"}), nil, "volume-attributes-class-unusable", "of the driver other, and the volumes of the storage class fast are of example.com/disk"},
		{"the storage class of the claims is not known", "", "gold", with(gates.AttributesClass{Name: "gold", Driver: "other"}), func(s *situation) {
			for i := range s.o.Claims {
				s.o.Claims[i].Class = "gone"
			}
		}, "", ""},
		{"claims of the default storage class", "", "gold", with(gates.AttributesClass{Name: "gold", Driver: "other"}), func(s *situation) {
			for i := range s.o.Claims {
				s.o.Claims[i].Class = ""
			}
		}, "volume-attributes-class-unusable", "of the storage class default are of"},
		{"it is in use already", "gold", "gold", with(), nil, "", ""},
		{"it is taken away", "gold", "", there, nil, "volume-attributes-class-stays", `set resources.disk.volumeAttributesClass of the group to "gold"`},
		{"it is taken away before it came into effect", "gold", "", there, func(s *situation) {
			for i := range s.o.Claims {
				s.o.Claims[i].Current = ""
			}
		}, "", ""},
		{"a further disk of one that is not there", "gold", "gold", with(), func(s *situation) {
			s.d.Volumes = append(s.d.Volumes, model.VolumeTemplate{Set: hot, Name: "data1", Text: sizeBefore, Size: 100 * gib, Class: "fast", Attributes: "gone"})
		}, "volume-attributes-class-unusable", hot + " (data1): the VolumeAttributesClass gone does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := modifiedWorld(t, c.from, c.to)
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			if s.o.Storage = c.storage; c.so != nil {
				c.so(s)
			}
			d := s.decide()
			if c.refused == "" {
				assert.Empty(t, d.Refusals)
				return
			}
			require.Equal(t, []string{c.refused}, reasons(d.Refusals))
			assert.Contains(t, d.Refusals[0].Message, c.words)
			assert.NotContains(t, kinds(d), model.ActionGrowClaim)
		})
	}
	t.Run("a new cluster", func(t *testing.T) {
		w := newWorld(t, attributed(sized(wantedCluster(3), sizeBefore), "gold"))
		o := w.observe()
		o.Storage = with()
		d := (&situation{d: w.desired, o: o, r: w.record}).decide()
		require.Equal(t, []string{"volume-attributes-class-unusable"}, reasons(d.Refusals))
		assert.False(t, d.Apply, "nothing of it is made")
	})
}

// A push that takes the class away again midway is refused once a volume has it: the others keep
// what they have.
func TestAClassThatCameIntoEffectMidwayStays(t *testing.T) {
	w := modifiedWorld(t, "", "gold")
	for i := 0; w.Claims[0].Current == "" && i < 40; i++ {
		w.passes(1)
	}
	w.noClass = "gold"
	w.twenty()
	w.desired = attributed(w.desired, "")
	d := w.twenty()
	assert.Equal(t, []string{"volume-attributes-class-stays"}, reasons(d.Refusals))
	assert.True(t, strings.HasPrefix(d.Refusals[0].Message, "data0-"+hot+"-0: the volumes have the VolumeAttributesClass gold"), d.Refusals[0].Message)
	w.desired = attributed(w.desired, "silver")
	w.run(60)
	checkModified(t, w, "silver")
}

// A record of before knows no classes of a recreation.
func TestARecreationOfARecordWithoutClassesGoesOn(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	for i := 0; !w.away[hot] && i < 60; i++ {
		w.passes(1)
	}
	op := *w.record.Operation
	r := *op.Recreation
	r.Attributes = ""
	op.Recreation = &r
	w.record.Operation = &op
	w.now = w.now.Add(time.Second)
	w.run(60)
	checkGrown(t, w)
}

// Kubernetes changes no claim template of a StatefulSet: one that is applied meanwhile has the live one.
func TestAnotherAttributesClassIsKeptOutOfATemplateUntilItIsRecreated(t *testing.T) {
	w := modifiedWorld(t, "silver", "gold")
	w.slowClass = "gold"
	d := w.twenty()
	require.Len(t, d.Effective.Sets, 1)
	assert.Equal(t, model.SizeList("data0=silver"), d.Effective.Sets[0].Attributes)
}

// A further disk of the same push comes after the others have the class, and with it.
func TestAFurtherDiskComesWithTheClass(t *testing.T) {
	s := moreDisks(t)
	for i := range s.d.Volumes {
		s.d.Volumes[i].Attributes = "gold"
	}
	assert.Contains(t, kinds(s.decide()), model.ActionGrowClaim)
	for i := range s.o.Claims {
		s.o.Claims[i].Attributes, s.o.Claims[i].Current = "gold", "gold"
	}
	d := s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d))
	assert.Equal(t, model.SizeList("data0=100Gi"), d.Record.Operation.Recreation.Sizes)
	s.o.Volumes[0].Attributes = "gold"
	d = s.decide()
	require.Equal(t, model.OperationExpand, kindOf(d))
	assert.Equal(t, model.SizeList("data0=100Gi,data1=100Gi"), d.Record.Operation.Recreation.Sizes)
	assert.Equal(t, model.SizeList("data0=gold,data1=gold"), d.Record.Operation.Recreation.Attributes)
}

// New volumes have the class of the templates, and no old one is asked for it.
func TestVolumesThatAreReplacedComeWithTheClass(t *testing.T) {
	w := consentingWorld(t)
	w.desired = attributed(classed(w.desired, "slow", sizeBefore), "gold")
	for i := range w.desired.Volumes {
		w.desired.Volumes[i].Class = "slow"
	}
	w.run(600)
	checkReplaced(t, w, "slow", 100*gib)
	assert.Empty(t, w.asked)
	for _, c := range w.Claims {
		assert.Equal(t, "gold", c.Current, c.Name)
	}
	assert.Equal(t, 2, w.made[hot])
}

func TestVolumesOfASuspendedClusterGetTheClass(t *testing.T) {
	w := suspendedWorld(t, sized(wantedCluster(3), sizeBefore))
	w.desired = attributed(w.desired, "gold")
	w.rest(60)
	checkSuspended(t, w)
	assert.Len(t, w.Claims, 3)
	for _, c := range w.Claims {
		assert.Equal(t, "gold", c.Current, c.Name)
	}
	w.desired = attributed(sized(wantedCluster(3), sizeBefore), "gold")
	w.run(100)
	checkModified(t, w, "gold")
}

func TestAClassThatIsTakenBackSurvivesAKillAtEachWrite(t *testing.T) {
	start := func() *world {
		w := modifiedWorld(t, "silver", "gold")
		w.noClass = "gold"
		w.twenty()
		w.desired = attributed(w.desired, "bronze")
		return w
	}
	cutOff(t, start, 1, 60, func(t *testing.T, w *world, _ model.Decision) { checkModified(t, w, "bronze") })
}
