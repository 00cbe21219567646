package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/compute"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

// Storage classes are read where the next decision may depend on them, and nowhere else.
func TestWhereStorageClassesAreRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(d *model.Desired, o *model.Observed)
		needs  bool
	}{
		{"all is as it is desired", func(*model.Desired, *model.Observed) {}, false},
		{"a claim is to be larger", func(d *model.Desired, _ *model.Observed) { *d = sized(*d, sizeAfter) }, true},
		{"a claim is to have another VolumeAttributesClass", func(d *model.Desired, _ *model.Observed) { d.Volumes[0].Attributes = "gold" }, true},
		{"a StatefulSet is to have another class", func(d *model.Desired, _ *model.Observed) { d.Volumes[0].Class = "slow" }, true},
		{"a disk is to come", func(d *model.Desired, _ *model.Observed) {
			d.Changes = []model.Change{{Class: model.ChangeDisks, Set: hot}}
		}, true},
		{"a StatefulSet is to be made", func(d *model.Desired, _ *model.Observed) {
			d.Storage = append(d.Storage, model.ClaimClass{Set: cold, Claims: []string{"data0"}, Class: "fast"})
		}, true},
		{"the definition is gone", func(d *model.Desired, o *model.Observed) {
			*d = sized(*d, sizeAfter)
			d.Removed, d.Changes = true, []model.Change{{Class: model.ChangeDisks, Set: hot}}
			d.Storage = append(d.Storage, model.ClaimClass{Set: cold, Claims: []string{"data0"}, Class: "fast"})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, sized(wantedCluster(3), sizeBefore))
			w.run(40)
			d, o := w.desired, w.observe()
			d.Volumes = slices.Clone(d.Volumes)
			c.change(&d, &o)
			assert.Equal(t, c.needs, lifecycle.NeedsStorage(&d, &o))
		})
	}
}

// Whether pods can be resized is asked where one is to be.
func TestWhereItIsAskedWhetherPodsCanBeResized(t *testing.T) {
	w := resizedWorld(t)
	w.desired.Changes = []model.Change{{Class: model.ChangeResize, Set: hot}}
	d := w.desired
	assert.True(t, compute.NeedsResize(&d, &w.record))
	d.Operations.Resize = model.ResizeRestart
	assert.False(t, compute.NeedsResize(&d, &w.record), "they are restarted")
	d = w.desired
	d.Removed = true
	assert.False(t, compute.NeedsResize(&d, &w.record))
}

// Below 4.5 CrateDB runs three nodes without a licence: a fourth would end all statements.
func TestNoFourthNodeComesWithoutALicence(t *testing.T) {
	s := made(t)
	s.d.Version, s.r.Version, s.r.HighestVersion = "4.4.3", "4.4.3", "4.4.3"
	for i := range s.o.Pods {
		s.o.Pods[i].Version = "4.4.3"
	}
	for i := range s.o.Database.Pods {
		s.o.Database.Pods[i].Version = "4.4.3"
	}
	for i := range s.o.Claims {
		s.o.Claims[i].Version = "4.4.3"
	}
	for i := range s.o.Sets {
		s.o.Sets[i].Version = "4.4.3"
	}
	s.r.Bootstrap.Licence = model.LicenceNotNeeded
	s.d.Sets[0].Replicas = 4
	d := s.decide()
	assert.Nil(t, d.Record.Operation)
	assert.Contains(t, reasons(d.Waits), "licence-missing")
	s.r.Bootstrap.Licence = model.LicenceSet
	require.NotNil(t, s.decide().Record.Operation)
}

// The record was lost with the StatefulSet, and with a pod. It comes back by itself only on a claim of which it is known that it is this cluster's.
func TestALostPodComesBackOnlyOnAClaimOfItsCluster(t *testing.T) {
	for id, replicas := range map[string]int{"": 2, "id-1": 3} {
		s := made(t)
		s.o.Sets, s.r = nil, model.Record{}
		s.o.Pods = s.o.Pods[:2]
		for i := range s.o.Claims {
			s.o.Claims[i].ClusterID = "id-1"
			if s.o.Claims[i].Ordinal == 2 {
				s.o.Claims[i].ClusterID = id
			}
		}
		d := s.decide()
		require.Len(t, d.Record.Sets, 1, id)
		assert.Equal(t, replicas, d.Record.Sets[0].Replicas, id)
	}
}
