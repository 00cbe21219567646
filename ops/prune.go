package ops

import (
	"stevedore.dev/stevedore/ops/gates"
)

// Leftover is a live object that the definition made once and makes no more.
type Leftover struct {
	Object ObjectRef
	// UID and ResourceVersion are what its deletion holds for.
	UID, ResourceVersion string
	// Data is true for what may hold data, or hold what does: it is never removed.
	Data bool
	// UsedBy is the StatefulSet whose template names it; "" where none does.
	UsedBy string
	// Terminating is true where it is being deleted already.
	Terminating bool
}

// ObjectRef names an object of the cluster's namespace.
type ObjectRef struct{ Group, Kind, Name string }

func (r ObjectRef) String() string { return r.Kind + " " + r.Name }

// prune removes what the definition makes no more, once everything that it makes
// stands and every pod runs on it: until then a template that went back may need it.
func (t *turn) prune() {
	var used, kept []string
	for i := range t.o.Leftovers {
		l := &t.o.Leftovers[i]
		switch {
		case l.Terminating:
		case l.Data:
			if l.Object.Kind == "Secret" {
				kept = append(kept, l.Object.String())
			}
		case l.UsedBy != "":
			used = append(used, l.Object.String()+" (StatefulSet "+l.UsedBy+")")
		default:
			t.harmless(l.delete())
		}
	}
	if reason, holds := gates.ObjectKept(used, kept); holds {
		t.wait(reason)
	}
}

func (l *Leftover) delete() Action {
	return Action{Kind: ActionDeleteObject, Object: l.Object, SetUID: l.UID, SetVersion: l.ResourceVersion}
}
