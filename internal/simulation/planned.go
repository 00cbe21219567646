package simulation

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// deeds are the steps that daemons took, as a plan means them; nil while nobody
// compares.
type deeds struct{ steps []plan.Step }

func (w *world) didApply(s *set, changed bool) {
	if w.deeds != nil && changed {
		w.deeds.steps = append(w.deeds.steps, plan.Step{Action: plan.ActionApply, Target: s.name})
	}
}

func (w *world) didAct(a model.Action, rec *model.Record) {
	if w.deeds != nil {
		w.deeds.steps = append(w.deeds.steps, plan.StepOf(a, rec, w.nodeNameOf))
	}
}

func (w *world) nodeNameOf(id string) string {
	for i := range w.slots {
		if l := &w.slots[i]; l.volume.node > 0 && nameOf(nodeIDs, "node-", l.volume.node) == id {
			return l.nodeName
		}
	}
	return id
}

// simulated are the templates of a commit, for a plan.
type simulated struct{ d *daemon }

func (s simulated) Changes(saved model.Saved) ([]model.Change, error) {
	return s.d.w.changesOf(s.d.want, func(set string) string { return saved[set] }, nil), nil
}

func (s simulated) Materialise(saved model.Saved, effective model.Effective) (model.Saved, error) {
	return s.d.materialise(saved, effective), nil
}

func (s simulated) Sets(saved model.Saved) ([]plan.Set, error) {
	w := s.d.w
	var out []plan.Set
	for i := range w.sets {
		set := &w.sets[i]
		key, ok := saved[set.name]
		if !ok {
			continue
		}
		index := templateByKey(key)
		if index < 0 || index >= len(w.templates) {
			return nil, fmt.Errorf("the record saves no template of %s", set.name)
		}
		t := &w.templates[index]
		out = append(out, plan.Set{
			ObservedSet: model.ObservedSet{Name: set.name, Group: set.group, Ours: true, MasterEligible: set.eligible, RecoverAfter: t.counts/2 + 1, Template: t.hash, Version: t.version, Settings: t.live, Unused: (t.shape.disks() &^ t.mounts).String()},
			Content:     key, Expects: t.counts, Claims: append([]string{dataClaim}, model.Listed(t.shape.disks().String())...),
		})
	}
	return out, nil
}

// pairPushes are what pairs of definitions differ in.
var pairPushes = []What{
	pushGrow, pushShrink, pushShrink, pushTemplate, pushRestart, pushUpgrade, pushSetting, pushAddGroup, pushRemoveGroup, pushSuspend,
}

// Pair is a cluster in a state and what is desired of it next, made of a seed.
type Pair struct {
	w *world
	d *daemon
}

// NewPair brings a cluster of a seed to rest, some of them through earlier
// changes, and pushes what is desired next; nothing goes wrong.
func NewPair(seed uint64, story *strings.Builder) (*Pair, error) {
	s := NewSchedule(seed)
	s.Items, s.Start.Second, s.Start.Early = nil, false, false
	s.Start.Zones = false // in which zone a new node will be, nobody knows beforehand
	r := random{state: seed*0x9e3779b97f4a7c15 + 77}
	r.next()
	// Clusters that something can be taken from.
	s.Start.Hot = min(s.Start.Hot+r.below(4), maxOrdinals-3)
	s.Start.Leave = !r.oneIn(8)
	w := newWorld(&s, nil, story)
	p := &Pair{w: w, d: w.daemons[0]}
	if err := p.rest("the bootstrap"); err != nil {
		return nil, err
	}
	for i, replicas := range s.Start.Tables {
		w.addTable(tableNames[i], replicas, s.Start.Shards, firstVersion)
	}
	w.advance(w.now + 10*second)
	w.began, w.dueKnown = w.now, false
	if r.oneIn(3) {
		p.push(&r)
		if err := p.rest("an earlier change"); err != nil {
			return nil, err
		}
	}
	for range r.between(1, 3) {
		p.push(&r)
	}
	if r.oneIn(4) {
		// The plan is of a cluster in the middle of what is desired.
		for range r.between(1, 80) {
			w.passOnce()
		}
	}
	return p, nil
}

func (p *Pair) push(r *random) {
	w := p.w
	w.happen(Item{What: pairPushes[r.below(len(pairPushes))], A: r.below(8), B: r.below(8)}, nil)
	for i := range w.commits {
		w.commits[i].visible = min(w.commits[i].visible, w.now)
	}
}

// atRest is for how long nothing has to change.
const atRest = 90 * second

// rest lets the daemon work until nothing changes any more.
func (p *Pair) rest(what string) error {
	w := p.w
	from, since, last := w.now, w.now, w.resource
	for turns := 0; w.now-since < atRest; turns++ {
		w.passOnce()
		if w.resource != last {
			since, last = w.now, w.resource
		}
		if turns > mostPasses || w.now-from > 4*longest {
			return fmt.Errorf("%s does not come to rest: %s", what, describe(&w.stored.record))
		}
	}
	return nil
}

// Plan is the course from where the cluster stands.
func (p *Pair) Plan() plan.Course {
	w, d := p.w, p.d
	// As a process that starts now would look.
	d.watch()
	d.want = w.fetched()
	rec := w.stored.record
	desired := w.commits[d.want].desired
	desired.Changes = d.changesFrom(&rec)
	var db model.Database
	(&daemon{w: w}).read(&db, d.view.pods, true)
	return plan.Forward(plan.Start{
		Desired: desired, Templates: simulated{d: &daemon{w: w, want: d.want}}, Record: rec, Policy: policy, Now: w.now.time(),
		Observed: model.Observed{
			At: db.At, Sets: d.view.sets, Pods: d.view.pods, Claims: d.view.claims, Budgets: d.view.budgets,
			Secrets: d.view.secretsOf(secretNames), Database: db, Applied: d.applied,
		},
	})
}

// Do has it really done, and returns what was done.
func (p *Pair) Do() ([]plan.Step, error) {
	p.w.deeds = &deeds{}
	err := p.rest("what was planned")
	return p.w.deeds.steps, err
}
