package daemon

import (
	"context"
	"net"
	"strings"

	"stevedore.dev/stevedore/internal/receiver"
	"stevedore.dev/stevedore/internal/telemetry"
)

// wakeable is a source that a push can wake.
type wakeable interface {
	Repository() string
	Wake()
}

// pushes makes the receiver. Each daemon has one, since a Service asks any of
// them; the one that acts wakes its sources, another forwards to it. The address
// of the one that acts is in the Lease, behind its identity: so nobody needs a
// right to look for pods.
func pushes(o *Options, l *leadership, metrics *telemetry.Metrics) *receiver.Server {
	server := &receiver.Server{
		Addr: o.Receiver.Address, Secret: receiver.Cached(o.Receiver.Secret, nil), Count: metrics.PushReceived, Log: o.Log,
		Acts:   func() bool { return l.check(context.Background()) == nil },
		Leader: func() string { return addressIn(l.holder()) },
	}
	for _, source := range o.Sources {
		if w, ok := source.Source.(wakeable); ok {
			server.Targets = append(server.Targets, receiver.Target{Repository: w.Repository(), Wake: w.Wake})
		}
	}
	return server
}

// identityWith puts an address behind an identity.
func identityWith(identity, host string, listener net.Addr) string {
	_, port, err := net.SplitHostPort(listener.String())
	if host == "" || err != nil {
		return identity
	}
	return identity + "@" + net.JoinHostPort(host, port)
}

// addressIn finds it again; "" when there is none.
func addressIn(identity string) string {
	at := strings.LastIndex(identity, "@")
	if at < 0 {
		return ""
	}
	address := identity[at+1:]
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
		return ""
	}
	return address
}
