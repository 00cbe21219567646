package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/sandbox"
)

// fakeNode is the argument that makes the test binary a database node that only
// repeats what it is told: the tests of the agent need no more.
const fakeNode = "fake-node"

// simulatedNode is the argument that makes it a node of the CrateDB simulator.
const simulatedNode = "simulated-node"

var shared struct {
	once    sync.Once
	sandbox *sandbox.Sandbox
	err     error
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fakeNode {
		if err := runFakeNode(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == simulatedNode {
		os.Exit(cratesim.NodeMain(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "abandoned-sandbox" {
		runAbandonedSandbox()
	}
	code := m.Run()
	if shared.sandbox != nil {
		if err := shared.sandbox.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// controlPlane finds the binary, and fails the test where it was not built: a
// test that is skipped proves nothing.
func controlPlane() string {
	if named := os.Getenv("STEVEDORE_CONTROLPLANE"); named != "" {
		return named
	}
	return filepath.Join("..", "..", "bin", "stevedore-controlplane")
}

func options(t interface{ Logf(string, ...any) }) sandbox.Options {
	return sandbox.Options{
		ControlPlane: controlPlane(),
		NodeCommand:  []string{os.Args[0], fakeNode},
		Progress:     func(step string) { t.Logf("sandbox: %s", step) },
	}
}

func start(t *testing.T, o sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	began := time.Now()
	s, err := sandbox.Start(ctx, o)
	require.NoError(t, err)
	t.Logf("the sandbox started in %s", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return s
}

// common is the sandbox that most tests share, each in a namespace of its own.
func common(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	shared.once.Do(func() {
		began := time.Now()
		shared.sandbox, shared.err = sandbox.Start(context.Background(), options(t))
		t.Logf("the sandbox started in %s", time.Since(began).Round(time.Millisecond))
	})
	require.NoError(t, shared.err)
	return shared.sandbox
}

func runAbandonedSandbox() {
	s, err := sandbox.Start(context.Background(), sandbox.Options{
		ControlPlane: controlPlane(), NodeCommand: []string{os.Args[0], fakeNode}, Dir: os.Args[2],
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.RESTConfig().Host)
	select {}
}

// runFakeNode serves the ports of a CrateDB node. It keeps an id in path.data,
// lets only its own address in, and answers each statement with itself.
func runFakeNode(args []string) error {
	flags := flag.NewFlagSet(fakeNode, flag.ContinueOnError)
	address := flags.String("address", "", "")
	flags.String("hub", "", "")
	flags.String("volumes", "", "")
	version := flags.String("version", "", "")
	seeds := flags.String("seed-file", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	settings := map[string]string{}
	for _, arg := range flags.Args() {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "-C"), "=")
		settings[name] = value
		fmt.Printf("setting %s=%s\n", name, value)
	}
	id := fmt.Sprint(time.Now().UnixNano())
	if data := settings["path.data"]; data != "" {
		file := filepath.Join(data, "node-id")
		if known, err := os.ReadFile(file); err == nil {
			id = string(known)
		} else if err := os.WriteFile(file, []byte(id), 0o600); err != nil {
			return err
		}
	}
	local := func(r *http.Request) bool { return strings.HasPrefix(r.RemoteAddr, *address+":") }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !local(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"ok":true,"version":{"number":%q}}`, *version)
	})
	mux.HandleFunc("POST /_sql", func(w http.ResponseWriter, r *http.Request) {
		var query struct{ Stmt string }
		_ = json.NewDecoder(r.Body).Decode(&query)
		answer := query.Stmt
		switch {
		case !local(r):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error":{"message":"not local","code":4011}}`)
			return
		case query.Stmt == "SELECT seeds":
			content, _ := os.ReadFile(*seeds)
			answer = string(content)
		case query.Stmt == "SELECT id":
			answer = id
		case query.Stmt == "EXIT":
			os.Exit(7)
		case strings.HasPrefix(query.Stmt, "SELECT setting "):
			answer = settings[strings.TrimPrefix(query.Stmt, "SELECT setting ")]
		case strings.HasPrefix(query.Stmt, "FAIL"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, `{"error":{"message":"SQLParseException[line 1:1: no]","code":4000}}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"cols": []string{"answer"}, "rows": [][]any{{answer}}, "rowcount": 1, "duration": 0.5,
		})
	})
	server := &http.Server{Addr: net.JoinHostPort(*address, "4200"), Handler: mux}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Println("told to end")
		if settings["node.attr.stubborn"] == "true" {
			return
		}
		_ = server.Close()
	}()
	fmt.Println("fake node", id, "on", *address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
