package execute

import (
	"context"
	"fmt"

	"stevedore.dev/stevedore/ops"
)

// Run carries out one action. An error means that it failed or that its end is
// unknown: decide again, from a new observation.
func Run(ctx context.Context, action ops.Action, tools Tools) (ops.Result, error) {
	return ops.Result{}, fmt.Errorf("action %q is not known", action.Kind)
}
