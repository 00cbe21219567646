package apply

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// CountRequests returns a copy of cfg whose clients call count after each
// request's answer; code is 0 where there was none.
func CountRequests(cfg *rest.Config, count func(method, path string, code int)) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counter{next: next, count: count} })
	return cfg
}

type counter struct {
	next  http.RoundTripper
	count func(method, path string, code int)
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	code := 0
	if response != nil {
		code = response.StatusCode
	}
	c.count(request.Method, request.URL.Path, code)
	return response, err
}

// WrappedRoundTripper lets client-go reach the transport below.
func (c *counter) WrappedRoundTripper() http.RoundTripper { return c.next }
