// Package s3test runs the S3 server of internal/s3server for a test, and tells it what to do.
package s3test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Server is a server that runs until its test has ended. Its buckets are in memory.
type Server struct {
	// Endpoint is its address, without a protocol: it speaks http.
	Endpoint string

	t       testing.TB
	control string
}

// Fault is what the server does wrong with the requests that it fits.
type Fault struct {
	// Method and Path choose requests: Path is a part of the path with its query. "" is each.
	Method, Path string `json:",omitempty"`
	// Times is how many requests it is for; 0 is all.
	Times int `json:",omitempty"`
	// Delay is how long the server waits first, such as 2s; "" is not at all.
	Delay string `json:",omitempty"`
	// Cut closes the connection without an answer.
	Cut bool `json:",omitempty"`
	// Status and Code are those of the answer, such as 503 and SlowDown; 0: the request is served.
	Status int    `json:",omitempty"`
	Code   string `json:",omitempty"`
}

// Start runs a server for which these keys are good. The test is skipped if its binary is not
// built: `make` does, and STEVEDORE_S3 names another one.
func Start(t testing.TB, access, secret string, buckets ...string) *Server {
	t.Helper()
	binary := find(t)
	cmd := exec.Command(binary, "-access-key", access, "-secret-key", secret, "-bucket", strings.Join(buckets, ","))
	// It ends with its standard input, and so with this process.
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait()
	})
	s := &Server{t: t}
	lines := bufio.NewScanner(output)
	for s.control == "" && lines.Scan() {
		switch name, address, _ := strings.Cut(lines.Text(), " "); name {
		case "s3":
			s.Endpoint = address
		case "control":
			s.control = "http://" + address
		}
	}
	require.NotEmpty(t, s.control, "the S3 server has not said where it is")
	return s
}

// find looks at STEVEDORE_S3, then in bin/ of this module.
func find(t testing.TB) string {
	t.Helper()
	named := os.Getenv("STEVEDORE_S3")
	path := named
	if path == "" {
		dir, err := os.Getwd()
		require.NoError(t, err)
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
		path = filepath.Join(dir, "bin", "stevedore-s3")
	}
	_, err := os.Stat(path)
	if err != nil && named == "" {
		t.Skipf("the S3 server of the tests is not built: `make s3server` builds %s, or STEVEDORE_S3 names one", path)
	}
	require.NoError(t, err, "STEVEDORE_S3")
	return path
}

// Keys makes these the only keys that are good.
func (s *Server) Keys(access, secret string) {
	s.t.Helper()
	s.post("/keys", map[string]string{"access": access, "secret": secret})
}

// Faults makes these the faults from now on; none of them: all is well.
func (s *Server) Faults(all ...Fault) {
	s.t.Helper()
	s.post("/faults", append([]Fault{}, all...))
}

// Listen: nobody listens at its endpoint any more, or the same server does again.
func (s *Server) Listen(yes bool) {
	s.t.Helper()
	s.post("/listening", map[string]bool{"listening": yes})
}

// Objects are the names of what is in the bucket.
func (s *Server) Objects(bucket string) (names []string) {
	s.t.Helper()
	s.get("/objects?bucket="+url.QueryEscape(bucket), &names)
	return names
}

// Requests are those since the last time, such as `PUT /bucket/object`.
func (s *Server) Requests() (all []string) {
	s.t.Helper()
	s.get("/requests", &all)
	return all
}

var client = &http.Client{Timeout: 10 * time.Second}

func (s *Server) post(path string, body any) {
	s.t.Helper()
	content, err := json.Marshal(body)
	require.NoError(s.t, err)
	response, err := client.Post(s.control+path, "application/json", bytes.NewReader(content))
	s.done(path, response, err)
}

func (s *Server) get(path string, to any) {
	s.t.Helper()
	response, err := client.Get(s.control + path)
	require.NoError(s.t, json.Unmarshal(s.done(path, response, err), to))
}

func (s *Server) done(path string, response *http.Response, err error) []byte {
	s.t.Helper()
	require.NoError(s.t, err)
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, response.StatusCode, fmt.Sprintf("%s: %s", path, content))
	return content
}
