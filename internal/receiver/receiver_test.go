package receiver

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const secret = "a-secret-of-some-length"

// patient are limits that a machine that is busy elsewhere does not meet.
var patient = limits{header: patience, read: patience, write: patience, idle: patience, forward: patience}

const patience = 10 * time.Minute

// started is a server on a real port.
type started struct {
	url string

	mu      sync.Mutex
	woken   []string
	results []string
}

func (s *started) seen() (woken, results []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	woken, results = s.woken, s.results
	s.woken, s.results = nil, nil
	return woken, results
}

func start(t testing.TB, change func(*Server)) *started {
	t.Helper()
	out := &started{}
	server := &Server{Addr: "127.0.0.1:0", limits: patient, Secret: func(context.Context) ([]byte, error) { return []byte(secret), nil },
		Count: func(result string) {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.results = append(out.results, result)
		}}
	for _, repository := range []string{"https://git.example.com/team/fleet.git", "git@git.example.com:team/other.git"} {
		server.Targets = append(server.Targets, Target{Repository: repository, Wake: func() {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.woken = append(out.woken, repository[strings.LastIndex(repository, "/")+1:])
		}})
	}
	if change != nil {
		change(server)
	}
	listener, err := server.Listen(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	out.url = "http://" + listener.Addr().String()
	return out
}

func (s *started) post(t testing.TB, body string, header map[string]string) (int, string) {
	t.Helper()
	return s.send(t, http.MethodPost, Path, body, header)
}

func (s *started) send(t testing.TB, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, string(text)
}

func bare(body string) string { return hex.EncodeToString(sum([]byte(body), []byte(secret))) }

func TestAnAuthenticPushOfEachHostWakesTheRepositoryThatItNamesAndNoOther(t *testing.T) {
	const (
		github = `{"ref":"refs/heads/main","repository":{"full_name":"team/fleet","clone_url":"https://git.example.com/team/fleet.git","ssh_url":"git@git.example.com:team/fleet.git"}}`
		gitlab = `{"object_kind":"push","project":{"git_http_url":"https://git.example.com/Team/Fleet.git","git_ssh_url":"ssh://git@git.example.com:2222/team/fleet.git"},"repository":{"url":"git@git.example.com:team/fleet.git"}}`
		other  = `{"repository":{"clone_url":"https://git.example.com:8443/team/other"}}`
		nobody = `{"repository":{"clone_url":"https://git.example.com/team/unheard-of.git"}}`
	)
	fleet, both := []string{"fleet.git"}, []string{"fleet.git", "other.git"}
	form := url.Values{"payload": {github}}.Encode()
	s := start(t, nil)
	for _, c := range []struct {
		name, body string
		header     map[string]string
		woken      []string
		result     string
	}{
		{"GitHub", github, map[string]string{"X-Hub-Signature-256": "sha256=" + bare(github), "X-GitHub-Event": "push"}, fleet, Accepted},
		{"GitHub, as a form", form, map[string]string{"X-Hub-Signature-256": "sha256=" + bare(form), "Content-Type": "application/x-www-form-urlencoded"}, fleet, Accepted},
		{"GitLab", gitlab, map[string]string{"X-Gitlab-Token": secret, "X-Gitlab-Event": "Push Hook"}, fleet, Accepted},
		{"GitLab, a tag", gitlab, map[string]string{"X-Gitlab-Token": secret, "X-Gitlab-Event": "Tag Push Hook"}, fleet, Accepted},
		{"Gitea", github, map[string]string{"X-Gitea-Signature": bare(github), "X-Gitea-Event": "push"}, fleet, Accepted},
		{"Forgejo", github, map[string]string{"X-Forgejo-Signature": bare(github)}, fleet, Accepted},
		{"any sender", github, map[string]string{"X-Signature": "sha256=" + bare(github)}, fleet, Accepted},
		{"one by ssh, another port, no .git", other, map[string]string{"X-Signature": Sign([]byte(other), []byte(secret))}, []string{"other.git"}, Accepted},
		{"any sender, of nothing in particular", "{}", map[string]string{"X-Signature": bare("{}")}, both, Accepted},
		{"any sender, with an empty body", "", map[string]string{"X-Signature": bare("")}, both, Accepted},
		{"a repository that is not followed", nobody, map[string]string{"X-Signature": bare(nobody)}, nil, Unmatched},
		{"a ping", github, map[string]string{"X-Hub-Signature-256": bare(github), "X-GitHub-Event": "ping"}, nil, Ignored},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := s.post(t, c.body, c.header)
			assert.Equal(t, http.StatusAccepted, status)
			assert.Equal(t, "Accepted\n", text, "the same, whatever is followed")
			woken, results := s.seen()
			slices.Sort(woken)
			assert.Equal(t, c.woken, woken)
			assert.Equal(t, []string{c.result}, results)
		})
	}
}

