package simulation

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// tellDecision says what was decided, when it is another than before.
func (w *world) tellDecision(d *daemon, decision *model.Decision) {
	if !w.telling() {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "daemon %s decides: %s", d.name, decision.Verdict)
	if op := decision.Record.Operation; op != nil {
		fmt.Fprintf(&b, ", %s %s", op.Kind, op.Step)
		if op.Restart != nil && op.Restart.Pod != "" {
			fmt.Fprintf(&b, " of %s", op.Restart.Pod)
		}
	}
	for _, a := range decision.Actions() {
		fmt.Fprintf(&b, "; %s %s", a.Kind, a.Subject())
	}
	for _, r := range slices.Concat(decision.Waits, decision.Refusals) {
		fmt.Fprintf(&b, "; %s: %s", r.Name, r.Message)
	}
	if text := b.String(); text != d.said {
		d.said = text
		w.say("%s", text)
	}
}

func describe(r *model.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stage %s of %s", r.Stage, r.Revision)
	if op := r.Operation; op != nil {
		fmt.Fprintf(&b, ", %s %s since %s", op.Kind, op.Step, op.Started.Sub(epoch))
		if op.Restart != nil {
			fmt.Fprintf(&b, " at %s %s", op.Restart.Set, op.Restart.Pod)
		}
	}
	if r.Lock != nil {
		fmt.Fprintf(&b, ", holds %s", r.Lock.Value)
	}
	fmt.Fprintf(&b, ", last %s %s %s", r.Last.Operation, r.Last.Status, r.Last.Names)
	return b.String()
}

// Minimise leaves out what a violation does not need, item by item, until no
// item can go. The violation stays of the same invariant.
func Minimise(s Schedule) Schedule {
	first := Run(s, nil, nil).Violation
	if first == nil {
		return s
	}
	fails := func(candidate Schedule) bool {
		v := Run(candidate, nil, nil).Violation
		return v != nil && v.Invariant == first.Invariant
	}
	for changed := true; changed; {
		changed = false
		for i := 0; i < len(s.Items); i++ {
			without := s
			without.Items = slices.Delete(slices.Clone(s.Items), i, i+1)
			if fails(without) {
				s, changed = without, true
				i--
			}
		}
		for _, simpler := range []func(*Start){
			func(st *Start) { st.Second = false },
			func(st *Start) { st.Early = false },
			func(st *Start) { st.Warm = 0 },
			func(st *Start) { st.Masters = 0 },
			func(st *Start) { st.Hot = max(1, st.Hot-1) },
			func(st *Start) { st.Tables = st.Tables[:max(0, len(st.Tables)-1)] },
			func(st *Start) { st.Shards = 1 },
		} {
			candidate := s
			simpler(&candidate.Start)
			if fmt.Sprint(candidate.Start) != fmt.Sprint(s.Start) && fails(candidate) {
				s, changed = candidate, true
			}
		}
	}
	return s
}
