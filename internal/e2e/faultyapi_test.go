package e2e

import (
	"encoding/pem"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// faultyAPIServer stands in front of the real one and spoils one write in
// four, and one read in twenty: refused with 409, 429 or 500; or carried out
// and then answered with 500 or not at all.
type faultyAPIServer struct {
	kubeconfig string
	calm       atomic.Bool
	faults     atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
	proxy  *httputil.ReverseProxy
}

func newFaultyAPIServer(t *testing.T, random *rand.Rand) *faultyAPIServer {
	t.Helper()
	real, err := url.Parse(bed.Config.Host)
	require.NoError(t, err)
	// Trust in the API server's certificate, and nobody's credentials: those
	// come with each request.
	config := rest.AnonymousClientConfig(bed.Config)
	config.NextProtos = []string{"http/1.1"} // exec upgrades its connection
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	f := &faultyAPIServer{random: random}
	f.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(real) },
		Transport:     transport,
		FlushInterval: -1,
		// A daemon that is killed cuts its connections.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	// No client sends a token over plain HTTP.
	server := httptest.NewTLSServer(f)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	daemons, err := clientcmd.LoadFromFile(bed.Kubeconfig)
	require.NoError(t, err)
	for _, cluster := range daemons.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = server.URL, "", authority
		cluster.InsecureSkipTLSVerify, cluster.TLSServerName = false, ""
	}
	f.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*daemons, f.kubeconfig))
	require.NoError(t, os.Chmod(f.kubeconfig, 0o600))
	return f
}

func (f *faultyAPIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch fault := f.draw(read); {
	case fault == "":
		f.proxy.ServeHTTP(w, r)
	case fault == "409" && !read:
		status(w, http.StatusConflict, "Conflict")
	case fault == "429":
		w.Header().Set("Retry-After", "1")
		status(w, http.StatusTooManyRequests, "TooManyRequests")
	case fault == "lost" && !read:
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
		cutOff(w)
	case fault == "applied" && !read:
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
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
