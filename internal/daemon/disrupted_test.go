package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// Who waits for another cluster learns what that one does, and whether it needs a person.
func TestAClusterThatOthersWaitForSaysWhetherItGoesOn(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const stuck = ", which gets no further by itself: its status says why"
	for name, c := range map[string]struct {
		operation model.Operation
		want      string
	}{
		"it goes on":     {model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: at}, "restart since 2026-01-02 03:04 UTC"},
		"it has stopped": {model.Operation{Kind: model.OperationUpgrade, Step: model.StepStopped, Started: at}, "upgrade since 2026-01-02 03:04 UTC" + stuck},
		"it is overdue":  {model.Operation{Kind: model.OperationRestart, TimedOut: true, Started: at}, "restart since 2026-01-02 03:04 UTC" + stuck},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, underWay(&c.operation)) })
	}
}
