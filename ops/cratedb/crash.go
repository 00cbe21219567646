package cratedb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"stevedore.dev/stevedore/internal/redact"
	"stevedore.dev/stevedore/ops/execute"
)

var _ execute.Crash = Crash{}

const (
	crateContainer      = "crate"
	defaultHTTPPort     = 4200
	defaultCrashTimeout = 40 * time.Second
)

// Run gives one statement to `crash` on its standard input: an argument would
// stand in the process list and in the API server's audit log.
func (c Crash) Run(ctx context.Context, pod, statement string) (string, error) {
	if c.Executor == nil {
		return "", errors.New("no way to run commands in pods is configured")
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = defaultCrashTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secrets := append(literals(statement), c.Secrets...)
	input := &given{text: strings.NewReader(statement + ";\n")}
	stdout, stderr, exit, err := c.Executor.Exec(ctx, pod, crateContainer, c.command(), input)
	if err != nil {
		f := &failure{text: redact.Text(redact.Values(err.Error(), secrets...)), err: err}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && input.since() >= silence {
			f.kind = execute.ErrCrashFailed
		}
		return "", fmt.Errorf("running crash in pod %s: %w", pod, f)
	}
	if exit == 0 && !complains(stderr) && !complains(stdout) {
		return stdout, nil
	}
	words := strings.TrimSpace(stderr)
	if words == "" {
		words = strings.TrimSpace(stdout)
	}
	// Redacted before it is cut: half a secret is not found any more.
	words = redact.Text(redact.Values(words, secrets...))
	if len(words) > maxWords {
		words = words[:maxWords] + "…"
	}
	return "", fmt.Errorf("crash in pod %s (exit code %d): %w", pod, exit,
		&failure{text: words, kind: kindOf("", stderr+stdout), err: execute.ErrCrashFailed})
}

// silence is how long crash, that was given a statement, has to say nothing until CrateDB
// counts as silent: crash begins within a second, gives a connection five, and waits for an
// answer for ever, which a process that is stopped never gives.
const silence = 7 * time.Second

// given is a statement on its way to crash. It is read once the pod has been reached.
type given struct {
	text *strings.Reader
	at   atomic.Pointer[time.Time]
}

func (g *given) Read(p []byte) (int, error) {
	n, err := g.text.Read(p)
	if now := time.Now(); n > 0 {
		g.at.CompareAndSwap(nil, &now)
	}
	return n, err
}

// since it was read; 0 while it was not.
func (g *given) since() time.Duration {
	if at := g.at.Load(); at != nil {
		return time.Since(*at)
	}
	return 0
}

// maxWords of crash's output get into an error: a stack trace helps nobody.
const maxWords = 600

// command runs as `crate`, whom host-based authentication lets in locally.
func (c Crash) command() []string {
	port := c.HTTPPort
	if port == 0 {
		port = defaultHTTPPort
	}
	if c.TLS {
		// The certificate is the cluster's, not localhost's.
		return []string{"crash", "--hosts", "https://localhost:" + strconv.Itoa(port), "--verify-ssl", "false", "--format", "json"}
	}
	return []string{"crash", "--hosts", "http://localhost:" + strconv.Itoa(port), "--format", "json"}
}

// complains knows a failure that the exit code did not show: not every release
// of crash sets it for statements from standard input.
func complains(output string) bool {
	for line := range strings.Lines(output) {
		if strings.Contains(line, "Exception[") || strings.HasPrefix(line, "CONNECT ERROR") {
			return true
		}
	}
	return false
}
