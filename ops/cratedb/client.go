// Package cratedb is the only package that reaches CrateDB: logins with pgx,
// one reading of a cluster, and statements by exec. Connections are
// short-lived, statements have deadlines, errors never hold a secret.
package cratedb

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// Dialer opens a connection to a port of a pod: by its address, or by a
// port-forward.
type Dialer interface {
	DialPod(ctx context.Context, pod string, port int) (net.Conn, error)
	// Private is true when the way to the pod counts as ours: the pod network
	// from inside it, or a port-forward. A password travels only over such a way
	// or over verified TLS.
	Private() bool
}

// Client reaches the pods of one cluster. Its zero value reaches nothing.
type Client struct {
	Dialer Dialer
	// Port of the PostgreSQL protocol; 0: 5432.
	Port int
	// TLS is nil for a cluster without TLS. A config that skips verification is
	// taken only over a private way.
	TLS *tls.Config
	// Timeout bounds each login and each statement; 0: 10 s.
	Timeout time.Duration
	// WriteTimeout bounds statements that wait for gateway recovery; 0: 35 s.
	WriteTimeout time.Duration
	// Listings keeps what is under way between readings; nil: each reading has its own,
	// and a slow listing of snapshots is begun again by none.
	Listings *Listings
	// Secrets are values that no text has which is told of CrateDB's: an object store may have been sent them.
	Secrets []string
	// Sent is called before each statement; nil: nobody counts.
	Sent func()
}

// Target is what Observe is to read.
type Target struct {
	// Pods are those that run, in the order they should be asked.
	Pods []PodRef
	// Password of `system`; "" when its Secret does not exist: nothing is asked.
	Password string
	// User is who reads, "" is `system`. With "crate", CrateDB's superuser, no password is needed where
	// CrateDB trusts it, as it does over a port-forward.
	User string
	// Detailed reads the tables, each shard and the snapshots too (rollout.Detailed).
	Detailed bool
	// Listing reads what is known of each snapshot, and Readable which tables one can have.
	Listing, Readable bool
	// Restore is true where what is being restored is asked for, too.
	Restore bool
	// Facts is true where the operations and sizes of tables are asked for.
	Facts bool
	// Hidden are tables that are left out of all but Restore and Facts (fetch.Hidden).
	Hidden []string
	// Settings are the cluster settings to read (setting.SettingsToRead).
	Settings []string
	// Unless is a whole reading that is taken over where nothing has changed in the cluster
	// state since (takeOver); nil: all is read.
	Unless *model.Database
}

// PodRef is a pod and CrateDB's name of the node in it.
type PodRef struct{ Name, NodeName string }

// Executor runs a command in a pod's container.
type Executor interface {
	// Exec returns what the command wrote and its exit code; err is for a
	// command that could not be run, or whose end is unknown.
	Exec(ctx context.Context, pod, container string, command []string, stdin io.Reader) (stdout, stderr string, exit int, err error)
}

// Crash implements execute.Crash by exec of the `crash` command line.
type Crash struct {
	Executor Executor
	// HTTPPort of CrateDB in the pod; 0: 4200.
	HTTPPort int
	// TLS is true when HTTP in the pod speaks TLS.
	TLS bool
	// Timeout of one statement; 0: 40 s.
	Timeout time.Duration
	// Secrets: see Client.
	Secrets []string
}
