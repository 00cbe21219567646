package check

import (
	"context"
	"net"

	"stevedore.dev/stevedore/internal/reports"
)

// receivers connects to each receiver of reports, and sends nothing.
func (c *checker) receivers(ctx context.Context) {
	for _, to := range c.Receivers {
		c.receiver(ctx, to)
	}
}

func (c *checker) receiver(ctx context.Context, to reports.Address) {
	host, _, err := net.SplitHostPort(to.HostPort)
	if err == nil {
		_, err = net.DefaultResolver.LookupHost(ctx, host)
	}
	if err != nil {
		c.problem(to.Target, to.HostPort, "correct "+to.Variable+", or the name server", "the receiver's name is not found from here: %v", err)
		return
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.HostPort)
	if err != nil {
		c.unknown(to.Target, to.HostPort, "look whether the daemon's pod can reach it", "the receiver cannot be reached from here: %v", err)
		return
	}
	_ = connection.Close()
	c.ok(to.Target, to.HostPort, "the receiver takes connections, from here at least; nothing was sent")
}
