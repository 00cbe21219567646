package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

func TestCrashAnswersOverBothProtocols(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	pod := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(pod))
	for _, protocol := range []string{"websocket", "spdy"} {
		for _, c := range []struct {
			name, input string
			command     []string
			want        outcome
		}{
			{
				name: "statements from standard input", input: "SELECT 'a;b';\n-- done\n",
				command: []string{"crash", "--hosts", "http://localhost:4200", "--format", "json"},
				want: outcome{
					out: "[\n  {\n    \"answer\": \"SELECT 'a;b'\"\n  }\n]\n",
					err: "CONNECT OK\nSELECT 1 row in set (0.001 sec)\n",
				},
			},
			{
				name:    "a statement as an argument",
				command: []string{"crash", "-c", "SELECT 1", "--format", "json_row"},
				want:    outcome{out: "{\"answer\": \"SELECT 1\"}\n", err: "CONNECT OK\nSELECT 1 row in set (0.001 sec)\n"},
			},
			{
				name: "a failure does not stop the rest, and shows in the exit code", input: "FAIL 1; SELECT 2;",
				command: []string{"crash", "--format", "json_row"},
				want: outcome{
					out:  "{\"answer\": \"SELECT 2\"}\n",
					err:  "CONNECT OK\nSQLParseException[line 1:1: no]\nSELECT 1 row in set (0.001 sec)\n",
					code: 1,
				},
			},
			{
				name:    "a server that does not listen",
				command: []string{"crash", "-c", "SELECT 1", "--hosts", "localhost:4299"},
				want:    outcome{err: "CONNECT ERROR", code: 1},
			},
			{
				name:    "a script around it",
				command: []string{"sh", "-c", "crash -c 'SELECT 1' --format json_row 2>/dev/null | grep -q 'SELECT 1' && echo found"},
				want:    outcome{out: "found\n"},
			},
			{
				name:    "curl, from the pod's own address",
				command: []string{"curl", "-sS", "-f", "http://127.0.0.1:4200"},
				want:    outcome{out: `{"ok":true,"version":{"number":"6.4.3"}}`},
			},
			{
				name:    "the outside cannot be reached",
				command: []string{"curl", "https://example.com/"},
				want:    outcome{err: "curl: (6) Could not resolve host: example.com (the sandbox reaches only its own pods)\n", code: 6},
			},
			{
				name:    "anything else says that it is not there",
				command: []string{"java", "-version"},
				want:    outcome{err: "java: not found", code: -1},
			},
		} {
			t.Run(protocol+"/"+c.name, func(t *testing.T) {
				got := situation{T: t, config: s.config, client: s.client, namespace: s.namespace}.exec(protocol, pod, c.input, c.command...)
				assert.Equal(t, c.want.code, got.code)
				assert.Equal(t, c.want.out, got.out)
				assert.True(t, strings.HasPrefix(got.err, c.want.err), got.err)
			})
		}
	}
}

func TestLogsCanBeReadAndFollowed(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	read := func(o corev1.PodLogOptions) string {
		o.Container = "crate"
		content, err := s.client.CoreV1().Pods(s.namespace).GetLogs(name, &o).DoRaw(t.Context())
		require.NoError(t, err)
		return string(content)
	}
	one := int64(1)
	assert.Contains(t, read(corev1.PodLogOptions{}), "setting node.name=data-hot-0\n")
	last := read(corev1.PodLogOptions{TailLines: &one})
	assert.True(t, strings.HasPrefix(last, "fake node"), last)
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\S+Z fake node`, read(corev1.PodLogOptions{TailLines: &one, Timestamps: true}))

	stream, err := s.client.CoreV1().Pods(s.namespace).GetLogs(name, &corev1.PodLogOptions{Container: "crate", Follow: true, TailLines: &one}).Stream(t.Context())
	require.NoError(t, err)
	defer stream.Close()
	require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	rest, err := io.ReadAll(stream)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(rest), "told to end\n"), string(rest))
}

func TestPortForwardReachesThePodAsLocal(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	target := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(s.namespace).Name(name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(s.config)
	require.NoError(t, err)
	forward := func(protocol string, stop, isReady chan struct{}) (*portforward.PortForwarder, error) {
		ports := []string{"0:4200"}
		if protocol == "spdy" {
			dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
			return portforward.New(dialer, ports, stop, isReady, io.Discard, io.Discard)
		}
		dialer, err := portforward.NewSPDYOverWebsocketDialer(target, s.config)
		if err != nil {
			return nil, err
		}
		return portforward.New(dialer, ports, stop, isReady, io.Discard, io.Discard)
	}
	for _, protocol := range []string{"spdy", "websocket"} {
		t.Run(protocol, func(t *testing.T) {
			stop, isReady := make(chan struct{}), make(chan struct{})
			forwarder, err := forward(protocol, stop, isReady)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- forwarder.ForwardPorts() }()
			select {
			case <-isReady:
			case err := <-done:
				require.NoError(t, err)
			}
			ports, err := forwarder.GetPorts()
			require.NoError(t, err)
			response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).
				Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, http.StatusOK, response.StatusCode)
			close(stop)
			require.NoError(t, <-done)
		})
	}
}
