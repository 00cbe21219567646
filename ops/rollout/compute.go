package rollout

import (
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// computeChange reports another CPU or memory; nothing where the record does not know what was
// there before.
func computeChange(t *pass.Pass, status model.Status, reason, message string) {
	if t.Record.Compute == nil || t.Desired.Compute == nil || *t.Record.Compute == *t.Desired.Compute {
		return
	}
	t.Report(model.Report{Event: model.EventCompute, Status: status, Reason: reason, OldCompute: *t.Record.Compute, NewCompute: *t.Desired.Compute, Message: message})
}

func computeBegins(t *pass.Pass) {
	computeChange(t, model.StatusInProgress, "ComputeChangeStarted", "the CPU or memory of group "+firstDataGroup(&t.View)+" is being changed, node by node")
}

// computeEnds notes what the nodes have now.
func computeEnds(t *pass.Pass) {
	computeChange(t, model.StatusSuccess, "ComputeChanged", "the nodes of group "+firstDataGroup(&t.View)+" have the CPU and memory that the definition says")
	t.Record.Compute = t.Desired.Compute
}

func firstDataGroup(v *view.View) string {
	for i := range v.Desired.Sets {
		if v.Desired.Sets[i].Data {
			return v.Desired.Sets[i].Group
		}
	}
	return ""
}
