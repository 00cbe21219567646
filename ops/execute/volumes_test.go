package execute_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// deleting is a Kubernetes with claims that somebody has deleted.
type deleting struct {
	*succession
	claims []model.Claim
	done   []string
}

func (d *deleting) DeletedClaims(context.Context) ([]model.Claim, error) { return d.claims, nil }

func (d *deleting) DeleteClaim(_ context.Context, name, _ string) error {
	d.done = append(d.done, "claim "+name)
	return nil
}

func (d *deleting) DeletePod(_ context.Context, name, _ string) error {
	d.done = append(d.done, name)
	return nil
}

func (d *deleting) RestartPod(_ context.Context, name, _ string, _ bool) error {
	d.done = append(d.done, name)
	return nil
}

func (d *deleting) ShrinkSet(_ context.Context, set, _, _ string, _, _ int) error {
	d.done = append(d.done, set)
	return nil
}

// A claim may be deleted between the decision and the write: whatever takes the pod down looks.
func TestNoPodGoesWhoseClaimWasDeletedSinceTheDecision(t *testing.T) {
	restart := model.Action{Kind: model.ActionRestartPod, Pod: "set-1", PodUID: "u", SystemSecret: "system", Allocation: "primaries", Members: "n1", NodeNames: "n1"}
	loses := restart
	loses.LosesVolume = true
	free := restart
	free.Free = "data1-set-1,data1-set-2"
	zone := restart
	zone.Kind, zone.Pods = model.ActionRestartZone, "set-0/u,set-1/v"
	cure := model.Action{
		Kind: model.ActionReplaceStuckPod, Pod: "set-1", PodUID: "u", SystemSecret: "system", Ask: "set-2", NodeNames: "n1", Led: true,
		LosesVolume: true, Whole: model.WholeHealth{Asked: true, Lacks: 1},
	}
	going := func(name string) model.Claim { return model.Claim{Name: name, ClusterID: "id", Terminating: true} }
	agreed := going("data0-set-1")
	agreed.Replace = true
	copyOn := func(node string) []string { return []string{"doc", "t", "", "0", "STARTED", "", node, ""} }
	for _, c := range []struct {
		name    string
		action  model.Action
		claims  []model.Claim
		answers [][][]string
		words   string
	}{
		{"a restart", restart, []model.Claim{going("data0-set-1")}, [][][]string{value("primaries"), value("n1")}, "data0-set-1 is being deleted"},
		{"that of another pod", restart, []model.Claim{going("data0-set-11"), going("data0-set-0")}, [][][]string{value("primaries"), value("n1")}, ""},
		{"that of a disk that its pod does without", free, []model.Claim{going("data1-set-1")}, [][][]string{value("primaries"), value("n1")}, ""},
		{"that of a disk that its pod uses", free, []model.Claim{going("data0-set-1")}, [][][]string{value("primaries"), value("n1")}, "data0-set-1"},
		{"that of heap dumps", restart, []model.Claim{going("debug-set-1")}, [][][]string{value("primaries"), value("n1")}, ""},
		{"agreed since the decision, which has not looked at its shards", restart, []model.Claim{agreed}, [][][]string{value("primaries"), value("n1")}, "data0-set-1"},
		{"agreed, and each shard is elsewhere", loses, []model.Claim{agreed}, [][][]string{value("primaries"), {copyOn("n1"), copyOn("n2")}, nil, value("n1")}, ""},
		{"agreed, and a shard is nowhere else by now", loses, []model.Claim{agreed}, [][][]string{value("primaries"), {copyOn("n1")}}, "shard 0 of doc.t is on node n1 only"},
		{"agreed, and tables may be hidden by now", loses, []model.Claim{agreed}, [][][]string{value("primaries"), nil, {{"DQL", "TABLE", "doc.t"}}}, "denied"},
		{"agreed, and a second claim is not", loses, []model.Claim{agreed, going("data1-set-1")}, [][][]string{value("primaries"), nil, nil, value("n1")}, "data1-set-1"},
		{"a zone", zone, []model.Claim{going("data0-set-1")}, [][][]string{value("primaries"), value("n1")}, "data0-set-1"},
		{"a stuck pod", model.Action{Kind: model.ActionReplaceStuckPod, Pod: "set-1", PodUID: "u"}, []model.Claim{going("data0-set-1")}, nil, "data0-set-1"},
		{"a stuck pod, agreed", cure, []model.Claim{agreed}, [][][]string{{{"YELLOW", "0", "1"}}, value("id"), value("n2")}, ""},
		{"a stuck pod, agreed, and a shard is missing by now", cure, []model.Claim{agreed}, [][][]string{{{"RED", "1", "1"}}}, "the cluster is RED by now"},
		{"a pod that never started, on a used volume", model.Action{Kind: model.ActionRecreatePod, Pod: "set-1", PodUID: "u"}, []model.Claim{going("data0-set-1")}, nil, "data0-set-1"},
		{"an exclusion of a node that stays, and its volume goes", model.Action{Kind: model.ActionIncludeNodes, NodeIDs: "n1", Pods: "set-1", SystemSecret: "system"}, []model.Claim{agreed}, nil, "data0-set-1"},
		{"a table's filter of a node that stays, and its volume goes", model.Action{Kind: model.ActionIncludeInTable, Table: "doc.t", NodeIDs: "n1", Pods: "set-1", SystemSecret: "system"}, []model.Claim{agreed}, nil, "data0-set-1"},
		{"one on a volume of nobody", model.Action{Kind: model.ActionRecreatePod, Pod: "set-1", PodUID: "u", Free: "data0-set-1"}, []model.Claim{{Name: "data0-set-1", Terminating: true}}, nil, ""},
		{"a suspension", model.Action{Kind: model.ActionSuspendSet, Set: "set", From: 3}, []model.Claim{going("data0-set-1")}, nil, "data0-set-1"},
		{"that of another set", model.Action{Kind: model.ActionSuspendSet, Set: "set", From: 3}, []model.Claim{going("data0-other-1")}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &deleting{succession: &succession{leaving: &leaving{script: newScript()}, answers: c.answers}, claims: c.claims}
			_, err := execute.Run(t.Context(), c.action, execute.Tools{Objects: d, Secrets: d.script, Database: d, Crash: d.script})
			if c.words == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, d.done)
				return
			}
			require.ErrorContains(t, err, c.words)
			assert.Empty(t, d.done)
		})
	}
}

