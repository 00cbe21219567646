package model

import (
	"slices"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// filtersSeen is what a process knows of the cluster's filters. CrateDB gives
// FilterAllocationDecider only those keys of a kind that a change has changed, and it
// forgets the others: after SET … exclude._name and then SET … exclude._id only the
// second is in effect, though sys.cluster shows both, until the master's process is
// another one (Setting.AffixSetting.newAffixMapUpdater). A key that is set empty where none
// was is a change too, and none of its kind is in effect then.
type filtersSeen struct {
	version int // of the cluster's filters; 0: the process has seen none yet
	inForce allocation.Filters
}

type clusterFilter struct{ kind, key, list string }

// filtersInEffect is by what the master filters.
func (c *Cluster) filtersInEffect() allocation.Filters {
	now := c.scratchFilters[:0]
	for _, kind := range allocation.FilterKinds {
		for _, key := range filterKeys {
			if list, ok := c.given(c.master, allocationPrefix+kind+"."+key); ok {
				now = append(now, clusterFilter{kind, key, list})
			}
		}
	}
	c.scratchFilters = now
	if c.filtersVersion == 0 || !slices.Equal(now, c.filters) {
		c.changeFilters(slices.Clone(now))
	}
	for _, n := range c.members {
		if n.alive && n.filters.version != c.filtersVersion {
			n.filters = filtersSeen{c.filtersVersion, inForce(c.filters, nil)}
		}
	}
	if c.master == nil {
		return allocation.Filters{}
	}
	return c.master.filters.inForce
}

// changeFilters tells each process that has seen the filters so far what has changed.
func (c *Cluster) changeFilters(now []clusterFilter) {
	changed := map[string]bool{}
	var delta []clusterFilter
	for _, f := range now {
		if !slices.Contains(c.filters, f) {
			changed[f.kind] = true
			delta = append(delta, f)
		}
	}
	for _, f := range c.filters {
		if !slices.ContainsFunc(now, func(o clusterFilter) bool { return o.kind == f.kind && o.key == f.key }) {
			changed[f.kind] = true
		}
	}
	before := c.filtersVersion
	c.filters = now
	c.filtersVersion++
	for _, n := range c.members {
		if !n.alive || before == 0 || n.filters.version != before {
			continue
		}
		kept := n.filters.inForce
		n.filters.version = c.filtersVersion
		n.filters.inForce = inForce(delta, changed)
		for _, kind := range allocation.FilterKinds {
			if !changed[kind] {
				*n.filters.inForce.Of(kind) = *kept.Of(kind)
			}
		}
	}
}

// inForce are the filters of the given kinds, of all where kinds is nil.
func inForce(list []clusterFilter, kinds map[string]bool) (out allocation.Filters) {
	for _, f := range list {
		if kinds == nil || kinds[f.kind] {
			out.Add(f.kind, f.key, f.list)
		}
	}
	return out
}
