package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
)

// A pod that is never ready on what it runs, and what is to come before its correction
// waits for every node: its node is one.
func TestWhatComesBeforeTheCorrectionOfAPodThatIsNeverReadyDoesNotWaitForIt(t *testing.T) {
	// ill has pods become unready on what they have run for long.
	ill := func(w *world, pods ...string) {
		w.sick["ill"] = true
		for _, pod := range pods {
			w.pods[pod].template = "ill"
		}
	}
	corrected := func(w *world) { w.template, w.desired.Revision = "t3", w.desired.Revision+"-t3" }
	for _, c := range []struct {
		name    string
		happens func(*world)
		nodes   int
	}{
		{"fewer nodes are wanted with it", func(w *world) {
			ill(w, hot+"-0")
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-3"
			corrected(w)
		}, 3},
		{"nodes are leaving", func(w *world) {
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-3"
			w.until(func() bool { return w.record.Exclusions != nil })
			ill(w, hot+"-0")
			corrected(w)
		}, 3},
		{"it leaves itself", func(w *world) {
			ill(w, hot+"-3")
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-3"
		}, 3},
		{"more nodes are wanted than are being added", func(w *world) {
			w.desired.Sets[0].Replicas, w.desired.Revision = 5, "rev-5"
			w.until(func() bool { return w.pods[hot+"-4"] != nil })
			ill(w, hot+"-0")
			w.desired.Sets[0].Replicas, w.desired.Revision = 6, "rev-6"
			corrected(w)
		}, 6},
		{"the cluster is being resumed", func(w *world) {
			running := w.desired
			w.desired = at0(w.desired)
			w.rest(100)
			w.live[hot], w.record.Saved, w.sick["ill"] = "ill", ops.Saved{hot: "ill"}, true
			w.desired, w.desired.Revision = running, "rev-resumed"
			corrected(w)
		}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := restartable(wantedCluster(4))
			d.Operations.Consent = tiers(1, 1).Operations.Consent
			w := newWorld(t, d)
			w.run(60)
			w.now = w.now.Add(time.Hour)
			c.happens(w)
			w.run(600)
			require.Nil(t, w.record.Operation)
			assert.Equal(t, ops.StageVerified, w.record.Stage)
			assert.Len(t, w.pods, c.nodes)
			for name, pod := range w.pods {
				assert.Equal(t, w.template, pod.template, name)
			}
			assert.Equal(t, "all", w.allocation())
			assert.Nil(t, w.record.Exclusions)
		})
	}
}
