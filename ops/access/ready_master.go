package access

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// SystemKey is the key of the system user's password in its Secret.
const SystemKey = "password"

// ReadyMaster is the first ready pod that is master-eligible. If there is none it waits, and
// gives one in which CrateDB has run for long; false where there is none of these either.
func ReadyMaster(t *pass.Pass) (string, bool) {
	wanted, first, running := 0, "", ""
	for at, p := range view.Expected(&t.View, view.Voting(&t.View)) {
		wanted++
		if view.Serves(p) {
			return p.Name, true
		}
		if p != nil && running == "" && view.RunsLong(&t.View, p) {
			running = p.Name
		}
		if first == "" {
			first = at.Name() + ": " + view.PodState(&t.View, at.Name(), p)
		}
	}
	t.Waits(gates.MasterReady(0, wanted, first))
	return running, running != ""
}

// Down reports whether the cluster is suspended or being stopped: it is right that nobody
// answers.
func Down(v *view.View) bool {
	return len(v.Record.Suspended) > 0 && (v.Record.Operation == nil || v.Record.Operation.Is(model.OperationSuspend))
}
