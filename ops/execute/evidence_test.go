package execute_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// beside is a superuser and a volume.
type beside struct {
	superuser, shards, elsewhere string
	crash, volume                error
	folders                      []model.ShardFolder
	asked                        []string
}

func (b *beside) Run(_ context.Context, pod, statement string) (string, error) {
	b.asked = append(b.asked, pod)
	switch {
	case b.crash != nil:
		return "", b.crash
	case strings.Contains(statement, "sys.users"):
		return b.superuser, nil
	case strings.Contains(statement, "NOT IN"):
		return b.elsewhere, nil
	}
	return b.shards, nil
}

func (b *beside) Folders(_ context.Context, _ string) ([]model.ShardFolder, error) {
	return b.folders, b.volume
}

const shardOnN3 = `[{"schema_name": "secret", "table_name": "t", "partition_ident": "", "id": 0, "routing_state": "STARTED", "node_id": "n3", "node_name": "n3", "relocating_node": null, "path": "/d/nodes/0/indices/u/0"}]`

func TestOthersThanSystemAreAskedBeforeASetIsMadeSmaller(t *testing.T) {
	elsewhere := strings.ReplaceAll(shardOnN3, `"n3"`, `"n1"`)
	folder := []model.ShardFolder{{UUID: "u", ID: 0, Path: "/d/nodes/0/indices/u/0"}}
	for _, c := range []struct {
		name   string
		change func(*beside, *model.Action)
		words  string
	}{
		{"all of them say that it is empty", func(*beside, *model.Action) {}, ""},
		{"the superuser sees a shard", func(b *beside, _ *model.Action) { b.shards = shardOnN3 }, "the superuser sees secret.t (started on n3)"},
		{"a folder lies on the volume", func(b *beside, _ *model.Action) { b.folders = folder }, "1 shard folder(s) are left"},
		{"half of the volume was read, and has one", func(b *beside, _ *model.Action) { b.folders, b.volume = folder, errors.New("cut off") }, "1 shard folder(s) are left"},
		{"no crash", func(b *beside, _ *model.Action) { b.crash = errors.New("forbidden") }, ""},
		{"no ls", func(b *beside, _ *model.Action) { b.volume = errors.New("not found") }, ""},
		{"neither", func(b *beside, _ *model.Action) { b.crash, b.volume = errors.New("forbidden"), errors.New("not found") }, "nobody else could be asked: the superuser (forbidden), the volume (not found)"},
		{"crate is no superuser, and no ls", func(b *beside, _ *model.Action) { b.superuser, b.volume = "[]", errors.New("not found") }, "no superuser"},
		{"an answer that cannot be read, and no ls", func(b *beside, _ *model.Action) { b.shards, b.volume = "[{", errors.New("not found") }, "reading what crash"},
		{"by leave-zone a copy that is started elsewhere too", func(b *beside, a *model.Action) {
			b.shards, b.elsewhere, b.folders, a.Elsewhere = shardOnN3, elsewhere, folder, true
		}, ""},
		{"by leave-zone the only copy", func(b *beside, a *model.Action) {
			b.shards, b.elsewhere, b.folders, a.Elsewhere = shardOnN3, "[]", folder, true
		}, "the superuser sees secret.t"},
		{"a pod that is away: the superuser in one that stays sees a shard", func(b *beside, a *model.Action) {
			b.shards, a.Pods, a.Absent = strings.ReplaceAll(shardOnN3, "STARTED", "UNASSIGNED"), "", "p-3"
		}, "secret.t (unassigned"},
		{"a pod that is away, and nobody can be asked", func(b *beside, a *model.Action) {
			b.crash, a.Pods, a.Absent = errors.New("forbidden"), "", "p-3"
		}, "no CrateDB runs in this pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &leaving{
				script: newScript("system/real"), excluded: "somebody,n3",
				nodes:  [][]string{{"n1", "n1"}, {"n2", "n2"}, {"n3", "n3"}},
				shards: [][]string{on("n1", "STARTED"), on("n2", "STARTED")},
			}
			b := &beside{superuser: `[{"name": "crate"}]`, shards: "[]", elsewhere: "[]"}
			a := model.Action{
				Kind: model.ActionShrinkSet, Pod: "p", SystemSecret: "system", Set: "s", SetUID: "u", SetVersion: "7",
				From: 3, To: 2, NodeIDs: "n3", NodeNames: "n3", Members: "n1,n2,n3", Pods: "p-3",
			}
			c.change(b, &a)
			tools := execute.Tools{Objects: l, Secrets: l.script, Database: l, Crash: b, Volume: b}
			l.alike(t, a, tools, c.words)
			_, err := execute.Run(t.Context(), a, tools)
			if a.Absent != "" {
				assert.NotContains(t, b.asked, "p-3")
			}
			if c.words != "" {
				require.ErrorContains(t, err, c.words)
				assert.Empty(t, l.lowered)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []int{2}, l.lowered)
		})
	}
}
