package model

import (
	"slices"
	"time"
)

// RestoreStep is how far a restore has come.
type RestoreStep string

// The steps of a restore, in order.
const (
	// RestoreNew: nothing was done.
	RestoreNew RestoreStep = ""
	// RestoreChoose: the repository can be read, and the snapshot is to be chosen.
	RestoreChoose RestoreStep = "choose"
	// RestoreUsers: users, roles and privileges are to come.
	RestoreUsers RestoreStep = "users"
	// RestoreTables: the tables are to come.
	RestoreTables RestoreStep = "tables"
	// RestoreRunning: CrateDB fetches the tables.
	RestoreRunning RestoreStep = "running"
	// RestoreDrop: tables that could not be fetched are to be dropped.
	RestoreDrop RestoreStep = "drop"
	// RestoreEnd: the repository is to be taken off again.
	RestoreEnd RestoreStep = "end"
	// RestoreDone: all is there, or it was never needed.
	RestoreDone RestoreStep = "done"
	// RestoreFailed: a person has to look.
	RestoreFailed RestoreStep = "failed"
)

// RecordedRestore is what is remembered of the restore of a cluster that is being made. It stays: a
// restore that has ended never runs again.
type RecordedRestore struct {
	// Of is spec.backups.restore, in words, and the place: another one is another restore.
	Of   string      `json:"of"`
	Step RestoreStep `json:"step,omitempty"`
	// Repository is CrateDB's name of it, read-only.
	Repository string `json:"repository,omitempty"`
	// Snapshot is the one that was chosen, Taken when it was finished.
	Snapshot string    `json:"snapshot,omitempty"`
	Taken    time.Time `json:"taken,omitzero"`
	// Tables are all that are to be there in the end; Rest those that this attempt asks for, nil for all.
	Tables []string `json:"tables,omitempty"`
	Rest   []string `json:"rest,omitempty"`
	// Attempts counts the RESTORE SNAPSHOT of tables.
	Attempts int `json:"attempts,omitempty"`
	// Began is when the restore began, Asked when CrateDB answered the last RESTORE SNAPSHOT, Suspect since when
	// tables seem to be missing though nothing is being fetched; zero for not.
	Began   time.Time `json:"began,omitzero"`
	Asked   time.Time `json:"asked,omitzero"`
	Suspect time.Time `json:"suspect,omitzero"`
	// Failed is why, in words; "" where it did not fail.
	Failed string `json:"failed,omitempty"`
}

// Ended reports whether nothing of the restore is left to do. A nil one has not begun.
func (r *RecordedRestore) Ended() bool { return r != nil && r.Step == RestoreDone }

func (r *RecordedRestore) equal(o *RecordedRestore) bool {
	if r == nil || o == nil {
		return r == o
	}
	switch {
	case r.Of != o.Of, r.Step != o.Step, r.Repository != o.Repository, r.Snapshot != o.Snapshot, r.Attempts != o.Attempts, r.Failed != o.Failed:
	case !r.Taken.Equal(o.Taken), !r.Began.Equal(o.Began), !r.Asked.Equal(o.Asked), !r.Suspect.Equal(o.Suspect):
	case !slices.Equal(r.Tables, o.Tables), !slices.Equal(r.Rest, o.Rest):
	default:
		return true
	}
	return false
}

// RestoreReading is what the database says of a restore. It means nothing without Known.
type RestoreReading struct {
	Known bool
	// Running are the repositories that CrateDB fetches from (sys.snapshot_restore). Any node may have answered,
	// one that is behind as well.
	Running []string
	// Tables are those of users, and Missing those of them with a shard that has no primary.
	Tables, Missing []string
	// Bytes are to be fetched, Fetched are there already; of the shards that are being fetched now.
	Bytes, Fetched int64
}
