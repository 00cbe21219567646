// Package sources gives a revision and a read-only file tree, whatever they
// come from. It knows nothing of Kubernetes or CrateDB.
package sources

import (
	"context"
	"io/fs"
)

// Snapshot is a revision and a read-only file tree. The zero value means that
// there has been no good look yet.
type Snapshot struct {
	// Source is the identity of the source: the URL without credentials (and
	// "//path" when a path inside is set), or the absolute directory. It stays
	// the same across references, so it serves as the owner's identity, and it
	// may be printed.
	Source string

	// Revision is for people and reports: "main@sha1:<40 hex>" for a branch or
	// a tag, "sha1:<40 hex>" for a commit, "dir@sha256:<64 hex>" for a directory.
	Revision string

	// Files is rooted at the path inside. It implements fs.ReadDirFS,
	// fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS and may be used by several
	// goroutines. A symbolic link is followed only while it stays within the
	// whole tree (the repository's root, or the directory); otherwise opening it
	// is an error that names the link. A file above the source's bound is refused
	// when it is opened. Modification times are always zero.
	Files fs.FS

	// Tree is the whole tree that Files is a part of, and Dir where in it, "."
	// for all of it: an overlay may stand on a base beside the path inside. They
	// are what to build from; errors then name files as the repository does.
	Tree fs.FS
	Dir  string
}

// IsZero says that there is no snapshot.
func (s Snapshot) IsZero() bool { return s.Files == nil }

// Source is a place that snapshots come from.
type Source interface {
	// Identity is what Snapshot.Source will say.
	Identity() string

	// Fetch takes one look, with a hard deadline of the source's own besides
	// ctx. While the revision stays, it returns the equal Snapshot at the price
	// of a look. With an error it may give the last good Snapshot, also one from
	// before a restart. It is not called by two goroutines at once.
	Fetch(ctx context.Context) (Snapshot, error)

	// Changed hints that a Fetch is worth it now. It is nil when only the
	// interval counts. A hint may be lost or wrong.
	Changed() <-chan struct{}

	// Close ends the source's goroutines and waits for them. Snapshots that were
	// handed out may stop being readable.
	Close() error
}
