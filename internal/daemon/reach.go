package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"stevedore.dev/stevedore/internal/fault"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

func jsonBytes(v any) ([]byte, error) { return json.Marshal(v) }

// podDialer dials a pod's own address. The pod network counts as ours.
type podDialer struct {
	address func(pod string) string
}

func (d podDialer) Private() bool { return true }

func (d podDialer) DialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	ip := d.address(pod)
	if ip == "" {
		return nil, fmt.Errorf("dialling pod %s: it has no address yet", pod)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
}

// NewForwardDialer dials the pods of a namespace through the API server.
func NewForwardDialer(cfg *rest.Config, client kubernetes.Interface, namespace string) cratedb.Dialer {
	return forwardDialer{cfg: cfg, client: client, namespace: namespace}
}

// forwardDialer goes through the API server. Each connection has a forward of
// its own, which ends with it.
type forwardDialer struct {
	cfg       *rest.Config
	client    kubernetes.Interface
	namespace string
}

func (d forwardDialer) Private() bool { return true }

func (d forwardDialer) DialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	url := d.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(d.namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(d.cfg)
	if err != nil {
		return nil, fmt.Errorf("forwarding to pod %s/%s: %w", d.namespace, pod, err)
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport, Timeout: requestTimeout}, http.MethodPost, url)
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.New(dialer, []string{"0:" + strconv.Itoa(port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("forwarding to pod %s/%s: %w", d.namespace, pod, err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	end := func() { close(stop); <-ended }
	select {
	case <-ctx.Done():
		end()
		return nil, fmt.Errorf("forwarding to pod %s/%s: %w", d.namespace, pod, ctx.Err())
	case err := <-ended:
		if err == nil {
			err = errors.New("it ended at once")
		}
		return nil, fmt.Errorf("forwarding to pod %s/%s: %w", d.namespace, pod, err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) != 1 {
		end()
		return nil, fmt.Errorf("forwarding to pod %s/%s: no local port: %w", d.namespace, pod, err)
	}
	var local net.Dialer
	conn, err := local.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))))
	if err != nil {
		end()
		return nil, err
	}
	return &forwarded{Conn: conn, end: sync.OnceFunc(end)}, nil
}

type forwarded struct {
	net.Conn
	end func()
}

func (f *forwarded) Close() error {
	err := f.Conn.Close()
	f.end()
	return err
}

// podExec runs commands in a pod's container.
type podExec struct {
	cfg       *rest.Config
	client    kubernetes.Interface
	namespace string
}

// maxOutput of a command is kept; statements here answer with a few rows.
const maxOutput = 1 << 20

func (e podExec) Exec(ctx context.Context, pod, container string, command []string, stdin io.Reader) (string, string, int, error) {
	request := e.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(e.namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: container, Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	executor, err := e.executor(request)
	if err != nil {
		return "", "", 0, fmt.Errorf("exec in pod %s/%s: %w", e.namespace, pod, err)
	}
	stdout, stderr := &limited{most: maxOutput}, &limited{most: maxOutput}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if stdout.cut {
		// Half of an answer must not be taken for the whole.
		return stdout.String(), stderr.String(), 0, fmt.Errorf("exec in pod %s/%s: the command printed more than %d bytes", e.namespace, pod, maxOutput)
	}
	var exit utilexec.ExitError
	if errors.As(err, &exit) {
		return stdout.String(), stderr.String(), exit.ExitStatus(), nil
	}
	if err != nil {
		return "", "", 0, fmt.Errorf("exec in pod %s/%s: %w", e.namespace, pod, err)
	}
	return stdout.String(), stderr.String(), 0, nil
}

// executor speaks WebSocket where the API server does, SPDY otherwise.
func (e podExec) executor(request *rest.Request) (remotecommand.Executor, error) {
	overSPDY, err := remotecommand.NewSPDYExecutor(e.cfg, http.MethodPost, request.URL())
	if err != nil {
		return nil, err
	}
	overWebSocket, err := remotecommand.NewWebSocketExecutor(e.cfg, http.MethodGet, request.URL().String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// limited keeps the first bytes that were written and swallows the rest; cut says that
// there was more.
type limited struct {
	bytes.Buffer
	most int
	cut  bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.most - l.Len()
	l.Buffer.Write(p[:min(room, len(p))])
	l.cut = l.cut || room < len(p)
	return len(p), nil
}

// fencedCrash runs statements only while the Lease is held, and lets each end
// before the Lease does.
type fencedCrash struct {
	execute.Crash
	leadership *leadership
}

func (f fencedCrash) Run(ctx context.Context, pod, statement string) (string, error) {
	if err := f.leadership.check(ctx); err != nil {
		return "", err
	}
	ctx, cancel := f.leadership.bounded(ctx)
	defer cancel()
	if strings.HasPrefix(statement, "SELECT") {
		return f.Crash.Run(ctx, pod, statement)
	}
	fault.Before(fault.SQL)
	out, err := f.Crash.Run(ctx, pod, statement)
	fault.After(fault.SQL)
	return out, err
}

// fencedVolume reads volumes only while the Lease is held.
type fencedVolume struct {
	execute.Volume
	leadership *leadership
}

func (f fencedVolume) Folders(ctx context.Context, pod string) ([]model.ShardFolder, error) {
	if err := f.leadership.check(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := f.leadership.bounded(ctx)
	defer cancel()
	return f.Volume.Folders(ctx, pod)
}

// fencedDatabase does the same for sessions.
type fencedDatabase struct {
	execute.Database
	leadership *leadership
}

func (f fencedDatabase) Login(ctx context.Context, pod, user, password string) (execute.Session, error) {
	session, err := f.Database.Login(ctx, pod, user, password)
	if err != nil {
		return nil, err
	}
	return fencedSession{session, f.leadership}, nil
}

type fencedSession struct {
	execute.Session
	leadership *leadership
}

func (f fencedSession) Exec(ctx context.Context, statement string, arguments ...any) (int64, error) {
	if err := f.leadership.check(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := f.leadership.bounded(ctx)
	defer cancel()
	fault.Before(fault.SQL)
	rows, err := f.Session.Exec(ctx, statement, arguments...)
	fault.After(fault.SQL)
	return rows, err
}
