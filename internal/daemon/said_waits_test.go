package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// The demo printed a wait twice, because another one had come beside it.
func TestAWaitIsSaidAgainOnlyWhenItsWordsHaveChanged(t *testing.T) {
	var out bytes.Buffer
	w := &worker{log: slog.New(slog.NewTextHandler(&out, nil)), daemon: &daemon{outcome: map[record.Cluster]string{}}}
	joined, drain := model.Reason{Name: "nodes-joined", Message: "3 of 5 nodes"}, model.Reason{Name: "draining", Message: "4 shards"}
	for _, c := range []struct {
		name  string
		waits []model.Reason
		said  []string
	}{
		{"the first", []model.Reason{joined}, []string{"3 of 5 nodes"}},
		{"the same", []model.Reason{joined}, nil},
		{"another beside it", []model.Reason{joined, drain}, []string{"4 shards"}},
		{"the other alone", []model.Reason{drain}, nil},
		{"the first again, in other words", []model.Reason{{Name: joined.Name, Message: "4 of 5 nodes"}, drain}, []string{"4 of 5 nodes"}},
		{"the first again", []model.Reason{joined}, []string{"3 of 5 nodes"}},
	} {
		out.Reset()
		w.noteSettledVerdict(model.Decision{Verdict: model.Wait, Waits: c.waits}, nil, false)
		var said []string
		for line := range strings.Lines(out.String()) {
			for _, words := range []string{"3 of 5 nodes", "4 of 5 nodes", "4 shards"} {
				if strings.Contains(line, words) {
					said = append(said, words)
				}
			}
		}
		assert.Equal(t, c.said, said, c.name)
	}
}
