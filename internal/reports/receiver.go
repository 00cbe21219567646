package reports

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"stevedore.dev/stevedore/internal/fault"
	"stevedore.dev/stevedore/internal/forge"
)

const (
	defaultTimeout = 10 * time.Second
	// maxReply is how much of a reply is read, so that the connection can be
	// used again; its content is of no interest and never repeated.
	maxReply = 64 << 10
)

// Headers of a delivery.
const (
	// HeaderEventID is the same for each attempt at the same report.
	HeaderEventID = "X-Stevedore-Event-Id"
	// HeaderRevision is the cluster's render that the report is about.
	HeaderRevision = "X-Stevedore-Revision"
	// HeaderSignature is "sha256=" and the hexadecimal HMAC-SHA256 of the body
	// with the key WEBHOOK_SECRET.
	HeaderSignature = "X-Signature"
)

// Receiver is one address that takes reports.
type Receiver struct {
	format             *format
	client             *http.Client
	url                *url.URL
	username, password string
	secret             []byte
	timeout            time.Duration
	agent              string
}

// NewReceiver makes a receiver, or nil where the configuration names none.
// Version goes into the User-Agent.
func NewReceiver(config Config, version string) (*Receiver, error) {
	p, err := config.check()
	if err != nil {
		return nil, fmt.Errorf("configure reports by %s: %w", config.kind().name, err)
	}
	if p.url == nil {
		return nil, nil
	}
	timeout := config.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	return &Receiver{
		format: config.kind(),
		client: &http.Client{
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext,
				TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.roots},
				TLSHandshakeTimeout:   timeout,
				ResponseHeaderTimeout: timeout,
				MaxIdleConnsPerHost:   4,
				MaxConnsPerHost:       10,
				IdleConnTimeout:       90 * time.Second,
				ForceAttemptHTTP2:     true,
				// A header of megabytes is no answer.
				MaxResponseHeaderBytes: maxReply,
			},
			// The body and its credentials go where they were told to go.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		url: p.url, username: p.username, password: p.password, secret: []byte(config.Secret),
		timeout: timeout, agent: "stevedore/" + version,
	}, nil
}

// String is what may be printed of the receiver.
func (r *Receiver) String() string { return redacted(r.url) }

// Close drops idle connections.
func (r *Receiver) Close() { r.client.CloseIdleConnections() }

// deliveryError says why a delivery was not taken.
type deliveryError struct {
	receiver *Receiver
	// status is 0 when there was no answer.
	status int
	// after is the receiver's own Retry-After; 0 for none.
	after time.Duration
	cause error
	// said, where it is set, is the whole sentence.
	said string
}

func (e *deliveryError) Error() string {
	if e.said != "" {
		return e.said
	}
	to, variable := fmt.Sprintf("deliver to %s %s", e.receiver.format.name, e.receiver), e.receiver.format.variables[0]
	switch {
	case e.status == 0:
		return fmt.Sprintf("%s: %v", to, e.cause)
	case e.status >= 300 && e.status < 400:
		return fmt.Sprintf("%s: it redirects (HTTP %d), which is not followed: set %s_URL to the final address", to, e.status, variable)
	case e.unauthorised() && e.receiver.format.credentials:
		return fmt.Sprintf("%[1]s: HTTP %[2]d: check %[3]s_USERNAME, %[3]s_PASSWORD and %[3]s_SECRET", to, e.status, variable)
	case e.unauthorised():
		return fmt.Sprintf("%s: HTTP %d: check %s_URL", to, e.status, variable)
	default:
		return fmt.Sprintf("%s: HTTP %d", to, e.status)
	}
}

func (e *deliveryError) Unwrap() error { return e.cause }

// rejected: the receiver has answered that it does not want this, and will
// hardly change its mind within seconds.
func (e *deliveryError) rejected() bool {
	return e.status >= 300 && e.status < 500 && e.status != http.StatusRequestTimeout && e.status != http.StatusTooManyRequests
}

// unauthorised: who runs the daemon can change it, so nothing is given up.
func (e *deliveryError) unauthorised() bool {
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden
}

// post makes one attempt. Anything but a 2xx is a *deliveryError, also an
// answer that was lost on its way: the receiver then gets the same event id
// again.
func (r *Receiver) post(ctx context.Context, id, revision string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(body))
	if err != nil {
		return &deliveryError{receiver: r, cause: forge.WithoutURL(err)}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", r.agent)
	request.Header.Set(HeaderEventID, id)
	if revision != "" {
		request.Header.Set(HeaderRevision, revision)
	}
	if len(r.secret) > 0 {
		mac := hmac.New(sha256.New, r.secret)
		mac.Write(body)
		request.Header.Set(HeaderSignature, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	if r.username != "" || r.password != "" {
		request.SetBasicAuth(r.username, r.password)
	}
	fault.Before(fault.Webhook)
	response, err := r.client.Do(request)
	if err != nil {
		return &deliveryError{receiver: r, cause: forge.WithoutURL(err)}
	}
	defer func() { _ = response.Body.Close() }()
	fault.After(fault.Webhook)
	// The status decides; a body that breaks off after it takes nothing back.
	_, _ = io.CopyN(io.Discard, response.Body, maxReply)
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	return &deliveryError{receiver: r, status: response.StatusCode, after: retryAfter(response.Header.Get("Retry-After"), time.Now())}
}

func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(time.Duration(min(seconds, 24*3600))*time.Second, 0)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
