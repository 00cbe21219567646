package forge

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"stevedore.dev/stevedore/internal/fault"
)

const (
	defaultTimeout = 10 * time.Second
	// maxReply is above a hundred comments of the length that GitHub allows.
	maxReply = 16 << 20
	// githubPace is what GitHub asks of those who write much ("Best practices for
	// using the REST API", Pause between mutative requests).
	githubPace = time.Second
	// limitedWait is GitHub's advice where a limit is met and no time is named.
	limitedWait = time.Minute
	// maxLimited bounds a wait that a server asks for; GitHub's window is an hour.
	maxLimited = 2 * time.Hour
)

// Client speaks for one repository. It may be used by several goroutines.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client

	mu sync.Mutex
	// until is when the server wants to be asked again, next when the pace allows
	// another write.
	until, next time.Time
}

// New makes a client. Its errors show no token.
func New(config Config) (*Client, error) {
	base, err := checkAPI(config.API)
	if err != nil {
		return nil, err
	}
	if err := (Location{Platform: config.Platform, Repository: config.Repository}).check(); err != nil {
		return nil, err
	}
	if config.Token == nil {
		return nil, errors.New("there is no token")
	}
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	if config.Pace == 0 && config.Platform == GitHub {
		config.Pace = githubPace
	}
	return &Client{config: config, base: base, http: &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: config.Timeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    config.Timeout,
			ResponseHeaderTimeout:  config.Timeout,
			MaxIdleConnsPerHost:    2,
			MaxConnsPerHost:        4,
			IdleConnTimeout:        90 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		// The token goes where it was told to go: GitLab's header would follow.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// String is what may be printed of it.
func (c *Client) String() string {
	return fmt.Sprintf("%s %s://%s %s", c.config.Platform, c.base.Scheme, c.base.Host, c.config.Repository)
}

// Platform is which API it speaks.
func (c *Client) Platform() Platform { return c.config.Platform }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Error says why a server did not do what it was asked.
type Error struct {
	Doing string
	// Status is 0 when there was no answer.
	Status int
	// Limited: too much was asked; After is when to ask again, 0 when not said.
	Limited bool
	After   time.Duration
	// Said is the server's own message, made safe to print.
	Said  string
	Cause error
}

func (e *Error) Error() string {
	said := ""
	if e.Said != "" {
		said = fmt.Sprintf(": %q", e.Said)
	}
	switch {
	case e.Status == 0 && e.Limited:
		return fmt.Sprintf("%s: the server has asked to wait %s more", e.Doing, e.After.Round(time.Second))
	case e.Status == 0:
		return fmt.Sprintf("%s: %v", e.Doing, e.Cause)
	case e.Limited:
		return fmt.Sprintf("%s: HTTP %d%s: too many requests, asked again after %s", e.Doing, e.Status, said, e.After.Round(time.Second))
	case e.Status >= 300 && e.Status < 400:
		return fmt.Sprintf("%s: it redirects (HTTP %d), which is not followed: give the repository's and the API's final address", e.Doing, e.Status)
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return fmt.Sprintf("%s: HTTP %d%s: check the token, and that it may do this in this repository", e.Doing, e.Status, said)
	case e.Status == http.StatusNotFound:
		return fmt.Sprintf("%s: HTTP 404%s: there is no such repository or commit, or the token may not see it", e.Doing, said)
	}
	return fmt.Sprintf("%s: HTTP %d%s", e.Doing, e.Status, said)
}

func (e *Error) Unwrap() error { return e.Cause }

// answer is a reply that was read.
type answer struct {
	header http.Header
	body   []byte
}

// do makes one request. Address is a path under the API's base, escaped, or a
// whole URL of the same server; payload and into are JSON, nil for none.
func (c *Client) do(ctx context.Context, doing, method, address string, payload, into any) (*answer, error) {
	doing += " at " + c.String()
	if wait := c.blocked(); wait > 0 {
		return nil, &Error{Doing: doing, Limited: true, After: wait}
	}
	if method != http.MethodGet {
		if err := c.paced(ctx); err != nil {
			return nil, &Error{Doing: doing, Cause: err}
		}
	}
	target, err := c.resolve(address)
	if err != nil {
		return nil, &Error{Doing: doing, Cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	token, err := c.config.Token(ctx)
	if err != nil {
		return nil, &Error{Doing: doing, Cause: fmt.Errorf("read the token: %w", err)}
	}
	var content io.Reader
	if payload != nil {
		text, err := json.Marshal(payload)
		if err != nil {
			return nil, &Error{Doing: doing, Cause: err}
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, &Error{Doing: doing, Cause: WithoutURL(err)}
	}
	c.headers(request, token, payload != nil)
	if method != http.MethodGet {
		fault.Before(fault.Forge)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, &Error{Doing: doing, Cause: errors.New(clean(WithoutURL(err).Error(), token))}
	}
	defer func() { _ = response.Body.Close() }()
	if method != http.MethodGet {
		fault.After(fault.Forge)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, c.refusal(doing, response, body, token)
	}
	switch {
	case into == nil:
		// The status decides; an answer that breaks off after it takes nothing back.
	case err != nil:
		return nil, &Error{Doing: doing, Cause: WithoutURL(err)}
	case len(body) > maxReply:
		return nil, &Error{Doing: doing, Cause: fmt.Errorf("the answer is longer than %d bytes", maxReply)}
	default:
		if err := json.Unmarshal(body, into); err != nil {
			return nil, &Error{Doing: doing, Cause: errors.New("the answer is not the JSON that was expected: is the API's address right?")}
		}
	}
	return &answer{header: response.Header, body: body}, nil
}

func (c *Client) headers(request *http.Request, token string, content bool) {
	request.Header.Set("User-Agent", "stevedore/"+c.config.Version)
	request.Header.Set("Accept", "application/json")
	if content {
		request.Header.Set("Content-Type", "application/json")
	}
	switch c.config.Platform {
	case GitHub:
		request.Header.Set("Accept", "application/vnd.github+json")
		request.Header.Set("X-GitHub-Api-Version", "2022-11-28")
		request.Header.Set("Authorization", "Bearer "+token)
	case GitLab:
		request.Header.Set("PRIVATE-TOKEN", token)
	case Gitea:
		request.Header.Set("Authorization", "token "+token)
	}
}

// resolve keeps the token with the server that it is for.
func (c *Client) resolve(address string) (string, error) {
	if !strings.Contains(address, "://") {
		return c.base.String() + address, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != c.base.Scheme || u.Host != c.base.Host {
		return "", errors.New("the server points to another one, which is not followed")
	}
	return address, nil
}

// project is the repository as a part of a path.
func (c *Client) project() string {
	if c.config.Platform == GitLab {
		return "/projects/" + url.PathEscape(c.config.Repository)
	}
	owner, name, _ := strings.Cut(c.config.Repository, "/")
	return "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)
}

// blocked is how long the server still wants to be left alone.
func (c *Client) blocked() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.until)
}

// paced waits for this write's turn.
func (c *Client) paced(ctx context.Context) error {
	if c.config.Pace <= 0 {
		return nil
	}
	c.mu.Lock()
	now := time.Now()
	turn := c.next
	if turn.Before(now) {
		turn = now
	}
	c.next = turn.Add(c.config.Pace)
	c.mu.Unlock()
	timer := time.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) refusal(doing string, response *http.Response, body []byte, token string) error {
	refused := &Error{Doing: doing, Status: response.StatusCode, Said: saying(body, token)}
	now := time.Now()
	after := waitOf(response.Header, now)
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		refused.Limited = true
	case response.StatusCode == http.StatusForbidden:
		// GitHub answers its limits with 403 too.
		refused.Limited = response.Header.Get("Retry-After") != "" || response.Header.Get("X-RateLimit-Remaining") == "0" ||
			strings.Contains(strings.ToLower(refused.Said), "rate limit")
	case response.StatusCode == http.StatusServiceUnavailable:
		refused.After = after
	}
	if refused.Limited {
		if after <= 0 {
			after = limitedWait
		}
		refused.After = after
		c.mu.Lock()
		if until := now.Add(after); until.After(c.until) {
			c.until = until
		}
		c.mu.Unlock()
	}
	return refused
}

// waitOf is what the answer asks for: Retry-After in seconds or as a date, else
// the end of a used-up window in Unix time.
func waitOf(header http.Header, now time.Time) time.Duration {
	wait := time.Duration(0)
	if text := header.Get("Retry-After"); text != "" {
		if seconds, err := strconv.Atoi(text); err == nil {
			wait = time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
		} else if at, err := http.ParseTime(text); err == nil {
			wait = at.Sub(now)
		}
	} else {
		for _, window := range [][2]string{{"X-RateLimit-Remaining", "X-RateLimit-Reset"}, {"RateLimit-Remaining", "RateLimit-Reset"}} {
			if reset, err := strconv.ParseInt(header.Get(window[1]), 10, 64); err == nil && header.Get(window[0]) == "0" {
				wait = time.Unix(reset, 0).Sub(now)
			}
		}
	}
	return min(max(wait, 0), maxLimited)
}

// saying is the message in a refusal's JSON: a text, or lists of texts by field.
func saying(body []byte, token string) string {
	var reply struct {
		Message json.RawMessage `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &reply) != nil {
		return ""
	}
	raw := reply.Message
	if raw == nil {
		raw = reply.Error
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return oneLine(clean(text, token), 200)
}

// clean keeps a token that was echoed out of what is printed.
func clean(text, token string) string {
	if token == "" {
		return text
	}
	return strings.ReplaceAll(text, token, "[redacted]")
}

// oneLine makes a text fit one line of so many characters.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// WithoutURL drops the *url.Error, which quotes the address with its query: a
// token may stand there. Other errors are returned as they are.
func WithoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		if wrapped.Timeout() {
			return fmt.Errorf("no answer in time: %w", wrapped.Err)
		}
		return wrapped.Err
	}
	return err
}
