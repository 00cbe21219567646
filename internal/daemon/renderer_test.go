package daemon

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/sources"
)

// confined stands for a child process.
type confined struct {
	fails          error
	panics         bool
	closed, builds int
}

func (c *confined) Build(context.Context, fs.FS, string) (*render.Build, error) {
	if c.panics {
		panic("kustomize")
	}
	c.builds++
	return &render.Build{}, c.fails
}

func (c *confined) Render(context.Context, render.Cluster, render.Pins) (*render.Rendered, []definition.Problem, error) {
	return &render.Rendered{Revision: "r"}, nil, c.fails
}

func (c *confined) Close() error { c.closed++; return nil }

func TestWhatIsNotTrustedIsRenderedByTheGivenRendererAndNoOther(t *testing.T) {
	c := &confined{}
	o := Options{Renderer: func(context.Context) (render.Renderer, error) { return c, nil }}
	_, err := o.build(t.Context(), sources.Snapshot{})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{c.builds, c.closed})

	w := &worker{daemon: &daemon{options: o}}
	want := wanted{cluster: render.Cluster{Definition: &definition.CrateDB{}}}
	require.Empty(t, w.render(t.Context(), want, render.Pins{}))
	assert.Equal(t, "r", w.rendered.Revision)
	assert.Equal(t, 2, c.closed)

	// What cannot be rendered leaves the cluster as it was, and says why.
	c.fails = errors.New("took more than 1024 MiB of memory")
	want.cluster.Definition = &definition.CrateDB{Name: "newer"}
	assert.Equal(t, []string{"the cluster's objects cannot be made: took more than 1024 MiB of memory"}, w.render(t.Context(), want, render.Pins{}))
	assert.Equal(t, "r", w.rendered.Revision)
	_, err = o.build(t.Context(), sources.Snapshot{})
	require.ErrorIs(t, err, c.fails)

	c.panics = true
	_, err = o.build(t.Context(), sources.Snapshot{})
	require.ErrorContains(t, err, "a defect of stevedore")
	assert.Equal(t, 5, c.closed)
}
