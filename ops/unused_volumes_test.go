package ops_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// A storage class that is not there was the definition's mistake, and the advice was to
// put it back. Where data may be on a volume that advice stays.
func TestTheWayOutOfAWrongStorageClassIsNamedOnlyWhereNoVolumeWasEverUsed(t *testing.T) {
	never := func(s *situation) {
		s.r.HighestVersion, s.r.ClusterID, s.r.Bootstrap = "", "", model.Bootstrap{}
		s.o.Database, s.o.Pods = model.Database{Contact: model.No}, nil
	}
	claims := func(phases ...string) func(*situation) {
		return func(s *situation) {
			s.o.Claims = nil
			for i, phase := range phases {
				s.o.Claims = append(s.o.Claims, model.Claim{Name: "data0-" + hot, Set: hot, Ordinal: i, Phase: phase})
			}
		}
	}
	for _, c := range []struct {
		name   string
		change []func(*situation)
		named  bool
	}{
		{"it never started, and no claim has a volume", []func(*situation){never, claims("Pending", "Pending")}, true},
		{"one claim has a volume", []func(*situation){never, claims("Pending", "Bound")}, false},
		{"the volume of one claim is lost", []func(*situation){never, claims("Pending", "Lost")}, false},
		{"the claims are not known", []func(*situation){never, claims()}, false},
		{"a phase is not known", []func(*situation){never, claims("")}, false},
		{"it has started", []func(*situation){claims("Pending", "Pending")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			for _, change := range c.change {
				change(s)
			}
			s.d.Changes = []model.Change{{Class: model.ChangeVolumes, Set: hot, Path: "spec.volumeClaimTemplates[data0].spec.storageClassName", Old: "defualt", New: "default"}}
			d := s.decide()
			i := slices.Index(reasons(d.Refusals), "volume-change-not-supported")
			require.GreaterOrEqual(t, i, 0)
			message := d.Refusals[i].Message
			assert.Equal(t, c.named, strings.Contains(message, "stevedore forget"), message)
			assert.Equal(t, !c.named, strings.Contains(message, "set resources.disk.storageClass of its group back"), message)
		})
	}
}

// One changed storage class made a refusal for each claim of the group, with debug, which nobody
// had written.
func TestOneChangedStorageClassIsOneRefusal(t *testing.T) {
	change := func(claim, old, desired string) model.Change {
		return model.Change{Class: model.ChangeVolumes, Set: hot, Path: "spec.volumeClaimTemplates[" + claim + "].spec.storageClassName", Old: old, New: desired}
	}
	for _, c := range []struct {
		name    string
		changes []model.Change
		want    int
	}{
		{"all claims of the group", []model.Change{change("data0", "fast", "slow"), change("data1", "fast", "slow"), change("debug", "fast", "slow")}, 1},
		{"the claim debug has another class", []model.Change{change("data0", "fast", "slow"), change("debug", "slow", "fast")}, 2},
		{"the claim debug alone", []model.Change{change("debug", "fast", "slow")}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Changes = c.changes
			got := 0
			for _, name := range reasons(s.decide().Refusals) {
				if name == "volume-change-not-supported" {
					got++
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}
