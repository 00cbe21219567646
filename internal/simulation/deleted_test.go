package simulation

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Seed 6310046583: the next pod of that name joined on another template, and the daemon took its node for the one that it had
// deleted.
func TestADaemonOfTheSimulationKnowsThatAPodThatItHasDeletedGoes(t *testing.T) {
	for _, c := range []struct {
		name    string
		deletes func(*daemon, *slot) error
		knows   bool
	}{
		{"nobody deletes it", func(*daemon, *slot) error { return nil }, false},
		{"it is deleted", func(d *daemon, l *slot) error {
			return objects{d: d}.RestartPod(t.Context(), l.podName, l.pod.uid, l.pod.ready)
		}, true},
		{"it is found on its way out", func(d *daemon, l *slot) error {
			d.w.terminate(l)
			return objects{d: d}.RestartPod(t.Context(), l.podName, l.pod.uid, l.pod.ready)
		}, true},
		{"somebody else deletes it", func(d *daemon, l *slot) error {
			d.w.terminate(l)
			return nil
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld()
			d := w.daemons[0]
			w.lease.holder, d.leased, d.want, d.checked = d, w.now, w.fetched(), w.now
			d.watch()
			d.view.stalled[kindPods] = w.now + second
			l := &w.slots[1]
			require.NoError(t, c.deletes(d, l))
			d.watch()
			d.marksDeleted()
			i := slices.IndexFunc(d.view.pods, func(p model.Pod) bool { return p.UID == l.pod.uid })
			assert.Equal(t, c.knows, d.view.pods[i].Terminating)
			d.view.stalled[kindPods], l.pod.exists = 0, false
			w.bump(kindPods)
			d.watch()
			d.marksDeleted()
			assert.Empty(t, d.deleted, "what no watch shows any more is forgotten")
		})
	}
}
