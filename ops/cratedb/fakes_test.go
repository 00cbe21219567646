package cratedb

import (
	"context"
	"io"
	"net"
)

// twoClusters sends pod-9 to the other cluster's first node.
type twoClusters struct{ one, other *simulated }

func (twoClusters) Private() bool { return true }

func (d twoClusters) DialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	if pod == "pod-9" {
		return d.other.DialPod(ctx, "pod-0", port)
	}
	return d.one.DialPod(ctx, pod, port)
}

func (f failing) Exec(_ context.Context, _, _ string, _ []string, stdin io.Reader) (string, string, int, error) {
	_, err := io.Copy(io.Discard, stdin)
	return f.stdout, f.stderr, f.exit, err
}
