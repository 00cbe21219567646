package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
)

// doAsTold: people do what the status has said for long, where several faults have met and only they can end it.
func (w *world) doAsTold() {
	tells := func(rule gates.Rule) bool {
		return slices.ContainsFunc(w.daemons, func(d *daemon) bool { return d.running && d.says(rule) })
	}
	if tells(gates.VolumesRule) {
		w.setsDisksBack()
	}
	if tells(gates.TableKeptRule) {
		w.dropsRedKept()
	}
}

// setsDisksBack: fewer disks are refused of pods that have not got yet what their StatefulSet has.
func (w *world) setsDisksBack() {
	c := *w.head()
	w.keepsVolumes(&c)
	w.wantsDisks(&c)
	if c.disks != w.head().disks {
		w.push(c, second)
	}
}

// dropsRedKept: what is kept of a table is red.
func (w *world) dropsRedKept() {
	for i := range w.tables {
		name := w.tables[i].name
		if colour, _, _ := w.health(i, 0); keptOf(name) != "" && colour == 3 {
			w.say("somebody drops %s, which is kept", name)
			w.removeTable(name)
			return
		}
	}
}
