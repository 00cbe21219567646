package tell

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Adopted says which StatefulSets keep the pod template that they were adopted with, and what a
// restart will change. It is said for as long as it is so: somebody has to ask for the restart.
func Adopted(t *pass.Pass) {
	for _, a := range t.Record.Adopted {
		if !view.KeepsAdopted(&t.View, a.Set) {
			continue
		}
		fields := model.Texts(t.Kept, func(c *model.Change) string {
			if c.Set == a.Set {
				return c.Path
			}
			return ""
		})
		// What a process reads comes first.
		slices.SortStableFunc(fields, func(x, y string) int { return rank(t.Kept, x) - rank(t.Kept, y) })
		t.Wait(gates.AdoptedTemplate(a.Set, a.From, t.Desired.Namespace+"/"+t.Desired.Name, fields))
	}
}

func rank(changes []model.Change, path string) int {
	if model.Any(changes, func(c *model.Change) bool { return c.Path == path && c.Restarts() }) {
		return 0
	}
	return 1
}
