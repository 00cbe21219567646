package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"stevedore.dev/stevedore/internal/sandbox/shell"
)

// idleTimeout ends an exec or port-forward over which nothing passes.
const idleTimeout = 4 * time.Hour

// serveKubelet serves what the API server asks a node's kubelet for: logs, exec
// and port-forward.
func (a *Agent) serveKubelet() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", a.serveLogs)
	for _, method := range []string{"GET", "POST"} {
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", a.serveExec)
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{uid}/{container}", a.serveExec)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", a.servePortForward)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}/{uid}", a.servePortForward)
	}
	a.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 30 * time.Second,
		// exec and port-forward take the connection over, which HTTP/2 cannot.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     slog.NewLogLogger(a.o.Log.Handler(), slog.LevelDebug),
		BaseContext:  func(net.Listener) context.Context { return a.ctx },
	}
	config := a.o.KubeletTLS.Clone()
	config.NextProtos = []string{"http/1.1"}
	for _, listener := range a.o.Kubelet {
		a.background(func() {
			err := a.server.Serve(tls.NewListener(listener, config))
			if !errors.Is(err, http.ErrServerClosed) {
				a.o.Log.Error("serving a node's port", "address", listener.Addr(), "error", err)
			}
		})
	}
}

// find answers with an error when the pod or the container is not there.
func (a *Agent) find(out http.ResponseWriter, request *http.Request) *container {
	namespace, pod, name := request.PathValue("namespace"), request.PathValue("pod"), request.PathValue("container")
	w := a.worker(namespace, pod, types.UID(request.PathValue("uid")))
	if w == nil {
		http.Error(out, fmt.Sprintf("pod %s/%s does not run here", namespace, pod), http.StatusNotFound)
		return nil
	}
	w.awake(request.Context())
	for _, c := range slices.Concat(w.inits, w.containers) {
		if c.spec.Name == name {
			return c
		}
	}
	http.Error(out, fmt.Sprintf("container %s is not valid for pod %s", name, pod), http.StatusNotFound)
	return nil
}

func (a *Agent) serveLogs(out http.ResponseWriter, request *http.Request) {
	c := a.find(out, request)
	if c == nil {
		return
	}
	options, err := readLogOptions(request.URL.Query())
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header().Set("Content-Type", "text/plain")
	if err := c.copyLogs(request.Context(), out, options); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
	}
}

func (a *Agent) serveExec(out http.ResponseWriter, request *http.Request) {
	c := a.find(out, request)
	if c == nil {
		return
	}
	if c.runningInstance() == nil {
		http.Error(out, fmt.Sprintf("container not found (%q)", c.spec.Name), http.StatusInternalServerError)
		return
	}
	options, err := remotecommand.NewOptions(request)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(out, request, executor{a, c}, c.worker.name, string(c.worker.uid), c.spec.Name,
		request.URL.Query()["command"], options, idleTimeout,
		remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

// notFound is the exit code of a shell for a command that is not there.
const notFound = 127

// executor runs commands in a container.
type executor struct {
	agent     *Agent
	container *container
}

// ExecInContainer answers the command. A connection that was taken over has no
// context that ends with it, so the agent's own bounds it.
func (e executor) ExecInContainer(_ context.Context, _, _, _ string, command []string, in io.Reader,
	out, errors io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	streams := shell.Streams{In: in}
	// A nil *io.WriteCloser* must not become a writer that is not nil.
	if out != nil {
		streams.Out = out
	}
	if errors != nil {
		streams.Err = errors
	}
	code := e.container.execute(e.agent.ctx, command, streams)
	if in != nil {
		drain(in)
	}
	if code == 0 {
		return nil
	}
	if code == notFound && command[0] != "sh" && command[0] != "bash" {
		// No process was started that could have had an exit code.
		return fmt.Errorf("failed to exec in container: failed to start exec %q: OCI runtime exec failed: exec failed: unable to start container process: exec: %q: executable file not found in $PATH: unknown",
			strings.Repeat("0", 64), command[0])
	}
	return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
}

// drainFor bounds the wait for a client that does not end its input.
const drainFor = time.Second

// drain reads what is left of a command's input. A connection that is closed
// while the client still sends is reset, and what the client has not read yet,
// such as the exit code, is lost: to client-go that looks like a success.
func drain(in io.Reader) {
	done := make(chan struct{})
	go func() { // ends with the connection at the latest
		defer close(done)
		_, _ = io.Copy(io.Discard, in)
	}()
	timer := time.NewTimer(drainFor)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (a *Agent) servePortForward(out http.ResponseWriter, request *http.Request) {
	w := a.worker(request.PathValue("namespace"), request.PathValue("pod"), types.UID(request.PathValue("uid")))
	if w == nil {
		http.Error(out, "the pod does not run here", http.StatusNotFound)
		return
	}
	w.awake(request.Context())
	options, err := portforward.NewV4Options(request)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(out, request, forwarder{a.ctx, w}, w.name, string(w.uid), options,
		idleTimeout, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

// forwarder connects streams to a pod's ports.
type forwarder struct {
	ctx    context.Context
	worker *worker
}

// PortForward connects from the pod's own address: on any cluster what is
// forwarded arrives inside the pod, and is local to CrateDB.
func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	own := f.worker.podAddress()
	if !own.IsValid() {
		return errors.New("the pod has no address yet")
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: f.worker.inside().AsSlice()}}
	connection, err := dialer.DialContext(f.ctx, "tcp", net.JoinHostPort(own.String(), fmt.Sprint(port)))
	if err != nil {
		return fmt.Errorf("connecting to port %d of the pod %s: %w", port, f.worker.name, err)
	}
	defer connection.Close()
	stop := context.AfterFunc(f.ctx, func() { _ = connection.Close() })
	defer stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(connection, stream)
		if half, ok := connection.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	}()
	_, _ = io.Copy(stream, connection)
	_ = stream.Close()
	<-sent
	return nil
}
