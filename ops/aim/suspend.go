package aim

import (
	"fmt"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// NoDataNode reports whether no data group is to have a node: dedicated masters alone are no
// cluster that anybody wants.
func NoDataNode(sets []model.Set) bool {
	return model.Any(sets, func(s *model.Set) bool { return s.Data }) && !model.Any(sets, func(s *model.Set) bool { return s.Data && s.Replicas > 0 })
}

// AsksToSuspend reports whether the definition asks for a suspension.
func AsksToSuspend(v *view.View) bool { return NoDataNode(v.Desired.Sets) }

// noteSuspension notes whether the cluster is suspended, suspending or resuming. Consent is needed to begin one,
// not to stay suspended.
func noteSuspension(t *pass.Pass) {
	switch {
	case len(t.Record.Suspended) > 0:
		t.Suspending = true
	case !AsksToSuspend(&t.View), t.Record.Operation.Is(model.OperationUpgrade): // an upgrade that has begun ends first
	case !t.Desired.Operations.Has(definition.ConsentSuspend):
		t.Refuse(gates.Suspend())
	case !t.Record.Bootstrap.Done:
		t.Refuse(gates.SuspendEarly())
	default:
		t.Suspending = true
	}
}

// NumberOf is "1 node" or "3 nodes".
func NumberOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
