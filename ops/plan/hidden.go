package plan

import (
	"stevedore.dev/stevedore/ops/model"
)

// hiddenHealth is what the whole cluster lacks beyond what is seen: of tables that the
// user `system` may not see. Nothing in a plan heals it.
func hiddenHealth(db *model.Database) model.Health {
	all, seen := &db.ClusterHealth, &db.Health
	if all.Colour == model.ColourUnknown {
		return model.Health{}
	}
	h := model.Health{Missing: max(0, all.Missing-seen.Missing), Underreplicated: max(0, all.Underreplicated-seen.Underreplicated)}
	switch {
	case all.Colour == model.Red && seen.Colour != model.Red:
		h.Colour = model.Red
	case h.Missing+h.Underreplicated > 0:
		h.Colour = model.Yellow
	}
	return h
}
