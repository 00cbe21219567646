package check

import (
	"context"
	"net"
)

// webhook connects, and sends nothing.
func (c *checker) webhook(ctx context.Context) {
	const check = "webhook"
	if c.Webhook == "" {
		return
	}
	host, _, err := net.SplitHostPort(c.Webhook)
	if err == nil {
		_, err = net.DefaultResolver.LookupHost(ctx, host)
	}
	if err != nil {
		c.problem(check, c.Webhook, "correct WEBHOOK_URL, or the name server", "the receiver's name is not found from here: %v", err)
		return
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.Webhook)
	if err != nil {
		c.unknown(check, c.Webhook, "look whether the daemon's pod can reach it", "the receiver cannot be reached from here: %v", err)
		return
	}
	_ = connection.Close()
	c.ok(check, c.Webhook, "the receiver takes connections, from here at least; nothing was sent")
}