func TestWhatIsNotAuthenticWakesNothingAndLearnsNothing(t *testing.T) {
	const body = `{"repository":{"clone_url":"https://git.example.com/team/fleet.git"}}`
	s := start(t, nil)
	for _, c := range []struct {
		name         string
		method, path string
		body         string
		header       map[string]string
		status       int
		result       string
	}{
		{name: "no signature", status: 401, result: Refused},
		{name: "a wrong signature", header: map[string]string{"X-Hub-Signature-256": "sha256=" + strings.Repeat("0", 64)}, status: 401, result: Refused},
		{name: "a signature of another body", header: map[string]string{"X-Hub-Signature-256": bare("{}")}, status: 401, result: Refused},
		{name: "half a signature", header: map[string]string{"X-Gitea-Signature": bare(body)[:32]}, status: 401, result: Refused},
		{name: "no hex", header: map[string]string{"X-Signature": "sha256=zz"}, status: 401, result: Refused},
		{name: "a wrong token", header: map[string]string{"X-Gitlab-Token": secret + "x"}, status: 401, result: Refused},
		{name: "the beginning of the token", header: map[string]string{"X-Gitlab-Token": secret[:5]}, status: 401, result: Refused},
		{name: "SHA-1", header: map[string]string{"X-Hub-Signature": "sha1=" + bare(body)[:40]}, status: 401, result: Refused},
		{name: "another path", path: "/", header: map[string]string{"X-Signature": bare(body)}, status: 404, result: Malformed},
		{name: "another method", method: http.MethodGet, header: map[string]string{"X-Gitlab-Token": secret}, status: 405, result: Malformed},
		{name: "too large", body: strings.Repeat("x", maxBody+1), header: map[string]string{"X-Gitlab-Token": secret}, status: 413, result: Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.method == "" {
				c.method = http.MethodPost
			}
			if c.path == "" {
				c.path = Path
			}
			if c.body == "" && c.method == http.MethodPost {
				c.body = body
			}
			status, text := s.send(t, c.method, c.path, c.body, c.header)
			assert.Equal(t, c.status, status)
			assert.Equal(t, http.StatusText(c.status)+"\n", text)
			woken, results := s.seen()
			assert.Empty(t, woken)
			assert.Equal(t, []string{c.result}, results)
		})
	}
}

func TestASenderThatFloodsIsHeldBackAndAnotherIsNot(t *testing.T) {
	now := time.Unix(0, 0)
	s := newSenders(func() time.Time { return now })
	count := func(remote string) int {
		n := 0
		for s.allow(remote) {
			n++
		}
		return n
	}
	assert.Equal(t, sendBurst, count("192.0.2.1:1"))
	assert.False(t, s.allow("192.0.2.1:2"), "another port is the same sender")
	assert.True(t, s.allow("192.0.2.2:1"))
	now = now.Add(time.Second)
	assert.Equal(t, sendRate, count("192.0.2.1:1"))
	now = now.Add(time.Hour)
	assert.Equal(t, sendBurst, count("192.0.2.1:1"), "never more than the burst")

	for i := range 3 * maxSenders {
		s.allow(net.JoinHostPort(net.IPv4(10, 0, byte(i>>8), byte(i)).String(), "1"))
	}
	assert.LessOrEqual(t, len(s.of), maxSenders+1, "memory is bounded")

	flood := start(t, func(s *Server) { s.Now = func() time.Time { return now } })
	statuses := map[int]int{}
	for range sendBurst + 40 {
		status, _ := flood.post(t, "", nil)
		statuses[status]++
	}
	assert.Equal(t, map[int]int{http.StatusUnauthorized: sendBurst, http.StatusTooManyRequests: 40}, statuses)
}

