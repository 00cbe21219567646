package e2e

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// frontAPIServer stands in front of the real API server: a daemon of the test talks
// to it instead, and nobody else does.
type frontAPIServer struct {
	// host and port are where it listens, authority is the certificate to trust.
	host, port string
	authority  []byte
	// kubeconfig is a daemon's, with this address instead of the real one.
	kubeconfig string
}

// newFrontAPIServer serves each request by serve, which passes it on by the handler that
// it is given. answered sees each answer of the real one; it may be nil.
func newFrontAPIServer(t *testing.T, serve func(pass http.Handler, w http.ResponseWriter, r *http.Request), answered func(*http.Response)) *frontAPIServer {
	t.Helper()
	real, err := url.Parse(bed.Config.Host)
	require.NoError(t, err)
	// Trust in the API server's certificate, and nobody's credentials: those
	// come with each request.
	config := rest.AnonymousClientConfig(bed.Config)
	config.NextProtos = []string{"http/1.1"} // exec upgrades its connection
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(real) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			if answered != nil {
				answered(response)
			}
			return nil
		},
		// A daemon that is killed cuts its connections.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	// No client sends a token over plain HTTP.
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(proxy, w, r) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f := &frontAPIServer{authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	f.host, f.port = at.Hostname(), at.Port()

	f.kubeconfig = f.before(t, bed.Kubeconfig)
	return f
}

// before is a kubeconfig with this address instead of the real one.
func (f *frontAPIServer) before(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	require.NoError(t, err)
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthority, cluster.CertificateAuthorityData = "https://"+net.JoinHostPort(f.host, f.port), "", f.authority
		cluster.InsecureSkipTLSVerify, cluster.TLSServerName = false, ""
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	require.NoError(t, os.Chmod(file, 0o600))
	return file
}
