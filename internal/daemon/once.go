package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Outcomes of a cluster, for --once.
const (
	outcomeDone    = "done"
	outcomeRefused = "refused"
	// outcomeWaiting is of what waits for another source.
	outcomeWaiting = "waiting"
)

// noteSettledVerdict says in the log what became of a pass, once a change, and ends --once when no cluster can go
// on by itself.
func (w *worker) noteSettledVerdict(decision model.Decision, problems []string, busy bool) {
	line := decision.Verdict.String()
	reasons := append(append([]model.Reason(nil), decision.Waits...), decision.Refusals...)
	for _, reason := range reasons {
		line += " " + reason.Name
	}
	// A refusal that is a report was logged where it was made; it is none when it
	// was reported before a restart, or when the cluster is another source's.
	reported := slices.ContainsFunc(decision.Reports, func(r model.Report) bool { return len(r.Names) > 0 })
	if line != w.saidVerdict && (!busy || reported) {
		w.saidVerdict = line
		if decision.Verdict == model.Done {
			w.log.Info("the cluster is as its definition says")
		}
		for _, reason := range decision.Refusals {
			if !reported {
				w.log.Warn("refused: "+reason.Message, "refusal", reason.Name)
			}
		}
		said := w.saidWaits
		w.saidWaits = nil
		for _, reason := range decision.Waits {
			words := "waiting: "
			if gates.Informs(reason.Name) {
				words = ""
			}
			w.saidWaits = append(w.saidWaits, words+reason.Message)
			if !slices.Contains(said, words+reason.Message) { // else another one has come or gone
				w.log.Info(words+reason.Message, "gate", reason.Name)
			}
		}
	}
	outcome := ""
	switch {
	case busy:
	case slices.ContainsFunc(decision.Waits, func(r model.Reason) bool { return r.Name == dependsOn }):
		outcome = outcomeWaiting
	case decision.Verdict == model.Refuse, len(problems) > 0:
		outcome = outcomeRefused
	case decision.Verdict == model.Done:
		outcome = outcomeDone
	}
	w.daemon.noteOutcome(w.key, outcome)
}

// noteUndone keeps why a cluster is not as it is desired, where its record does not have the reason.
func (d *daemon) noteUndone(key record.Cluster, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.undone == nil {
		d.undone = map[record.Cluster]string{}
	}
	d.undone[key] = why
}

func (d *daemon) noteOutcome(key record.Cluster, outcome string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.outcome[key] = outcome
	if outcome == outcomeDone {
		d.noteSettled()
	}
	d.endOnceLocked()
}

// endOnceIfOver is for a source in which there is no cluster at all.
func (d *daemon) endOnceIfOver() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endOnceLocked()
}

// endOnceLocked ends a run of --once when every cluster has an outcome.
func (d *daemon) endOnceLocked() {
	if !d.options.Once || !d.lookedElsewhere {
		return
	}
	var refused, waiting []string
	for key, outcome := range d.outcome {
		switch outcome {
		case "":
			return
		case outcomeWaiting:
			waiting = append(waiting, key.String())
		case outcomeRefused:
			refused = append(refused, key.String())
		}
	}
	problems := d.fleet.problems()
	if len(waiting) > 0 && len(refused) == 0 && len(problems) == 0 {
		return // the source before is done, and they go on in a moment
	}
	refused = append(refused, waiting...)
	switch {
	case len(refused) > 0:
		d.finish(d.notDesired(refused))
	case len(problems) > 0:
		d.finish(errors.New("the source has problems that belong to no cluster: " + problems[0].String()))
	case len(d.outcome) == 0:
		d.finish(errors.New("there is no CrateDB definition in " + strings.Join(d.identities(), " and in ") + ", and no cluster that belongs to it: nothing was done"))
	default:
		d.finish(errDone)
	}
}

// notDesired names the clusters that are not as they are desired, and why. `stevedore status` shows a record, and of
// a cluster that belongs to somebody else the record is somebody else's.
func (d *daemon) notDesired(clusters []string) error {
	slices.Sort(clusters)
	var reasons []string
	recorded := len(clusters)
	for key, why := range d.undone {
		if slices.Contains(clusters, key.String()) {
			reasons = append(reasons, key.String()+": "+why)
			recorded--
		}
	}
	slices.Sort(reasons)
	if recorded > 0 {
		reasons = append(reasons, "`stevedore status` says why")
	}
	return fmt.Errorf("%d of %d clusters are not as they are desired: %s; %s", len(clusters), len(d.outcome), strings.Join(clusters, ", "), strings.Join(reasons, "; "))
}

// identities are those of the sources.
func (d *daemon) identities() []string {
	var all []string
	for _, source := range d.options.Sources {
		all = append(all, source.Identity())
	}
	return all
}

// finish asks for the end of --once; the first word counts.
func (d *daemon) finish(cause error) {
	select {
	case d.onceOver <- cause:
	default:
	}
}

// endedEarly is why a run of --once that was told to stop is no success.
func endedEarly(lease LeaseOptions, holder string) error {
	lease = lease.withDefaults()
	name := lease.Namespace + "/" + lease.Name
	switch holder {
	case lease.Identity:
		return errors.New("told to stop before each cluster was as its definition says: `stevedore status` says how they are, and another run goes on from there")
	case "":
		return fmt.Errorf("told to stop before it had Lease %s: nothing was done", name)
	}
	return fmt.Errorf("told to stop while it waited for Lease %s, which %s holds: nothing was done; that daemon acts, and this one acts when that one stops", name, holder)
}

// reportsPatience is how long --once waits for a receiver before it leaves what
// is queued to the next run.
const reportsPatience = 30 * time.Second

// endOnce lets the receiver have the last reports, and then ends the term.
func (d *daemon) endOnce(ctx context.Context) {
	select {
	case <-ctx.Done():
	case cause := <-d.onceOver:
		waiting, cancel := context.WithTimeout(ctx, reportsPatience)
		defer cancel()
		for _, settled := range []func(context.Context) error{d.targets.Settled, d.statuses.settled} {
			if err := settled(waiting); err != nil && ctx.Err() == nil {
				d.options.Log.Warn("reports wait for their receiver, the next run delivers them", "error", err)
			}
		}
		d.ended(cause)
	}
}
