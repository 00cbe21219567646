package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// recordingAPIServer stands in front of the real one and counts what is asked of it.
type recordingAPIServer struct {
	*frontAPIServer

	mu      sync.Mutex
	asked   map[asking]int
	refused map[asking]int
}

// asking is a request as the API server's authorizer sees it.
type asking struct {
	// verb is the HTTP method where the request is not about one namespace, resource is
	// "group/resource/subresource".
	namespace, verb, resource string
	name                      string // empty where no object is named
}

func newRecordingAPIServer(t *testing.T) *recordingAPIServer {
	t.Helper()
	r := &recordingAPIServer{asked: map[asking]int{}, refused: map[asking]int{}}
	r.frontAPIServer = newFrontAPIServer(t, func(pass http.Handler, w http.ResponseWriter, request *http.Request) {
		r.note(r.asked, request)
		pass.ServeHTTP(w, request)
	}, func(response *http.Response) {
		if response.StatusCode == http.StatusForbidden {
			r.note(r.refused, response.Request)
		}
	})
	return r
}

func (r *recordingAPIServer) note(in map[asking]int, request *http.Request) {
	what, ok := authorized(request)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	in[what]++
}

// listed in order, "namespace verb resource"; which is asked or refused.
func (r *recordingAPIServer) listed(which map[asking]int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for a := range which {
		all = append(all, a.namespace+" "+a.verb+" "+a.resource)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// requests until now, and how often each was made.
func (r *recordingAPIServer) requests() map[asking]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// more are the requests of a kind that came between two countings.
func more(before, after map[asking]int, which func(asking) bool) map[asking]int {
	all := map[asking]int{}
	for a, n := range after {
		if n > before[a] && which(a) {
			all[a] = n - before[a]
		}
	}
	return all
}

// writes are the requests that change something else than a Lease.
func writes(a asking) bool {
	return !reads(a) && a.resource != "coordination.k8s.io/leases"
}

func reads(a asking) bool {
	return slices.Contains([]string{"get", "list", "watch", http.MethodGet}, a.verb)
}

// readsOfClusters are single reads and lists of what clusters are made of; a watch
// that has ended may begin again where it stood.
func readsOfClusters(a asking) bool {
	return slices.Contains([]string{"get", "list"}, a.verb) && slices.Contains(ownKinds, a.resource)
}

// ownKinds are the resources that a daemon reads and writes of clusters.
var ownKinds = []string{"configmaps", "apps/statefulsets", "services", "secrets", "policy/poddisruptionbudgets", "pods",
	"persistentvolumeclaims", "serviceaccounts", "networking.k8s.io/networkpolicies", "networking.k8s.io/ingresses"}

// authorized is what a request needs a rule for; false for discovery and other
// paths that are no objects of a namespace.
func authorized(request *http.Request) (asking, bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return asking{}, false
	}
	if len(parts) < 3 || parts[0] != "namespaces" {
		return asking{namespace: "(cluster-wide)", verb: request.Method, resource: strings.Join(parts, "/")}, true
	}
	a := asking{namespace: parts[1], resource: strings.TrimPrefix(group+"/"+parts[2], "/")}
	if len(parts) > 3 {
		a.name = parts[3]
	}
	if len(parts) > 4 {
		a.resource += "/" + parts[4]
	}
	a.verb = map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method]
	switch {
	case a.verb != "":
	case a.name != "":
		a.verb = "get"
	case request.URL.Query().Get("watch") != "":
		a.verb = "watch"
	default:
		a.verb = "list"
	}
	return a, true
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
