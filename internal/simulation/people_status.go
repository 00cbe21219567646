package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
)

// doAsTold: people do what the status has said for long, where several faults have met and only they can end it. It
// refuses other disks than those that a StatefulSet has and that its pods have not got yet.
func (w *world) doAsTold() {
	if !slices.ContainsFunc(w.daemons, func(d *daemon) bool { return d.running && d.says(gates.VolumesRule) }) {
		return
	}
	c := *w.head()
	w.keepsVolumes(&c)
	w.wantsDisks(&c)
	if c.disks != w.head().disks {
		w.push(c, second)
	}
}