// Between the decision and the deletion a shard may come back to the node: its pod would come back without
// the disk that the shard is on.
func TestAPodComesBackWithFewerDisksOnlyWhereItsNodeIsEmpty(t *testing.T) {
	restart := model.Action{Kind: model.ActionRestartPod, Pod: "set-1", PodUID: "u", SystemSecret: "system", Allocation: "primaries", Members: "n1", NodeNames: "n1", NodeIDs: "id-1"}
	shard := func(state, id, to string) []string { return []string{"doc", "t", "", "0", state, id, "n", to} }
	for _, c := range []struct {
		name  string
		shard []string
		words string
	}{
		{"none is on it", shard("STARTED", "id-2", ""), ""},
		{"one is on it", shard("STARTED", "id-1", ""), "shard 0 of doc.t is on the drained node"},
		{"one is on its way there", shard("RELOCATING", "id-2", "id-1"), "on its way there"},
		{"one is on no node", shard("UNASSIGNED", "", ""), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &deleting{succession: &succession{leaving: &leaving{script: newScript()}, answers: [][][]string{value("primaries"), {c.shard}, value("n1")}}}
			_, err := execute.Run(t.Context(), restart, execute.Tools{Objects: d, Secrets: d.script, Database: d, Crash: d.script})
			if c.words == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, d.done)
				return
			}
			require.ErrorContains(t, err, c.words)
			assert.Empty(t, d.done)
		})
	}
}
