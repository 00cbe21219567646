package apply_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
)

// said is a log that several goroutines write to.
type said struct {
	mu sync.Mutex
	bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(p)
}

func (s *said) lines(words string) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.String()) {
		if strings.Contains(line, words) {
			lines = append(lines, line)
		}
	}
	return lines
}

// The API server calls a node selector of this name deprecated in each answer.
func TestWhatTheAPIServerWarnsOfIsSaidOnceWithItsObject(t *testing.T) {
	w := newWorld(t)
	var log said
	var err error
	w.applier, err = apply.NewApplier(w.config, w.live, apply.ApplierOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	old := with(w.statefulSet(), map[string]any{"beta.kubernetes.io/os": "linux"}, "spec", "template", "spec", "nodeSelector")
	other := old.DeepCopy()
	other.SetName("crate-data-warm-one")
	for _, mark := range []string{"a", "b", "c"} {
		w.mustSync(with(old, mark, "metadata", "annotations", "example.com/mark"), with(other, mark, "metadata", "annotations", "example.com/mark"))
	}
	lines := log.lines("beta.kubernetes.io/os")
	require.Len(t, lines, 2, "once for each object, however often they are written")
	for i, name := range []string{old.GetName(), other.GetName()} {
		assert.Contains(t, lines[i], "level=WARN")
		assert.Contains(t, lines[i], "deprecated")
		assert.Contains(t, lines[i], `object="StatefulSet `+w.namespace+"/"+name+`"`)
	}
}

func TestAWarningAboutASecretIsSaidWithoutItsWords(t *testing.T) {
	var log said
	warnings := apply.NewWarnings(slog.New(slog.NewTextHandler(&log, nil)))
	ctx := apply.About(t.Context(), compare.Key{Kind: "Secret", Namespace: "prod", Name: "app"})
	for _, text := range []string{"hunter2 is a weak password", "hunter3 too"} {
		warnings.HandleWarningHeaderWithContext(ctx, 299, "-", text)
	}
	warnings.HandleWarningHeaderWithContext(t.Context(), 299, "-", "of no object")
	warnings.HandleWarningHeaderWithContext(t.Context(), 199, "-", "of another kind")
	assert.NotContains(t, log.String(), "hunter")
	assert.Len(t, log.lines("prod/app"), 1)
	assert.Len(t, log.lines("level=WARN"), 2)
}
