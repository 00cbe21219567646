// Package execute carries out one action of a decision. It acts through the
// small blocking interfaces below; it has no clock, no goroutine and no client
// of its own. Each executor looks first, is idempotent and reads back.
package execute

import (
	"context"
	"errors"

	"stevedore.dev/stevedore/ops/model"
)

// Errors that an Objects implementation returns, wrapped.
var (
	ErrExists   = errors.New("exists already")
	ErrNotFound = errors.New("not found")
	// ErrDropped: the API server took a write and left out a field that it does not know.
	ErrDropped = errors.New("dropped")
)

// Objects writes to Kubernetes in the cluster's namespace.
type Objects interface {
	// CreateSecret makes a Secret of type Opaque with the cluster's labels and
	// crate-operator's label of a user's password; ErrExists if there is one.
	CreateSecret(ctx context.Context, name string, data map[string][]byte) error
	// LabelSecret puts a label on a Secret and leaves all else.
	LabelSecret(ctx context.Context, name, label, value string) error
	// AnnotateClaim puts annotations on a volume claim and leaves all else.
	AnnotateClaim(ctx context.Context, name string, annotations map[string]string) error
	// SetBudget sets a disruption budget's maxUnavailable.
	SetBudget(ctx context.Context, name string, maxUnavailable int) error
	// DeletePod deletes a pod in which CrateDB has never started, with its UID as
	// precondition.
	DeletePod(ctx context.Context, name, uid string) error
	// RestartPod deletes a pod that is to be started anew, with its UID as
	// precondition; an error when it is not ready any more (with ready), or is by
	// now (without).
	RestartPod(ctx context.Context, name, uid string, ready bool) error
	// ShrinkSet lowers a StatefulSet's replicas, with its UID and resourceVersion as
	// preconditions; nil when it stands at to already, an error when it does not
	// stand at from.
	ShrinkSet(ctx context.Context, set, uid, resourceVersion string, from, to int) error
	// DeleteSet deletes a StatefulSet of 0 replicas, with the same preconditions, and
	// leaves its claims; ErrNotFound if there is none.
	DeleteSet(ctx context.Context, name, uid, resourceVersion string) error
	// OrphanSet deletes a StatefulSet and leaves its pods, with the same preconditions; an
	// error unless so many pods of it are there and none is on its way, save those that are
	// away, which have to be away still, and unless the disruption budget keeps so many pods and lets none go. budget is "" for none.
	OrphanSet(ctx context.Context, name, uid, resourceVersion string, pods int, away []string, budget string, keep int) error
	// GrowClaim asks for a size, a VolumeAttributesClass or both for a bound volume claim, with its
	// UID as precondition; nil where that is asked for already, an error where the volume has as
	// much, ErrDropped where Kubernetes takes no such class.
	GrowClaim(ctx context.Context, name, uid string, change model.ClaimChange) error
	// DeleteClaim deletes a volume claim, with its UID as precondition, and notes on it that its
	// volume may go with its pod; nil where there is none of that UID.
	DeleteClaim(ctx context.Context, name, uid string) error
	// DeletedClaims are the volume claims in the cluster's namespace that somebody has deleted
	// and that are still there.
	DeletedClaims(ctx context.Context) ([]model.Claim, error)
	// ResizePod asks for CPU and memory for the containers of a running pod, with its UID as
	// precondition; ErrNotFound if there is none.
	ResizePod(ctx context.Context, name, uid string, resources model.Resources) error
	// ForgetOwned takes the annotation of owned settings off a StatefulSet, with its UID as precondition; nil where
	// there is none.
	ForgetOwned(ctx context.Context, set, uid string) error
	// DeleteObject deletes an object of the cluster, with the same preconditions; an
	// error for what may hold data, nil where there is none.
	DeleteObject(ctx context.Context, object model.ObjectRef, uid, resourceVersion string) error
}

// Secrets reads a Secret from the API server, never from a cache.
type Secrets interface {
	// Get returns the Secret's data and version; ErrNotFound if there is none.
	Get(ctx context.Context, name string) (map[string][]byte, model.SecretVersion, error)
}

// Session is one login to one node. Close it.
type Session interface {
	// Exec runs one statement; arguments are bound.
	Exec(ctx context.Context, statement string, arguments ...any) (rows int64, err error)
	// Strings runs a query and returns its rows as text, NULL as "", objects and
	// arrays as JSON. Each row has as many columns as the query selects: another answer is an error.
	Strings(ctx context.Context, query string, arguments ...any) ([][]string, error)
	Close()
}

// Database logs in. Errors satisfy errors.Is with those of this package.
type Database interface {
	// Login connects to the CrateDB in a pod; ErrLoginRefused on SQLSTATE 28000.
	Login(ctx context.Context, pod, user, password string) (Session, error)
}

// Errors that a Database or a Crash implementation returns, wrapped.
var (
	// ErrLoginRefused is SQLSTATE 28000, which has several causes.
	ErrLoginRefused = errors.New("login refused")
	// ErrUserExists is CREATE USER for one that is there.
	ErrUserExists = errors.New("user exists already")
	// ErrUserUnknown is ALTER USER for one that is not.
	ErrUserUnknown = errors.New("user does not exist")
	// ErrNotRecovered is a statement before the gateway has recovered.
	ErrNotRecovered = errors.New("the cluster has not recovered its state yet")
	// ErrCrashFailed is a statement that crash was given in the pod and that failed
	// there: nobody listens, CrateDB says no, or for many seconds nothing. After any
	// other error of a Crash nothing is known.
	ErrCrashFailed = errors.New("crash failed in the pod")
	// ErrRejected is a statement that CrateDB answered with an error: it has not been carried out.
	ErrRejected = errors.New("CrateDB has refused the statement")
	// ErrSnapshotExists is a CREATE SNAPSHOT of a name that the repository has, or that is being taken.
	ErrSnapshotExists = errors.New("there is a snapshot of this name")
	// ErrLicence is a statement that a missing licence forbids.
	ErrLicence = errors.New("the licence does not allow it")
)

// Crash runs statements as the superuser `crate` inside a pod.
type Crash interface {
	// Run gives one statement to `crash` on its standard input, none in an
	// argument, and returns its standard output. An error wraps ErrCrashFailed
	// where crash ran in vain, and the errors of this package where CrateDB's words are
	// known, and never holds the statement.
	Run(ctx context.Context, pod, statement string) (stdout string, err error)
}

// Snapshots lists those of all repositories.
type Snapshots interface {
	// List asks at a pod, and what it returns was read after it was asked. There is one listing under way in a
	// cluster at most: CrateDB ends none that a repository holds up, and each holds a thread. It is an error
	// where one has not ended.
	List(ctx context.Context, pod, password string) ([]model.ListedSnapshot, error)
}

// Tools are what executors act through.
type Tools struct {
	Objects  Objects
	Secrets  Secrets
	Database Database
	Crash    Crash
	// Snapshots is nil where there are no repositories.
	Snapshots Snapshots
	// Volume is nil where volumes cannot be read.
	Volume Volume
	// Password returns a new random password.
	Password func() (string, error)
}
