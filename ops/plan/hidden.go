package plan

import "stevedore.dev/stevedore/ops"

// hiddenHealth is what the whole cluster lacks beyond what is seen: of tables that the
// user `system` may not see. Nothing in a plan heals it.
func hiddenHealth(db *ops.Database) ops.Health {
	all, seen := &db.ClusterHealth, &db.Health
	if all.Colour == ops.ColourUnknown {
		return ops.Health{}
	}
	h := ops.Health{Missing: max(0, all.Missing-seen.Missing), Underreplicated: max(0, all.Underreplicated-seen.Underreplicated)}
	switch {
	case all.Colour == ops.Red && seen.Colour != ops.Red:
		h.Colour = ops.Red
	case h.Missing+h.Underreplicated > 0:
		h.Colour = ops.Yellow
	}
	return h
}
