package fetch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Two nodes are asked before a table is dropped or two exchange their names. One of them is the master: two others may
// both be behind.
func TestOneOfTheTwoNodesThatAreAskedIsTheMaster(t *testing.T) {
	for _, c := range []struct {
		name, master  string
		answer        []string
		first, second string
	}{
		{"the master answers, and is asked second", "c", []string{"a", "b", "c"}, "a", "c"},
		{"the master is asked first", "a", []string{"a", "b", "c"}, "a", "b"},
		{"the pod of the master does not answer", "c", []string{"a", "b"}, "a", ""},
		{"there is one node", "a", []string{"a"}, "a", ""},
		{"there is no master", "", []string{"a", "b"}, "a", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &view.View{Record: model.Record{ClusterID: "id"}}
			db := &v.Observed.Database
			db.MasterNode = c.master
			for _, name := range []string{"a", "b", "c"} {
				v.Observed.Pods = append(v.Observed.Pods, model.Pod{Name: "pod-" + name, NodeName: "node-" + name, Ready: true})
				db.Nodes = append(db.Nodes, model.Node{ID: name, Name: "node-" + name})
			}
			for _, name := range c.answer {
				db.Pods = append(db.Pods, model.PodAnswer{Pod: "pod-" + name, NodeName: "node-" + name, ClusterID: "id"})
			}
			a := action(&pass.Pass{View: *v}, &model.Fetch{Verb: model.FetchReplace, Batch: []string{"doc.a"}, Tried: true}, model.ActionDropCopy)
			assert.Equal(t, "pod-"+c.first, a.Pod)
			assert.True(t, a.Tried)
			if c.second == "" {
				assert.Empty(t, a.Second)
				return
			}
			assert.Equal(t, "pod-"+c.second, a.Second)
		})
	}
}

// A copy that has made way is dropped, and comes again with another index.
func TestTheIndexOfACopyGoesWithIt(t *testing.T) {
	f := &model.Fetch{
		Verb: model.FetchReplace, Snapshot: "s", Schema: model.KeptSchema("id"), Batch: []string{"doc.a"}, Step: model.FetchDrop,
		Index: "copy", Tried: true, Yields: "an operation is under way",
	}
	a := model.Action{Kind: model.ActionDropCopy, Snapshot: "s", Table: "doc.a"}
	r := Result(model.Record{Backups: &model.Backups{Fetch: f}}, a, model.Result{}, time.Unix(0, 0))
	assert.Equal(t, []string{"doc.a"}, r.Backups.Fetch.Rest)
	assert.Empty(t, r.Backups.Fetch.Index)
	assert.False(t, r.Backups.Fetch.Tried)
}
