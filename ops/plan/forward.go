package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/compute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

// Start is what a forward run begins from.
type Start struct {
	// Desired is what the definition says; its Changes are computed again in each pass.
	Desired   model.Desired
	Templates Templates
	Observed  model.Observed
	// Record with Saved: what was last effective.
	Record model.Record
	Policy model.Policy
	Now    time.Time
	// Outdated: shards may be elsewhere by now than the reading says.
	Outdated bool
}

// Course is what a forward run comes to.
type Course struct {
	Operations []Operation
	// Steps of all operations, in order, without repetitions.
	Steps   []Step
	Refused []Gate
	// Waits are for what somebody has to do.
	Waits []Gate
	// Notes are what is in no object.
	Notes   []string
	AtRisk  []Risk
	Unknown []string
	// Restarts counts pods.
	Restarts int
	Estimate *Estimate
	// Record and Sets are as they are at the end.
	Record model.Record
	Sets   []Set
	// Effective is what the cluster is held to then.
	Effective model.Effective
	// ResizesByRestart: pods get other CPU and memory by a restart only.
	ResizesByRestart bool
	// Kept: nothing of the definition is applied, also no object that no operation is about.
	Kept bool
	// Suspended: the cluster is suspended in the end, as its definition asks.
	Suspended bool
	// Done: the cluster is as desired in the end.
	Done bool
}

// Bounds of a run: for any cluster, and for each of its pods.
const (
	passesAtLeast = 500
	passesEachPod = 100
)

// waitsLong is for how long nothing has to change until nothing will: longer than
// every wait that ends by itself.
const waitsLong = 10 * time.Minute

// passesSoon is for how long nothing has to change until what passes by itself on
// the basis has passed.
const passesSoon = 3 * time.Second

// Forward runs decisions over a model in which each action succeeds, until the cluster is as
// desired or nothing more happens. It is pure.
func Forward(s Start) Course {
	r, err := newRun(s)
	if err != nil {
		return Course{Unknown: []string{fmt.Sprintf("no operation is known: what was last effective cannot be read: %v", err)}}
	}
	r.course.out.Notes = BackupNotes(&s)
	return r.end(r.toTheEnd())
}

func newRun(s Start) (*run, error) {
	sets, err := s.Templates.Sets(s.Record.Saved)
	if err != nil {
		return nil, err
	}
	withoutWindows(&s)
	r := &run{
		start: s, model: newModel(s, sets), record: s.Record, policy: s.Policy, course: course{current: -1, last: -1, recorded: -1},
		patience: waitsLong + 2*max(s.Desired.Operations.StableFor, s.Policy.StableFor, s.Desired.Operations.MasterStableFor, s.Policy.MasterStableFor),
	}
	r.course.model = r.model
	r.course.blind = s.Outdated || len(s.Record.Suspended) > 0
	r.course.empty = hasNoShards(&s.Observed.Database)
	if s.Observed.Storage.Unread != "" && lifecycle.NeedsStorage(&s.Desired, &s.Observed) {
		r.course.unknown("whether the storage classes of the new claims are there: " + s.Observed.Storage.Unread)
	}
	if why := s.Observed.Placement.Unread; why != "" {
		r.course.unknown("whether a Kubernetes node takes the pods that are restarted: " + why)
	}
	if s.Observed.Resize.Unread != "" && compute.NeedsResize(&s.Desired, &s.Record) {
		r.course.unknown(s.Observed.Resize.Unread)
	}
	// Each look at something in progress would only see that time has passed.
	r.policy.Poll = time.Hour
	return r, nil
}

// toTheEnd reports whether the cluster is as desired in the end.
func (r *run) toTheEnd() bool {
	turns := passesAtLeast
	for _, set := range r.start.Desired.Sets {
		turns += passesEachPod * set.Replicas
	}
	for _, set := range r.record.Sets {
		turns += passesEachPod * set.Replicas
	}
	for range turns {
		done, err := r.pass()
		if err != nil {
			r.course.unknown(fmt.Sprintf("the plan ends here: %v", err))
			return false
		}
		if done || r.record.Stage == model.StageRemoved {
			return true
		}
		switch {
		case !r.passingEnded && r.idle >= passesSoon:
			if r.passingEnded = true; r.model.endPassing(leftAsItIs(&r.record)) {
				r.idle = 0
			}
		case r.idle >= passesSoon && r.supply():
			r.idle = 0
		case r.idle < r.patience:
		case !r.failingRecovered && r.model.recoverFailing(leftAsItIs(&r.record)):
			r.failingRecovered, r.idle = true, 0
		default:
			return false
		}
	}
	r.course.unknown(fmt.Sprintf("the plan does not end: after %d decisions it is %s, and waits for: %s", turns, r.at(), words(r.decision.Waits)))
	return false
}

