package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// answering is the first seed whose schedules may have what gates.Questions ask for: a statement that runs, and the like.
const answering = 3_100_000_000

// drawnFrom is the first seed whose schedules bring about what a rule asks for: nobody may have played it when the rule comes,
// or schedules would change that are known.
var drawnFrom = map[string]uint64{
	"optimize-running": answering,
	"copy-running":     3_700_000_000,
	"export-running":   3_700_000_000,
}

// drawn are the questions of a seed's schedule, as indexes of gates.Questions.
func drawn(seed uint64) (all []int) {
	for i, rule := range gates.Questions {
		if from, ok := drawnFrom[rule.Name]; ok && seed >= from {
			all = append(all, i)
		}
	}
	return all
}

// answers draws what people do that a rule asks for, for some of its questions.
func (s *Schedule) answers(r *random) {
	for n := 0; n < 1 || r.oneIn(2); n++ {
		i := Item{What: beFound, A: r.below(64), B: r.below(64)}
		if r.oneIn(2) {
			i.Call = 1 + r.below(60)
		} else {
			i.At = r.span(0, eventful)
		}
		s.Items = append(s.Items, i)
	}
}

// presence is what is there of a question until a time; known is false until another.
type presence struct{ until, unknown millis }

// bringAbout makes that one question finds something for a while, or has no answer.
func (w *world) bringAbout(it Item) {
	among := drawn(w.schedule.Seed)
	i := among[it.A%len(among)]
	if w.present == nil {
		w.present = make([]presence, len(gates.Questions))
	}
	length := millis(2+it.B) * second
	if it.B%8 == 7 {
		w.present[i].unknown = w.now + length
		w.say("nobody knows whether %s for %d s", gates.Questions[i].Asks.What, length/second)
		return
	}
	w.present[i].until = w.now + length
	w.say("%s for %d s", gates.Questions[i].Asks.What, length/second)
}

// rowsOf is what a question selects now.
func (w *world) rowsOf(i int) [][]string {
	q := gates.Questions[i].Asks
	switch {
	case w.present == nil:
		return q.None()
	case w.now < w.present[i].unknown:
		return nil
	case w.now < w.present[i].until:
		return q.Some()
	}
	return q.None()
}

var nothing = model.NothingFound()

// readAnswers are those of a reading.
func (w *world) readAnswers() []gates.Answer {
	if w.present == nil {
		return nothing
	}
	all := make([]gates.Answer, len(gates.Questions))
	for i, rule := range gates.Questions {
		all[i] = rule.Asks.Answer(w.rowsOf(i))
	}
	return all
}

// asked answers one of the questions in a last look; done is false for any other query.
func (d *daemon) asked(query string) (rows [][]string, done bool) {
	i := slices.IndexFunc(gates.Questions, func(r *gates.Rule) bool { return r.Asks.SQL == query })
	if i < 0 {
		return nil, false
	}
	rows = d.w.rowsOf(i)
	d.looked.asked |= 1 << i
	if _, holds := gates.Questions[i].Holds(gates.Questions[i].Asks.Answer(rows), ""); holds {
		d.looked.found = gates.Questions[i].Name
	}
	return rows, true
}

// answered is a violation where a daemon restarts a pod though one of the questions found something, in its reading or
// in its last look, or was not asked.
func (j *judge) answered(w *world, d *daemon, l *slot) {
	for i, rule := range gates.Questions {
		answers, repair := d.observed.Database.Answers, d.observed.Database.Health.Colour != model.Green || !d.sawReady(l)
		switch {
		case repair:
		case i >= len(answers) || len(answers[i].Found) > 0 || !answers[i].Known && !rule.Asks.UnknownPasses:
			w.violate("B", "the daemon restarts %s, and its reading did not say that nothing is found of %s", l.podName, rule.Name)
		case d.looked.asked&(1<<i) == 0:
			w.violate("B", "the daemon restarts %s, and did not look once more for %s", l.podName, rule.Name)
		}
	}
	if d.looked.found != "" {
		w.violate("B", "the daemon restarts %s, and %s found something, or had no answer, when it looked", l.podName, d.looked.found)
	}
}

// sawReady: the pod of the slot was ready when the daemon looked.
func (d *daemon) sawReady(l *slot) bool {
	return slices.ContainsFunc(d.observed.Pods, func(p model.Pod) bool { return p.Name == l.podName && p.Ready })
}
