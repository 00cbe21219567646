package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

const gib = int64(1) << 30

// leaves adds the claim of a fourth node that was scaled away.
func leaves(s *plan.Start, requested, capacity int64, state model.ResizeState) {
	c := s.Observed.Claims[0]
	for _, other := range s.Observed.Claims {
		if other.Name == "data0-"+hot+"-0" {
			c = other
		}
	}
	c.Name, c.Ordinal, c.UID, c.Requested, c.Capacity, c.Resize = "data0-"+hot+"-3", 3, "left", requested, capacity, state
	s.Observed.Claims = append(s.Observed.Claims, c)
}

// The plan said of it "in place, while its pod runs", and counted it among those of the pods.
func TestAPlanSaysWhichClaimsThatGrowNoPodUses(t *testing.T) {
	from, to := basic(), basic()
	to.diskSize = "128GiB"
	course := between(t, from, to, func(s *plan.Start) { leaves(s, 64*gib, 64*gib, model.ResizeNone) })
	require.True(t, course.Done)
	require.Equal(t, []string{"expand"}, kinds(course))
	assert.Contains(t, course.Operations[0].Summary, "data0 of "+hot+" to 128.0 GiB (4 claims, 1 of which no pod uses)")
	said := map[string]string{}
	for _, s := range course.Steps {
		if s.Action == string(model.ActionGrowClaim) {
			said[strings.TrimPrefix(s.Target, "data0-"+hot)] = s.Detail
		}
	}
	assert.Equal(t, map[string]string{
		"-0": "128Gi, in place, while its pod runs", "-1": "128Gi, in place, while its pod runs", "-2": "128Gi, in place, while its pod runs",
		"-3": "128Gi; no pod uses it: its file system follows when one does",
	}, said)
}

// A node that was scaled away has left its volume, and the next one of its number starts on it.
func TestAPlanSaysThatAGrowStartsOnVolumesThatWereLeft(t *testing.T) {
	from, to := basic(), basic()
	to.hot = 5
	for made, summary := range map[time.Time]string{
		noon.Add(-time.Hour): "grow group hot from 3 to 5 nodes, 1 of which starts on the volume that an earlier node left",
		// A plan that begins in the middle of the grow finds the claims that it has made.
		noon.Add(time.Hour): "grow group hot from 3 to 5 nodes",
		{}:                  "grow group hot from 3 to 5 nodes",
	} {
		course := between(t, from, to, func(s *plan.Start) {
			leaves(s, 64*gib, 64*gib, model.ResizeNone)
			s.Observed.Claims[len(s.Observed.Claims)-1].Made = made
		})
		require.Equal(t, []string{"grow"}, kinds(course))
		assert.Equal(t, summary, course.Operations[0].Summary, "made %s", made)
	}
	assert.Equal(t, "grow group hot from 3 to 5 nodes", between(t, from, to, nil).Operations[0].Summary)
}

func TestAPlanThatBeginsWhileClaimsGrow(t *testing.T) {
	large := basic()
	large.diskSize = "128GiB"
	four := large
	four.hot = 4
	for _, c := range []struct {
		name       string
		to         wish
		change     func(*plan.Start)
		operations []string
		waits      string
	}{
		{"nothing differs: the file system of a claim that no pod uses is to follow", large, func(s *plan.Start) { leaves(s, 128*gib, 64*gib, model.ResizeNode) }, []string{}, ""},
		{"its pod comes, and mounts it", four, func(s *plan.Start) { leaves(s, 128*gib, 64*gib, model.ResizeNode) }, []string{"grow"}, ""},
		{"its volume is still growing", large, func(s *plan.Start) { leaves(s, 128*gib, 64*gib, model.ResizeController) }, []string{}, ""},
		{"the volume of a pod that runs is still growing", large, func(s *plan.Start) {
			s.Observed.Claims[0].Capacity, s.Observed.Claims[0].Resize = 64*gib, model.ResizeController
		}, []string{}, ""},
		{"its driver works offline", large, func(s *plan.Start) {
			s.Observed.Claims[0].Capacity, s.Observed.Claims[0].Resize = 64*gib, model.ResizeNode
			s.Record.Growth = &model.VolumeGrowth{Since: noon, Offline: []string{s.Observed.Claims[0].Class}}
		}, []string{}, "volumes-grow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			course := between(t, large, c.to, c.change)
			waits := []string{}
			for _, w := range course.Waits {
				waits = append(waits, w.Name)
			}
			assert.Equal(t, c.operations, kinds(course))
			assert.Equal(t, c.waits, strings.Join(waits, ","), "%v", course.Waits)
			assert.Equal(t, c.waits == "", course.Done)
		})
	}
}
