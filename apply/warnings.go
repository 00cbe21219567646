package apply

import (
	"context"
	"log/slog"
	"sync"

	"stevedore.dev/stevedore/apply/compare"
)

// Warnings says what the API server, or an admission webhook, says beside its answers:
// that a field or a kind is deprecated, say. Once each for one object: what is refused is
// asked for again and again. It is a rest.WarningHandlerWithContext.
type Warnings struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[saidWarning]bool
}

type saidWarning struct {
	about compare.Key
	text  string
}

// mostSaid bounds what is remembered; beyond it all may be said once more.
const mostSaid = 2000

// NewWarnings says them to log.
func NewWarnings(log *slog.Logger) *Warnings {
	return &Warnings{log: log, said: map[saidWarning]bool{}}
}

type aboutKey struct{}

// About says which object a request is about, for what is said beside its answer.
func About(ctx context.Context, key compare.Key) context.Context {
	return context.WithValue(ctx, aboutKey{}, key)
}

// HandleWarningHeaderWithContext is called for each warning of an answer.
func (w *Warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _ string, text string) {
	if code != 299 || text == "" {
		return
	}
	key, _ := ctx.Value(aboutKey{}).(compare.Key)
	if key.IsSecret() {
		text = "of a Secret: its words may quote values and are left out"
	}
	w.mu.Lock()
	warning := saidWarning{key, text}
	known := w.said[warning]
	if len(w.said) >= mostSaid {
		clear(w.said)
	}
	w.said[warning] = true
	w.mu.Unlock()
	if known {
		return
	}
	if key == (compare.Key{}) {
		w.log.WarnContext(ctx, "the API server warns", "warning", text)
		return
	}
	w.log.WarnContext(ctx, "the API server warns", "object", key.String(), "warning", text)
}
