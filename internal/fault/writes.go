package fault

import (
	"net/http"
	"strings"
)

// Writes marks each write to the API server that goes through it.
func Writes(next http.RoundTripper) http.RoundTripper { return writes{next} }

type writes struct{ next http.RoundTripper }

func (w writes) RoundTrip(request *http.Request) (*http.Response, error) {
	// To ask what one may do is a POST, and so is a stream to a pod.
	asks := strings.HasSuffix(request.URL.Path, "accessreviews") || strings.HasSuffix(request.URL.Path, "/portforward")
	if request.Method == http.MethodGet || asks {
		return w.next.RoundTrip(request)
	}
	Before(API)
	answer, err := w.next.RoundTrip(request)
	After(API)
	return answer, err
}
