// Package daemon is the loop that joins the parts: sources give snapshots,
// render makes clusters of them, ops decides, apply and the executors act,
// reports tell. It wires and waits; it decides nothing.
package daemon

import (
	"context"
	"crypto/x509"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/sources"
)

// Connect says how the database in a pod is reached.
type Connect string

const (
	// ConnectPod dials the pod's address; the pod network counts as ours.
	ConnectPod Connect = "pod"
	// ConnectPortForward goes through the API server.
	ConnectPortForward Connect = "port-forward"
)

// Source is a source and how often it is looked at.
type Source struct {
	sources.Source
	// Interval between looks; 0: a minute.
	Interval time.Duration
	// DependsOn are identities of other sources of this daemon: while one of
	// their clusters is not as its definition says, what changes in this one waits.
	DependsOn []string
	// CommitStatus says where what became of a commit of this source is posted.
	CommitStatus CommitStatus
	// ahead is Source with a look that does not wait for the Lease; nil: without one.
	ahead *sources.Ahead
}

// looked is what is followed.
func (s Source) looked() sources.Source {
	if s.ahead != nil {
		return s.ahead
	}
	return s.Source
}

// ReceiverOptions say where pushes come in.
type ReceiverOptions struct {
	// Address to listen on, "host:port".
	Address string
	// Advertised is the host by which other daemons reach this one; "": a push
	// that comes to one which does not act is refused, and the next look sees it.
	Advertised string
	// Secret is what senders sign with.
	Secret func(ctx context.Context) ([]byte, error)
}

// Options of Run.
type Options struct {
	Sources []Source
	// REST reaches the API server.
	REST *rest.Config
	// Namespaces are watched from the start, besides those that definitions
	// name: there a cluster is noticed whose definition is gone.
	Namespaces []string
	Render     render.Config
	// Renderer starts what renders one snapshot, or one cluster, of a source that
	// is not trusted; nil: this process does, by Render.
	Renderer func(ctx context.Context) (render.Renderer, error)
	Policy   model.Policy
	Connect  Connect
	// DatabaseCA verifies the databases' certificates; nil: the certificate is
	// not verified, which is allowed only over a way that counts as ours.
	DatabaseCA *x509.CertPool
	Lease      LeaseOptions
	// Listen is the address of /metrics, /healthz and /readyz; "" serves none.
	Listen string
	// Receiver takes pushes that wake the looks at Git sources; nil: none.
	Receiver *ReceiverOptions
	// Once ends Run when each cluster is done, or cannot go on by itself.
	Once bool
	// Interval between two looks at a cluster where nothing happens; 0: 8 s.
	Interval time.Duration
	// MaxConcurrentWrites bounds the clusters that write to the API server at
	// the same time; 0: 16.
	MaxConcurrentWrites int
	// Newcomers hears when there are clusters that are looked at for the first time, and
	// when there are none any more; nil: nobody. It must not block.
	Newcomers func(some bool)
	// Version of this binary.
	Version string
	Log     *slog.Logger
}

// defaultInterval is below the ten seconds in which a budget has to follow what
// only the database shows. A look in sync asks the database and nobody else.
const defaultInterval = 8 * time.Second

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.MaxConcurrentWrites <= 0 {
		o.MaxConcurrentWrites = 16
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Connect == "" {
		o.Connect = ConnectPod
	}
	o.Lease = o.Lease.withDefaults()
	return o
}
