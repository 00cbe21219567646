package simulation

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/render/definition"
)

// zoning is the first seed whose schedules may have the awareness of zones, and the consent leave-zone.
const zoning = 3_900_000_000

// mayBeAware: not where volumes are replaced or disks removed, which is refused for the only node of a zone, nor where
// tables come back with any number of replicas.
func (s *Schedule) mayBeAware() bool { return !s.Start.Swaps && s.Start.Disks == 0 && !s.Start.Drills }

// awareOf draws a cluster in which CrateDB keeps the copies of a shard in different zones, and pushes of fewer nodes. A
// table has three copies at most, which any zones take that have as many nodes.
func (s *Schedule) awareOf(r *random) {
	s.Start.Aware = true
	s.Start.Hot, s.Start.Warm = r.between(3, 5), r.between(1, 2)
	if r.oneIn(2) {
		s.Start.Masters, s.Start.Hot = 3, r.between(2, 4)
	}
	for i, replicas := range s.Start.Tables {
		if _, most, isRange := strings.Cut(replicas, "-"); i == 0 || isRange && most == "all" {
			s.Start.Tables[i] = "2"
		}
	}
	// A table that is pinned to nodes of one zone lacks copies for ever, and one with more copies where a zone has too few nodes.
	s.Items = slices.DeleteFunc(s.Items, func(i Item) bool { return i.What == pinTable || i.What == createTable || i.What == alterReplicas })
	at := r.span(0, eventful/2)
	for range r.between(2, 4) {
		s.Items = append(s.Items, Item{What: pushShrink, At: at, A: r.below(8), B: r.below(8)})
		at += r.span(second, minute)
	}
}

// countZones tells the deciders in how many zones data nodes are; one on its way out counts while it is a member.
func (w *world) countZones() {
	if !w.schedule.Start.Aware {
		return
	}
	w.rules.Awareness = append(w.rules.Awareness[:0], allocation.Attribute{Name: "zone"})
	holders := make([]*allocation.Node, 0, len(w.used))
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && !l.set.masters {
			holders = append(holders, &l.place)
		}
	}
	w.rules.Count(holders)
}

// remains reports whether the copy may stay where it is.
func (w *world) remains(s *shard, t *table, c *replica) bool {
	return w.allowed(t, &w.slots[c.slot]) && (!w.schedule.Start.Aware || w.rules.Remains(w.asked(s, c)))
}

// consented adds the consent to leave a zone.
func (s *Start) consented(all []definition.Consent) []definition.Consent {
	if s.Aware {
		return slices.Concat(all, []definition.Consent{definition.ConsentLeaveZone})
	}
	return all
}

// mayStay reports whether a node may leave with the copy: by consent, where another whole one is on a node that stays.
func (w *world) mayStay(s *shard, l *slot) bool {
	return w.schedule.Start.Aware && slices.ContainsFunc(s.copies, func(c replica) bool {
		o := &w.slots[c.slot]
		return o != l && c.synced && c.node == o.volume.node && o.ordinal < o.set.replicas
	})
}
