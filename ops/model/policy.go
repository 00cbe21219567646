package model

import (
	"time"
)

// Defaults of Policy and spec.operations.
const (
	// DefaultBootstrapTimeout counts over all steps of a bootstrap, as
	// crate-operator's does.
	DefaultBootstrapTimeout = 1800 * time.Second
	// DefaultScaleTimeout counts over all steps of a grow.
	DefaultScaleTimeout = 3600 * time.Second
	// DefaultRestartTimeout counts over all steps of a restart.
	DefaultRestartTimeout = 3600 * time.Second
	// DefaultPodTimeout counts from a pod's deletion until its node has joined.
	DefaultPodTimeout = 900 * time.Second
	// DefaultStableFor counts after each pod, and begins again with the daemon.
	DefaultStableFor = 60 * time.Second
	// DefaultUnchangedFor counts after each pod but the first on another template. A node
	// that dies, a shard that fails and an election change the cluster state within a second;
	// what a node does not answer for that long is seen by the readings.
	DefaultUnchangedFor = 5 * time.Second
	// DefaultTrialFor counts after the first pod of a StatefulSet on another template: a heap
	// that is too small and a probe that fails show later than a process that cannot start.
	DefaultTrialFor = 30 * time.Second
	// DefaultMasterStableFor counts once an operation, and begins again with the
	// daemon.
	DefaultMasterStableFor = 120 * time.Second
	// DefaultOfflineAfter is for how long a file system may not follow its volume before its
	// driver counts as one that works offline. A kubelet looks at its pods at least every 90 s
	// (syncFrequency, with its jitter); this is three such looks. It costs that much once a growth and class.
	DefaultOfflineAfter = 5 * time.Minute
	// DefaultReadingAge is of one reading.
	DefaultReadingAge = 120 * time.Second
	// DefaultPoll is the most between two passes of something in progress.
	DefaultPoll = 2 * time.Second
)

// Policy is the daemon's configuration as far as decisions need it. A zero
// value means the default, which is written beside it; spec.operations of a
// cluster wins.
type Policy struct {
	// BootstrapTimeout bounds a bootstrap, over all its steps; default 1800 s.
	BootstrapTimeout time.Duration
	// ScaleTimeout bounds a grow, over all its steps; default 3600 s.
	ScaleTimeout time.Duration
	// RestartTimeout bounds a rolling restart, over all its steps; default 3600 s.
	RestartTimeout time.Duration
	// BudgetTimeout is how long the budget of the data nodes may stand at 0 before that is
	// reported; default 1800 s.
	BudgetTimeout time.Duration
	// PodTimeout bounds how long the first pod on a new template may take to
	// join, and is never longer than RestartTimeout; default 900 s.
	PodTimeout time.Duration
	// StableFor is how long the cluster has to be green with the same nodes after a
	// pod is back; default 60 s, or UnchangedFor where that is seen sooner.
	StableFor time.Duration
	// MasterStableFor is how long the master has to be the same, once a restart;
	// default 120 s, or TrialFor without a change of the cluster state.
	MasterStableFor time.Duration
	// UnchangedFor is for how long the cluster state has to be the same on every node, and
	// green, after a pod is back; default 5 s. Who sets a stableFor, here or in a
	// definition, is held to that alone, unless this is set too.
	UnchangedFor time.Duration
	// TrialFor is the same after the first pod of a StatefulSet on another template, whose
	// process may still fail; default 30 s.
	TrialFor time.Duration
	// MaxDisruptedClusters is how many clusters may be disrupted at the same time;
	// default 1.
	MaxDisruptedClusters int
	// MaxRemoved is how many clusters of a source whose definitions are gone may be
	// deleted at the same time; default 3.
	MaxRemoved int
	// RemovalDelay is how long a definition has to be gone before its cluster is
	// deleted, where it consented to that; default 300 s.
	RemovalDelay time.Duration
	// OfflineAfter is for how long a file system may not follow its volume before its driver
	// counts as one that works offline; default 300 s.
	OfflineAfter time.Duration
	// Adoption of objects that others made: AdoptNever, AdoptUnowned (the default)
	// or AdoptAlways.
	Adoption string
	// ReadingAge is how old a reading of the database may be; default 120 s.
	ReadingAge time.Duration
	// Poll is how soon to look again, at the latest, while something is in progress;
	// default 2 s. After a step has begun it is looked at sooner.
	Poll time.Duration
}

// StableWait is for how long a cluster has to be stable after a pod is back: by the clock, or
// for a shorter time without a change of the cluster state. Trial is that time for the first
// pod of a StatefulSet on another template. Both are 0 where the clock's time is set: asked is
// that of the definition, 0 for none.
func (p *Policy) StableWait(asked time.Duration) (clock, unchanged, trial time.Duration) {
	if asked == 0 && (p.StableFor == 0 || p.UnchangedFor > 0) {
		unchanged, trial = First(p.UnchangedFor, DefaultUnchangedFor), First(p.TrialFor, DefaultTrialFor)
	}
	return First(asked, p.StableFor, DefaultStableFor), unchanged, trial
}

// First is the first duration above 0; 0 where none is.
func First(durations ...time.Duration) time.Duration {
	for _, d := range durations {
		if d > 0 {
			return d
		}
	}
	return 0
}