// run is a forward run under way.
type run struct {
	start    Start
	model    *world
	record   model.Record
	policy   model.Policy
	decision model.Decision
	course   course
	// idle is for how long nothing has changed, patience how long that may be.
	idle, patience time.Duration
	// passingEnded: the basis has passed; failingRecovered: its failing pods run.
	passingEnded, failingRecovered bool
}

// pass is one pass, as the daemon makes it: what was written is seen before an
// action runs.
func (r *run) pass() (done bool, err error) {
	m, desired := r.model, r.start.Desired
	m.happen()
	if !desired.Removed {
		if desired.Changes, err = r.start.Templates.Changes(r.record.Saved); err != nil {
			return false, err
		}
	}
	observed := m.observe(&desired, &r.record)
	before := r.record
	d := ops.Decide(desired, observed, before, r.policy, m.now)
	next := d.Record
	r.course.pass(&desired, &observed, &before, &next, &d)
	wrote, acted := false, false
	if d.Apply && !desired.Removed {
		if next.Saved, err = r.start.Templates.Materialise(before.Saved, d.Effective); err != nil {
			return false, err
		}
		sets, err := r.start.Templates.Sets(next.Saved)
		if err != nil {
			return false, err
		}
		var changed []written
		changed, wrote = m.apply(d.Effective, sets)
		for i := range changed {
			r.course.step(changed[i].step(), &before, &next)
		}
		if !wrote {
			m.applied = model.Applied{Revision: desired.Revision, Effective: d.Effective}
		}
	}
	saved := d.Save || !maps.Equal(next.Saved, before.Saved)
	if !wrote {
		for _, action := range d.Actions() {
			r.course.ask(&action)
			r.course.step(m.stepOf(&action, &next), &before, &next)
			r.course.restarted(action, &observed)
			acted = true
			next = ops.RecordResult(next, action, m.act(action), m.now)
		}
	}
	r.record, r.decision = next, d
	if d.Verdict == model.Done && !saved && !wrote && !acted {
		return true, nil
	}
	step := time.Second
	if saved || wrote || acted {
		r.idle = 0
	} else {
		// A wait whose end is known is looked at when it ends.
		step = min(max(r.idle, time.Second), time.Minute)
		if d.LookAgain > time.Second {
			step = min(step, d.LookAgain)
		}
		r.idle += step
	}
	m.now = m.now.Add(step)
	return false, nil
}

func (r *run) at() string {
	if op := r.record.Operation; op != nil {
		return strings.TrimSpace(fmt.Sprintf("in a %s, step %q", op.Kind, op.Step))
	}
	return "between two operations"
}

func words(reasons []model.Reason) string {
	var all []string
	for _, reason := range reasons {
		all = append(all, reason.Name+": "+reason.Message)
	}
	if len(all) == 0 {
		return "nothing that is known"
	}
	return strings.Join(all, "; ")
}

// supply has somebody make the Secrets that are waited for, and says that: what
// follows is worth reading before. It says whether there was any.
func (r *run) supply() bool {
	missing := slices.DeleteFunc(slices.Clone(r.decision.Waits), func(w model.Reason) bool { return !suppliable(w.Name) })
	if len(missing) == 0 || !r.model.supply() {
		return false
	}
	for _, wait := range missing {
		r.course.wait(wait)
	}
	return true
}

// end says what is left where it is not done.
func (r *run) end(done bool) Course {
	c := &r.course
	c.out.Kept, c.out.Effective = !done && !r.decision.Apply, r.decision.Effective
	for _, wait := range r.decision.Waits {
		if wait.Name == gates.AdoptedTemplateRule.Name {
			c.wait(wait) // somebody has to ask for what is left
		}
	}
	if !done && len(r.decision.Refusals) == 0 {
		// Nothing that is decided or that passes by itself brings these about.
		for _, wait := range r.decision.Waits {
			if !informs(wait.Name) {
				c.wait(wait)
			}
		}
		if op := r.record.Operation; op != nil {
			c.unknown(fmt.Sprintf("what follows is not known: the plan stands %s, and waits for: %s", r.at(), words(r.decision.Waits)))
		}
	}
	if r.stands() {
		c.drop()
	}
	return c.end(r.start, r.record, r.model.sets, done)
}

// stands reports whether the operation of the basis goes no step further until somebody acts.
func (r *run) stands() bool {
	was, op := r.start.Record.Operation, r.record.Operation
	if was == nil || op == nil || was.Kind != op.Kind || !was.Started.Equal(op.Started) {
		return false
	}
	return !r.decision.Apply || slices.ContainsFunc(r.decision.Refusals, func(refused model.Reason) bool { return !aside(refused.Name) })
}

// informs reports whether a gate informs only. A plan leaves those out, except where a push
// may be the answer.
func informs(name string) bool {
	byAPush := []string{gates.ObjectKeptRule.Name, gates.SystemDeniedRule.Name, gates.PasswordOddRule.Name, gates.ExcludedByOthersRule.Name}
	return gates.Informs(name) && !slices.Contains(byAPush, name)
}
