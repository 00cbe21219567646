package reports_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

// delivery is what a receiver got.
type delivery struct {
	id, revision, signature, username, password, contentType, agent string
	body                                                            string
}

// receiver is a real HTTP server that keeps what it got and answers as told.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []delivery
	answer func(n int, w http.ResponseWriter, r *http.Request)
	// most deliveries at the same time, over all and by cluster.
	now, most int
	busy      map[string]int
	mostBusy  int
}

// newReceiver answers 200 where answer is nil; n counts from 1.
func newReceiver(t *testing.T, start func(http.Handler) *httptest.Server, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	r := &receiver{answer: answer, busy: map[string]int{}}
	r.Server = start(http.HandlerFunc(r.serve))
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	username, password, _ := request.BasicAuth()
	cluster := clusterIn(string(body))
	r.mu.Lock()
	r.got = append(r.got, delivery{
		request.Header.Get(reports.HeaderEventID), request.Header.Get(reports.HeaderRevision), request.Header.Get(reports.HeaderSignature),
		username, password, request.Header.Get("Content-Type"), request.Header.Get("User-Agent"), string(body),
	})
	n := len(r.got)
	r.now++
	r.busy[cluster]++
	r.most, r.mostBusy = max(r.most, r.now), max(r.mostBusy, r.busy[cluster])
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now--
		r.busy[cluster]--
	}()
	if r.answer != nil {
		r.answer(n, w, request)
	}
}

func clusterIn(body string) string {
	_, rest, _ := strings.Cut(body, `"cluster":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func (r *receiver) all() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) ids() []string {
	var ids []string
	for _, d := range r.all() {
		ids = append(ids, d.id)
	}
	return ids
}

// hijack cuts the connection, after the request was read, without an answer.
func hijack(_ int, w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// first answers the first n attempts in one way and the rest with 200.
func first(n int, answer func(int, http.ResponseWriter, *http.Request)) func(int, http.ResponseWriter, *http.Request) {
	return func(i int, w http.ResponseWriter, r *http.Request) {
		if i <= n {
			answer(i, w, r)
		}
	}
}

func signature(key, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func caOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// patience ends what hangs. Where a receiver has had less time, one that answers late gets
// the same report again, and a busy machine answers late.
const patience = 10 * time.Minute

// quick are retries that a test can wait for.
var quick = reports.Retry{First: 2 * time.Millisecond, Most: 10 * time.Millisecond, Slow: 20 * time.Millisecond}

// counts is a Measure.
type counts struct {
	mu      sync.Mutex
	results map[string]int
	queued  map[record.Cluster]int
}

func newCounts() *counts {
	return &counts{results: map[string]int{}, queued: map[record.Cluster]int{}}
}

func (c *counts) ReportsQueued(cluster record.Cluster, length int, _ time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued[cluster] = length
}

func (c *counts) ReportDelivery(result string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[result] += n
}

func (c *counts) of(result string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results[result]
}

// logs is a log that can be looked through for what must not be there.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// process is one life of a daemon over an API server that outlives it.
type process struct {
	queue *reports.Queue
	// options of the queue.
	options reports.Options
	counts  *counts
	logs    *logs
	stop    func()
}

var orders = record.Cluster{Namespace: "prod", Name: "orders"}

func newQueue(t *testing.T, server *recordtest.ConfigMaps, config reports.Config, change ...func(*reports.Options)) *process {
	t.Helper()
	if config.Timeout == 0 {
		config.Timeout = patience
	}
	to, err := reports.NewReceiver(config, "test")
	require.NoError(t, err)
	p := &process{counts: newCounts(), logs: &logs{}}
	options := reports.Options{
		Store: record.NewStore(server), Receiver: to, Retry: quick, Measure: p.counts,
		Log:      slog.New(slog.NewTextHandler(p.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Clusters: func() []record.Cluster { return []record.Cluster{orders} },
	}
	for _, f := range change {
		f(&options)
	}
	p.options, p.queue = options, reports.NewQueue(options)
	return p
}

// targets are those of a daemon with this process's receiver.
func (p *process) targets() *reports.Targets {
	return reports.NewTargets(p.options, []*reports.Receiver{p.options.Receiver}, func(string) reports.Measure { return p.counts })
}

// run delivers until the process ends, at the latest with the test.
func (p *process) run(t *testing.T) *process {
	t.Helper()
	ctx, cancel := contextOf(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.queue.Run(ctx)
	}()
	p.stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("the queue does not end")
		}
	}
	t.Cleanup(p.stop)
	return p
}

func feedback(id string) model.Report {
	return model.Report{
		ID: id, Event: model.EventFeedback, Status: model.StatusSuccess, Operation: "create", Action: "create",
		Revision: "r1", Message: "the cluster has been created",
	}
}

func httptestTLS(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server
}