// slow is a body that ends only when it may.
type slow struct{ may <-chan struct{} }

func (s slow) Read([]byte) (int, error) { <-s.may; return 0, io.EOF }

// A sender asks to go on (100-continue), and the server answers that when it reads the body:
// by then it counts the sender. So the test never has to ask whether the bound is reached;
// a request that asks would itself take a place for a moment.
func TestSendersThatDoNotGoOnDoNotHoldMoreThanTheBound(t *testing.T) {
	receiving := &Server{Secret: func(context.Context) ([]byte, error) { return []byte(secret), nil }}
	server := httptest.NewServer(receiving.Handler()) // without Serve's limit for reading
	t.Cleanup(server.Close)
	s := &started{url: server.URL}
	may := make(chan struct{})
	var taken, all sync.WaitGroup
	for range maxInFlight {
		taken.Add(1)
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: taken.Done})
		all.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+Path, slow{may})
			if !assert.NoError(t, err) {
				return
			}
			request.Header.Set("Expect", "100-continue")
			if response, err := http.DefaultTransport.RoundTrip(request); assert.NoError(t, err) {
				_ = response.Body.Close()
			}
		})
	}
	taken.Wait()
	status, _ := s.post(t, "", map[string]string{"X-Signature": bare("")})
	assert.Equal(t, http.StatusServiceUnavailable, status)
	close(may)
	all.Wait()
	status, _ = s.post(t, "", map[string]string{"X-Signature": bare("")})
	assert.Equal(t, http.StatusAccepted, status)
}

func TestTheSecretIsReadAgainAfterAWhileAndNothingIsTakenWithoutAGoodOne(t *testing.T) {
	now := time.Unix(0, 0)
	value, failure, reads := "", errors.New("forbidden"), 0
	cached := Cached(func(context.Context) ([]byte, error) { reads++; return []byte(value), failure }, func() time.Time { return now })
	s := start(t, func(s *Server) { s.Secret = cached })
	token := map[string]string{"X-Gitlab-Token": secret}
	for _, step := range []struct {
		name, value string
		failure     error
		status      int
	}{
		{"it cannot be read", "", errors.New("forbidden"), 503},
		{"it is there", secret + "\n", nil, 202},
		{"it is another", "another-secret-of-some-length", nil, 401},
		{"it is empty", "", nil, 503},
		{"it is too short", "short", nil, 503},
		{"it is gone", "", errors.New("not found"), 503},
	} {
		now = now.Add(secretAge)
		value, failure, reads = step.value, step.failure, 0
		for range 3 {
			status, _ := s.post(t, "", token)
			assert.Equal(t, step.status, status, step.name)
		}
		assert.Equal(t, 1, reads, "%s: once for three requests", step.name)
	}
	value = "short"
	now = now.Add(secretAge)
	failure = nil
	_, err := cached(context.Background())
	require.ErrorContains(t, err, "16 characters")
	assert.NotContains(t, err.Error(), "short ")
}

