package tell

import (
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
		fields := func(restart bool) []string {
			return model.Texts(t.Kept, func(c *model.Change) string {
				if c.Set == a.Set && c.Restarts() == restart {
					return c.Path
				}
				return ""
			})
		}
		first, others := fields(true), fields(false) // what a process reads comes first
		t.Wait(gates.AdoptedTemplate(a.Set, a.From, t.Desired.Namespace+"/"+t.Desired.Name, append(first, others...)))
	}
}
