// Package forgetest has GitHub, GitLab and Gitea as real HTTP servers on
// loopback, for tests: paths, headers, authentication, limits, transitions and
// refusals of commit statuses and of comments are theirs.
package forgetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stevedore.dev/stevedore/internal/forge"
)

// Status is a commit status as the server keeps it.
type Status struct {
	SHA, Ref, Context, State, Description, TargetURL string
}

// Comment is a comment in a pull or merge request.
type Comment struct {
	ID           int64
	Author, Body string
	// System is GitLab's: "changed the description".
	System bool
	// Edits counts changes after it was made.
	Edits int
}

// Account is who a token stands for.
type Account struct {
	Login string
	// ReadOnly: nothing may be written, as with a fork's pull request.
	ReadOnly bool
	// Installation: the token is an app's, which has no user to ask for.
	Installation bool
}

// Answer is one that the server gives instead of its own.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
	// Cut breaks the connection off, after the request was carried out.
	Cut bool
}

// Server is one platform with one repository.
type Server struct {
	*httptest.Server
	Platform   forge.Platform
	Repository string

	mu       sync.Mutex
	accounts map[string]Account
	commits  []string
	statuses []Status
	comments map[int][]Comment
	lastID   int64
	requests []string
	answer   func(r *http.Request, n int) *Answer

	open atomic.Int64 // connections that the server has accepted and not closed yet
}

// quietPath is asked by Quiet; it counts as no request.
const quietPath = "/quiet"

// New starts one; Close ends it.
func New(platform forge.Platform, repository string, accounts map[string]Account) *Server {
	s := &Server{Platform: platform, Repository: repository, accounts: accounts, comments: map[int][]Comment{}, lastID: 100}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	s.Start()
	return s
}

// Quiet waits until no request of a client that has ended can arrive any more. A process that is
// killed leaves requests in the sockets: the server may read them after those of the next process.
// The error says that ctx ended before.
func (s *Server) Quiet(ctx context.Context) error {
	// Connections are accepted in their order: once ours is answered all earlier ones were accepted.
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, s.URL+quietPath, nil)
	if err != nil {
		return err
	}
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := own.Do(request)
	if err != nil {
		return fmt.Errorf("asking the server whether it is quiet: %w", err)
	}
	_ = answer.Body.Close()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for s.open.Load() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%d connections are still open: %w", s.open.Load(), ctx.Err())
		}
	}
	return nil
}

// API is the base of its addresses.
func (s *Server) API() string {
	switch s.Platform {
	case forge.GitLab:
		return s.URL + "/api/v4"
	case forge.Gitea:
		return s.URL + "/api/v1"
	}
	return s.URL
}

// Answering sets what is answered instead; n counts requests from 1. nil ends it.
func (s *Server) Answering(answer func(r *http.Request, n int) *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Knows names the commits that there are; before, each one is.
func (s *Server) Knows(shas ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits = append(s.commits, shas...)
}

// Statuses in the order in which they were posted.
func (s *Server) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses)
}

// Latest is what people see: the last state of each context of a commit, in the
// platform's words.
func (s *Server) Latest(sha string) map[string]string {
	latest := map[string]string{}
	for _, status := range s.Statuses() {
		if status.SHA == sha {
			latest[status.Context] = status.State
		}
	}
	return latest
}

// Comments of a pull or merge request.
func (s *Server) Comments(number int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.comments[number])
}

// Comment adds one, as somebody else does.
func (s *Server) Comment(number int, author, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addComment(number, author, body)
}

func (s *Server) addComment(number int, author, body string) int64 {
	s.lastID++
	s.comments[number] = append(s.comments[number], Comment{ID: s.lastID, Author: author, Body: body})
	return s.lastID
}

// Requests are "METHOD path?query" of all that came.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == quietPath {
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	var instead *Answer
	if s.answer != nil {
		instead = s.answer(r, len(s.requests))
	}
	if instead != nil && !instead.Cut {
		for name, values := range instead.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(instead.Code)
		_, _ = io.WriteString(w, instead.Body)
		return
	}
	recorded := httptest.NewRecorder()
	s.platform(recorded, r, body)
	if instead != nil {
		if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = connection.Close()
		}
		return
	}
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorded.Code)
	_, _ = recorded.Body.WriteTo(w)
}

func (s *Server) platform(w http.ResponseWriter, r *http.Request, body []byte) {
	token, scheme := r.Header.Get("PRIVATE-TOKEN"), ""
	if s.Platform != forge.GitLab {
		scheme, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	}
	account, known := s.accounts[token]
	wanted := map[forge.Platform]string{forge.GitHub: "Bearer", forge.Gitea: "token"}[s.Platform]
	switch {
	case token == "":
		refuse(w, http.StatusUnauthorized, map[forge.Platform]string{forge.GitHub: "Requires authentication", forge.GitLab: "401 Unauthorized", forge.Gitea: "token is required"}[s.Platform])
	case !known, scheme != wanted:
		refuse(w, http.StatusUnauthorized, map[forge.Platform]string{forge.GitHub: "Bad credentials", forge.GitLab: "401 Unauthorized", forge.Gitea: "user does not exist"}[s.Platform])
	case r.Header.Get("User-Agent") == "":
		refuse(w, http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header")
	case r.Method != http.MethodGet && r.Header.Get("Content-Type") != "application/json":
		refuse(w, http.StatusUnsupportedMediaType, "the body has no type")
	case account.ReadOnly && r.Method != http.MethodGet:
		refuse(w, http.StatusForbidden, map[forge.Platform]string{forge.GitHub: "Resource not accessible by integration", forge.GitLab: "403 Forbidden", forge.Gitea: "token does not have at least one of required scope(s)"}[s.Platform])
	default:
		s.route(w, r, account, body)
	}
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, account Account, body []byte) {
	path, found := strings.CutPrefix(r.URL.EscapedPath(), strings.TrimPrefix(s.API(), s.URL))
	if !found {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	if path == "/user" && r.Method == http.MethodGet {
		if account.Installation {
			refuse(w, http.StatusForbidden, "Resource not accessible by integration")
			return
		}
		reply(w, http.StatusOK, map[string]any{"id": 1, "login": account.Login, "username": account.Login})
		return
	}
	project := "/repos/" + s.Repository
	if s.Platform == forge.GitLab {
		// One segment: its slashes are escaped.
		project = "/projects/" + strings.ReplaceAll(s.Repository, "/", "%2F")
	}
	rest, found := strings.CutPrefix(path, project+"/")
	if !found {
		refuse(w, http.StatusNotFound, map[forge.Platform]string{forge.GitHub: "Not Found", forge.GitLab: "404 Project Not Found", forge.Gitea: "The target couldn't be found."}[s.Platform])
		return
	}
	if sha, found := strings.CutPrefix(rest, "statuses/"); found && r.Method == http.MethodPost {
		s.postStatus(w, sha, body)
		return
	}
	s.routeComments(w, r, rest, account, body)
}

func refuse(w http.ResponseWriter, code int, message any) {
	reply(w, code, map[string]any{"message": message})
}

func reply(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}
