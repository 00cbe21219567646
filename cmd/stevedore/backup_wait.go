package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// askedTick is the time between two looks, and askedStuckFor for how long nothing may go on by itself
// before that is believed: longer than a daemon takes to look at a cluster again.
const (
	askedTick     = 500 * time.Millisecond
	askedStuckFor = 20 * time.Second
)

// askedSnapshot is one that a command asks for.
type askedSnapshot struct {
	client  kubernetes.Interface
	store   *record.Store
	cluster record.Cluster
	// command is the value of the annotation, and snapshot the name that it gets.
	command, snapshot string
	// fetch: tables of it are to be restored, and what says which.
	fetch          bool
	what           string
	tick, stuckFor time.Duration
	say            func(format string, of ...any)
}

// snapshotVerdict is what was found of it. The zero value: it goes on.
type snapshotVerdict struct {
	taken *model.TakenSnapshot
	// done says what came of a restore; "" while nothing has.
	done string
	// failed is how it ended without success; "" where it did not.
	failed string
	// stuck: nothing comes of it until somebody acts.
	stuck bool
	why   string
}

// until follows it until it was taken, or restored.
func (a askedSnapshot) until(ctx context.Context) (snapshotVerdict, error) {
	var stuckSince time.Time
	said := ""
	tick := time.NewTicker(a.tick)
	defer tick.Stop()
	for {
		v, err := a.look(ctx)
		switch {
		case err != nil && definite(err):
			return snapshotVerdict{}, err
		case err != nil:
			v = snapshotVerdict{why: err.Error() + "; trying again"} // the API server may be back in a moment
		case v.taken != nil || v.done != "":
			return v, nil
		case v.failed != "":
			return snapshotVerdict{}, fmt.Errorf("cluster %s: %s", a.cluster, v.failed)
		}
		if said != v.why && ctx.Err() == nil {
			said = v.why
			a.say("%s  %s: %s", time.Now().Format(time.TimeOnly), a.cluster, v.why)
		}
		switch {
		case !v.stuck:
			stuckSince = time.Time{}
		case stuckSince.IsZero():
			stuckSince = time.Now()
		case time.Since(stuckSince) >= a.stuckFor:
			a.say("%s of cluster %s is not done, and nothing changes until somebody acts: see above what it waits for", a.words(), a.cluster)
			return snapshotVerdict{}, exitCode(exitStuck)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			a.say("not in time: %s of cluster %s is not done, and it stays asked for", a.words(), a.cluster)
			return snapshotVerdict{}, exitCode(exitLate)
		}
	}
}

// words say what was asked for.
func (a askedSnapshot) words() string {
	if a.fetch {
		return a.what
	}
	return "snapshot " + a.snapshot
}

func (a askedSnapshot) look(ctx context.Context) (snapshotVerdict, error) {
	var rec model.Record
	entry, err := a.store.Load(ctx, a.cluster, record.Operation, &rec)
	if err != nil {
		return snapshotVerdict{}, err
	}
	if !entry.Exists() {
		return snapshotVerdict{}, fmt.Errorf("%w: the record of cluster %s is gone", errNoRecord, a.cluster)
	}
	v := a.judge(rec, entry.Commands())
	if v.taken != nil || v.failed != "" || v.done != "" {
		return v, nil
	}
	who, err := attendance.NewLooker(a.client.CoordinationV1(), time.Now()).Of(ctx, attendedBy(a.cluster, rec))
	if err == nil && who.Nobody {
		return snapshotVerdict{why: "NOBODY LOOKS AFTER IT: " + whyNobody(who)}, nil
	}
	return v, nil // who looks may not be told to everybody
}

// judge says what became of it by the record.
func (a askedSnapshot) judge(rec model.Record, commands []record.Command) snapshotVerdict {
	b := rec.Backups
	if b == nil {
		return snapshotVerdict{stuck: true, why: "the definition has no spec.backups any more"}
	}
	if a.fetch {
		return a.judgeFetch(rec, commands)
	}
	if i := slices.IndexFunc(b.Taken, func(k model.TakenSnapshot) bool { return k.Name == a.snapshot }); i >= 0 && b.Taken[i].State == model.SnapshotSuccess {
		return snapshotVerdict{taken: &b.Taken[i]}
	} else if i >= 0 && b.FailedSnapshot != a.snapshot {
		return snapshotVerdict{failed: fmt.Sprintf("snapshot %s ended as %s", a.snapshot, b.Taken[i].State)}
	}
	if b.FailedSnapshot == a.snapshot {
		failed := b.Failed
		if failed == "" {
			failed = "snapshot " + a.snapshot + " has failed, and another one has succeeded since"
		}
		return snapshotVerdict{failed: failed}
	}
	if s := b.Running; s != nil && s.Name == a.snapshot {
		if s.Asked.IsZero() {
			return snapshotVerdict{why: "CrateDB is asked for snapshot " + s.Name}
		}
		return snapshotVerdict{why: "snapshot " + s.Name + " is being taken since " + s.Began.UTC().Format(time.RFC3339)}
	}
	standing := ""
	for _, c := range commands {
		if c.Key == names.BackupAtAnnotation {
			standing = c.Value
		}
	}
	switch {
	case standing == "" && b.Command == a.command:
		return snapshotVerdict{stuck: true, why: "the daemon has ended the command, and there is no such snapshot: its schedule is gone, or somebody has dropped it"}
	case standing == "":
		return snapshotVerdict{stuck: true, why: "the command stands no more: somebody has taken it back"}
	case standing != a.command:
		return snapshotVerdict{stuck: true, why: "another command for a snapshot has taken the place of this one: " + standing}
	}
	return a.waiting(rec, commands)
}

// needsPerson is the reason that a snapshot waits for where a person has to do something about it; nil for none.
func needsPerson(rec model.Record) *model.ShownReason {
	persons := []gates.Rule{gates.ReleasedRule, gates.PausedRule, gates.OrphanedRule, gates.RepositorySecretRule, gates.RepositoryNotOursRule}
	reason := holdsSnapshot(rec)
	if reason == nil || !slices.ContainsFunc(persons, func(r gates.Rule) bool { return r.Name == reason.Name }) {
		return nil
	}
	return reason
}

// waiting says what a command that stands waits for.
func (a askedSnapshot) waiting(rec model.Record, commands []record.Command) snapshotVerdict {
	handsOff, reason := leftAlone(rec, commands), holdsSnapshot(rec)
	v := snapshotVerdict{why: beforeSnapshot(a.cluster, rec, handsOff)}
	switch {
	case handsOff != "" || rec.IsSuspended():
		v.stuck = true
	case reason != nil:
		v.stuck = needsPerson(rec) != nil
	case rec.Command.Commands.BackupAt != a.command:
		v.why = "the daemon has not seen yet the command that somebody gave"
	}
	return v
}
