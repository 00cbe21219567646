package e2e

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// faultyAPIServer stands in front of the real one and spoils one write in
// four, and one read in twenty: refused with 409, 429 or 500; or carried out
// and then answered with 500 or not at all.
type faultyAPIServer struct {
	*frontAPIServer
	calm   atomic.Bool
	faults atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
}

func newFaultyAPIServer(t *testing.T, random *rand.Rand) *faultyAPIServer {
	t.Helper()
	f := &faultyAPIServer{random: random}
	f.frontAPIServer = newFrontAPIServer(t, f.serve, nil)
	return f
}

func (f *faultyAPIServer) serve(pass http.Handler, w http.ResponseWriter, r *http.Request) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch fault := f.draw(read); {
	case fault == "":
		pass.ServeHTTP(w, r)
	case fault == "409" && !read:
		status(w, http.StatusConflict, "Conflict")
	case fault == "429":
		w.Header().Set("Retry-After", "1")
		status(w, http.StatusTooManyRequests, "TooManyRequests")
	case fault == "lost" && !read:
		pass.ServeHTTP(httptest.NewRecorder(), r)
		cutOff(w)
	case fault == "applied" && !read:
		pass.ServeHTTP(httptest.NewRecorder(), r)
		status(w, http.StatusInternalServerError, "InternalError")
	case fault == "cut":
		_, _ = io.Copy(io.Discard, r.Body)
		cutOff(w)
	default:
		status(w, http.StatusInternalServerError, "InternalError")
	}
}

func (f *faultyAPIServer) draw(read bool) string {
	if f.calm.Load() {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	most := 4
	if read {
		most = 20
	}
	if f.random.IntN(most) != 0 {
		return ""
	}
	f.faults.Add(1)
	return []string{"409", "429", "500", "lost", "applied", "cut"}[f.random.IntN(6)]
}

func cutOff(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func status(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
		"message": "an injected fault",
	}))
}
