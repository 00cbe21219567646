package daemon

import (
	"context"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/sources"
)

// renderer is what renders one snapshot or one cluster, to be closed after it.
func (o Options) renderer(ctx context.Context) (render.Renderer, error) {
	if o.Renderer == nil {
		return render.InProcess{Config: o.Render}, nil
	}
	return o.Renderer(ctx)
}

// build builds a snapshot. A panic ends this build, and no other one.
func (o Options) build(ctx context.Context, s sources.Snapshot) (build *render.Build, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = broke(p)
		}
	}()
	renderer, err := o.renderer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = renderer.Close() }() // the result is there, or the reason why not
	return renderer.Build(ctx, s.Tree, s.Dir)
}

// render renders a cluster.
func (o Options) render(ctx context.Context, cluster render.Cluster, pins render.Pins) (*render.Rendered, []definition.Problem, error) {
	renderer, err := o.renderer(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = renderer.Close() }()
	return renderer.Render(ctx, cluster, pins)
}
