package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/ops/model"
)

// A plan gave the claims of such a StatefulSet the desired size, and a claim that was asked for a class that size too.
func TestClaimsAreAsIsDecidedForNow(t *testing.T) {
	var v cluster.Volumes
	desired := []model.VolumeTemplate{{Set: "s", Name: "data0", Text: "2Gi", Size: 2 << 30, Class: "slow"}}
	v.MakeTemplates(&model.EffectiveSet{Name: "s", Sizes: "data0=1Gi,data1=1Gi", Classes: "data0=fast"}, desired)
	v.MakeClaims("s", 0, []string{"data0", "data1"}, time.Time{})
	c := &v.Claims[0]
	assert.Equal(t, "data0-s-0 fast", c.Name+" "+c.Class)
	cluster.Ask(c, model.ClaimChange{Attributes: "gold"})
	assert.Equal(t, int64(1<<30), c.Requested)
	assert.Equal(t, int64(1<<30), v.Claims[1].Capacity, "a disk that is not desired any more")
	c.Terminating, v.Templates[0].Size = true, 3<<30
	v.RenewClaims("s-0", time.Time{}, func(c *model.Claim, larger int64) { assert.Equal(t, int64(2<<30), larger, c.Name) })
	assert.False(t, c.Terminating)
}