func TestAPushToADaemonThatDoesNotActReachesTheOneThatDoes(t *testing.T) {
	const body = `{"repository":{"clone_url":"https://git.example.com/team/fleet.git"}}`
	acting := start(t, nil)
	leader := strings.TrimPrefix(acting.url, "http://")
	standby := start(t, func(s *Server) {
		s.Acts, s.Leader = func() bool { return false }, func() string { return leader }
	})
	for name, header := range map[string]map[string]string{
		"signed":     {"X-Hub-Signature-256": "sha256=" + bare(body), "X-GitHub-Event": "push"},
		"by a token": {"X-Gitlab-Token": secret, "X-Gitlab-Event": "Push Hook"},
	} {
		status, _ := standby.post(t, body, header)
		assert.Equal(t, http.StatusAccepted, status, name)
		woken, _ := acting.seen()
		assert.Equal(t, []string{"fleet.git"}, woken, name)
		woken, results := standby.seen()
		assert.Empty(t, woken)
		assert.Equal(t, []string{Forwarded}, results)
	}
	status, _ := standby.post(t, body, map[string]string{"X-GitHub-Event": "ping", "X-Signature": bare(body)})
	assert.Equal(t, http.StatusAccepted, status)
	woken, results := acting.seen()
	assert.Empty(t, woken, "what it was goes with it")
	assert.Equal(t, []string{Ignored}, results)

	status, _ = standby.post(t, body, map[string]string{"X-Signature": bare("{}")})
	assert.Equal(t, http.StatusUnauthorized, status)
	_, results = acting.seen()
	assert.Empty(t, results, "what is not authentic goes no further")

	leader = strings.TrimPrefix(standby.url, "http://")
	standby.seen()
	status, _ = standby.post(t, body, map[string]string{"X-Signature": bare(body)})
	assert.Equal(t, http.StatusServiceUnavailable, status, "two that both do not act do not send it to and fro")
	_, results = standby.seen()
	assert.Equal(t, []string{Unavailable, Unavailable}, results, "forwarded once")
	leader = ""
	status, _ = standby.post(t, body, map[string]string{"X-Signature": bare(body)})
	assert.Equal(t, http.StatusServiceUnavailable, status)
}

func TestEachWayToWriteARepositorysURLIsTheSameRepository(t *testing.T) {
	for _, text := range []string{
		"https://git.example.com/team/fleet.git", "https://git.example.com/team/fleet", "https://Git.Example.com:8443/Team/Fleet/",
		"ssh://git@git.example.com:2222/team/fleet.git", "git@git.example.com:team/fleet.git", "git.example.com:team/fleet", "http://me:x@git.example.com/team/fleet.git",
	} {
		assert.Equal(t, "git.example.com/team/fleet", normal(text), text)
	}
	for _, text := range []string{"", "fleet", "https://git.example.com/", "https://git.example.com", "https:///x", "%zz://x/y", ":", "http://[::1/x"} {
		assert.Empty(t, normal(text), text)
	}
	assert.NotEqual(t, normal("https://a.example.com/x"), normal("https://b.example.com/x"))
}

func FuzzPush(f *testing.F) {
	for _, body := range []string{"", "{}", `{"repository":{"clone_url":"https://x/y"}}`, `{"repository":"x","project":[1]}`, "payload=%7B%7D", strings.Repeat("[", 20000), "{\"repository\":{\"clone_url\":\"https:\xd8\xd8\xd8:/x\"}}"} {
		f.Add("application/json", []byte(body))
		f.Add("application/x-www-form-urlencoded", []byte(body))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		woken := 0
		server := &Server{Secret: func(context.Context) ([]byte, error) { return []byte(secret), nil },
			Targets: []Target{{Repository: "https://git.example.com/team/fleet.git", Wake: func() { woken++ }}}}
		server.prepare()
		for _, signature := range []string{"", Sign(body, []byte("another-secret-of-some-length"))} {
			request, err := http.NewRequest(http.MethodPost, Path, bytes.NewReader(body))
			require.NoError(t, err)
			request.Header.Set("Content-Type", contentType)
			request.Header.Set("X-Signature", signature)
			result, status := server.receive(discard{}, request)
			if result != Refused || status != http.StatusUnauthorized || woken != 0 {
				t.Fatalf("not authentic, and %s %d, woken %d", result, status, woken)
			}
		}
		for name := range repositories(contentType, body) {
			// A byte that is no UTF-8 is read as U+FFFD, which has three.
			if name == "" || strings.Contains(name, "://") || len(name) > 3*len(body)+1 {
				t.Fatalf("no repository: %q", name)
			}
		}
		if result := server.wake(http.Header{"Content-Type": {contentType}}, body); woken > 1 || (woken == 1) != (result == Accepted) {
			t.Fatalf("%s, woken %d", result, woken)
		}
	})
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
