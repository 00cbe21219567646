package e2e

import (
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
)

// recordingAPIServer stands in front of the real one and writes down what is
// asked of it, as its authorizer sees it: "namespace verb group/resource".
type recordingAPIServer struct {
	host, port string
	authority  []byte

	mu      sync.Mutex
	asked   map[string]bool
	refused map[string]bool
}

func newRecordingAPIServer(t *testing.T) *recordingAPIServer {
	t.Helper()
	real, err := url.Parse(bed.Config.Host)
	require.NoError(t, err)
	// Trust in the API server's certificate, and nobody's credentials: those
	// come with each request.
	config := rest.AnonymousClientConfig(bed.Config)
	config.NextProtos = []string{"http/1.1"} // exec upgrades its connection
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	r := &recordingAPIServer{asked: map[string]bool{}, refused: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(real) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode == http.StatusForbidden {
				r.note(r.refused, response.Request)
			}
			return nil
		},
		// A daemon that is killed cuts its connections.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	// No client sends a token over plain HTTP.
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.note(r.asked, request)
		proxy.ServeHTTP(w, request)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	r.host, r.port = at.Hostname(), at.Port()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return r
}

func (r *recordingAPIServer) note(in map[string]bool, request *http.Request) {
	what, ok := authorized(request)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	in[what] = true
}

// listed in order; which is asked or refused.
func (r *recordingAPIServer) listed(which map[string]bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(which))
}

// authorized is what a request needs a rule for; false for discovery and other
// paths that are no objects of a namespace.
func authorized(request *http.Request) (string, bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return "", false
	}
	if len(parts) < 3 || parts[0] != "namespaces" {
		return "(cluster-wide) " + request.Method + " " + strings.Join(parts, "/"), true
	}
	namespace, resource, named := parts[1], parts[2], len(parts) > 3
	if len(parts) > 4 {
		resource += "/" + parts[4]
	}
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method]
	switch {
	case verb != "":
	case named:
		verb = "get"
	case request.URL.Query().Get("watch") != "":
		verb = "watch"
	default:
		verb = "list"
	}
	return namespace + " " + verb + " " + strings.TrimPrefix(group+"/"+resource, "/"), true
}

// granted are the same words of a Role.
func granted(role *rbacv1.Role) []string {
	var all []string
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, role.Namespace+" "+verb+" "+strings.TrimPrefix(group+"/"+resource, "/"))
				}
			}
		}
	}
	return all
}
