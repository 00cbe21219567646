package render

import (
	"context"
	"io/fs"

	"stevedore.dev/stevedore/render/definition"
)

// Renderer makes clusters of trees, and objects of clusters: in this process
// (InProcess), or in one that is confined (package untrusted). An error means
// that it could not be done at all; what is wrong with the files is among the
// problems.
type Renderer interface {
	// Build is BuildFolder.
	Build(ctx context.Context, tree fs.FS, dir string) (*Build, error)
	// Render is Render, of a cluster that Build gave.
	Render(ctx context.Context, cluster Cluster, pins Pins) (*Rendered, []definition.Problem, error)
	// Close ends it and waits for what it started.
	Close() error
}

// InProcess is the Renderer of files whose writers are trusted.
type InProcess struct{ Config Config }

// Build is BuildFolder. Its error is that of ctx.
func (r InProcess) Build(ctx context.Context, tree fs.FS, dir string) (*Build, error) {
	build := BuildFolder(ctx, tree, dir, r.Config)
	return build, ctx.Err()
}

// Render is Render. Its error is nil.
func (r InProcess) Render(_ context.Context, cluster Cluster, pins Pins) (*Rendered, []definition.Problem, error) {
	rendered, problems := Render(cluster, r.Config, pins)
	return rendered, problems, nil
}

// Close does nothing.
func (InProcess) Close() error { return nil }
