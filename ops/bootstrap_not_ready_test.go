package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// The first definition of a cluster has a readiness probe, or a container beside
// CrateDB's, that fails for ever: its nodes join all the same, and a push that corrects it
// reaches them.
func TestAClusterWhosePodsAreNeverReadyIsMadeAndCorrected(t *testing.T) {
	for _, c := range []struct {
		name string
		ill  func(*world)
	}{
		{"none of them ever is", func(w *world) { w.sick[w.template] = true }},
		{"they are not any more when system has been made", func(w *world) {
			w.until(func() bool { return w.record.Bootstrap.System.UID != "" })
			w.sick[w.template] = true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, restartable(wantedCluster(3)))
			c.ill(w)
			for range 60 {
				_, err := w.pass()
				require.NoError(t, err)
				w.now = w.now.Add(time.Minute)
			}
			assert.False(t, w.record.Bootstrap.Done, "it waits for them as long as nobody wants anything else")
			w.template, w.desired.Revision = "t2", w.desired.Revision+"-t2"
			w.run(600)
			require.Nil(t, w.record.Operation)
			assert.Equal(t, model.StageVerified, w.record.Stage)
			assert.Len(t, w.pods, 3)
			for name, pod := range w.pods {
				assert.Equal(t, "t2", pod.template, name)
			}
			assert.Equal(t, "all", w.allocation())
		})
	}
}
