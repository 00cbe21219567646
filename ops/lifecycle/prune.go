package lifecycle

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// Prune removes what the definition makes no more, once everything that it makes
// stands and every pod runs on it: until then a template that went back may need it.
func Prune(t *pass.Pass) {
	var used, kept []string
	for l := range model.Each(t.Observed.Leftovers) {
		switch {
		case l.Terminating:
		case l.Data:
			if l.Object.Kind == "Secret" {
				kept = append(kept, l.Object.String())
			}
		case l.UsedBy != "":
			used = append(used, l.Object.String()+" (StatefulSet "+l.UsedBy+")")
		default:
			t.Harmless(l.Delete())
		}
	}
	t.Waits(gates.ObjectKept(used, kept))
}
