package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// part is one of two changes that come in one commit.
type part struct {
	name   string
	change func(w *world)
	// done says that the change has been made.
	done func(t *testing.T, w *world)
}

var parts = []part{
	{"larger disks", func(w *world) { w.desired.Volumes = sized(w.desired, sizeAfter).Volumes }, func(t *testing.T, w *world) {
		for _, c := range w.Claims {
			assert.Equal(t, 200*gib, c.Capacity, c.Name)
		}
		assert.Equal(t, model.SizeList("data0="+sizeAfter), model.Sizes(w.Templates, hot))
	}},
	{"another storage class", func(w *world) {
		size := w.desired.Volumes[0].Text
		w.desired.Volumes = classed(w.desired, "slow", size).Volumes
	}, func(t *testing.T, w *world) {
		for _, c := range w.Claims {
			if c.Ordinal < w.set(hot).Replicas { // that of a node that has left stays as it is
				assert.Equal(t, "slow", c.Class, c.Name)
			}
		}
	}},
	{"a node more", func(w *world) {
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas++
	}, func(t *testing.T, w *world) { assert.Len(t, w.nodeNames(), 5) }},
	{"a node less", func(w *world) {
		w.desired.Sets = slices.Clone(w.desired.Sets)
		w.desired.Sets[0].Replicas--
	}, func(t *testing.T, w *world) { assert.Len(t, w.nodeNames(), 3) }},
	{"more CPU, without a restart", func(w *world) {
		w.amounts, w.desired.Computes = more, []model.GroupCompute{{Group: "hot", Compute: model.Compute{CPURequest: 0.75}}}
		if w.template == "t1" {
			w.template = "t2"
		}
	}, func(t *testing.T, w *world) {
		for name, a := range w.compute {
			if w.pods[name] != nil {
				assert.Equal(t, more, a.actual, name)
			}
		}
	}},
	{"more memory, by a restart", func(w *world) { w.template = "t3" }, func(t *testing.T, w *world) {
		for name, p := range w.pods {
			assert.Equal(t, w.wanted(), p.template, name)
		}
	}},
	{"another version", func(w *world) { to(w, "6.4.3") }, func(t *testing.T, w *world) {
		for name, p := range w.pods {
			assert.Equal(t, "6.4.3", w.versionOf(p.template), name)
		}
	}},
}

// crate-operator acts on the first of size, replicas and CPU that differs in a group, and forgets the
// others; a changed size in one group switches off what guards an upgrade in the same commit.
func TestOfTwoChangesInOneCommitNoneIsLost(t *testing.T) {
	for i, first := range parts {
		for _, second := range parts[i+1:] {
			if first.name == "a node more" && second.name == "a node less" {
				continue
			}
			for _, dies := range []int{0, 7, 11} {
				t.Run(fmt.Sprintf("%s and %s, dying every %d writes", first.name, second.name, dies), func(t *testing.T) {
					w := pairWorld(t)
					first.change(w)
					second.change(w)
					w.desired.Revision = "rev-both"
					w.keepsDying(dies, 3000)
					w.run(200)
					first.done(t, w)
					second.done(t, w)
					assert.Equal(t, model.StageVerified, w.record.Stage)
					assert.Nil(t, w.record.Operation)
					assert.Empty(t, w.excluded())
					assert.Equal(t, "all", w.allocation())
				})
			}
		}
	}
}

// pairWorld is a cluster of four nodes with data, whose volumes may be replaced.
func pairWorld(t *testing.T) *world {
	return pairWorldOf(t, func(d model.Desired) model.Desired { return sized(d, sizeBefore) })
}

func pairWorldOf(t *testing.T, disks func(model.Desired) model.Desired) *world {
	d := disks(restartable(wantedCluster(4)))
	d.Computes = []model.GroupCompute{{Group: "hot", Compute: model.Compute{CPURequest: 0.5}}}
	d.Operations.Consent = []definition.Consent{definition.ConsentDeleteVolumes}
	d.Version, d.License = "6.3.7", nil
	w := newWorld(t, d)
	w.amounts, w.can, w.mayDelete = little, canResize, model.Yes
	w.run(60)
	w.fill(model.Table{Name: "doc.one", Replicas: "1"}, 6, 2)
	return w
}
