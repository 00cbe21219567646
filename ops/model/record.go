package model

import (
	"time"
)

// RecordVersion is the schema version of Record in the operation ConfigMap.
const RecordVersion = 1

// Record is what has to be remembered of one cluster; it is stored as JSON in
// the operation ConfigMap. It never holds a secret nor a hash of one. What it
// says may be lost at any moment: Decide then takes it from what is live.
type Record struct {
	SchemaVersion int    `json:"schemaVersion"`
	Owner         string `json:"owner,omitempty"`
	// ClusterName is spec.cluster.name, by which a rename is recognised.
	ClusterName string `json:"clusterName,omitempty"`
	// ClusterID is sys.cluster.id, recorded at the end of bootstrap; from then on
	// initial_master_nodes is in no template.
	ClusterID string `json:"clusterId,omitempty"`
	Pins      Pins   `json:"pins"`
	// Revision and Commit are the last render that was taken up.
	Revision string `json:"revision,omitempty"`
	Commit   string `json:"commit,omitempty"`
	Stage    Stage  `json:"stage,omitempty"`
	// Seen is a render that is known and not taken up, because the cluster is
	// paused or released: a command given now is about this one.
	Seen string `json:"seen,omitempty"`
	// Operation in progress; nil when there is none.
	Operation *Operation `json:"operation,omitempty"`
	Bootstrap Bootstrap  `json:"bootstrap"`
	// HighestVersion of CrateDB that any node has started.
	HighestVersion string `json:"highestVersion,omitempty"`
	// Version, TLS and License as they are effective, not as they are desired.
	Version string     `json:"version,omitempty"`
	TLS     bool       `json:"tls,omitempty"`
	License *SecretKey `json:"license,omitempty"`
	// LicenseSecret is the version of the Secret whose licence was set, and
	// LicenseChange one that is being set.
	LicenseSecret SecretVersion `json:"licenseSecret"`
	LicenseChange SecretChange  `json:"licenseChange"`
	// AllowedCIDRs are those of the last verified revision, joined by commas.
	AllowedCIDRs string `json:"allowedCIDRs,omitempty"`
	// Sets are the effective StatefulSets, in the order of Desired.Sets.
	Sets []RecordedSet `json:"sets,omitempty"`
	// Suspended are the sets as they ran before the cluster was suspended; empty
	// unless it is, is about to be, or is being resumed.
	Suspended []RecordedSet `json:"suspended,omitempty"`
	// References are the Secrets that nodes read when they start.
	References []RecordedReference `json:"references,omitempty"`
	// Budgets are the effective disruption budgets.
	Budgets []Budget `json:"budgets,omitempty"`
	// Budget is what is remembered of the data nodes' budget.
	Budget BudgetState `json:"budget"`
	// Saved are the last effective StatefulSet objects, with what is live until those are,
	// and what a restart goes back to; Decide never reads them.
	Saved Saved `json:"saved,omitempty"`
	// Lock of the allocation in the database; nil when there is none. It is recorded before it is set and until it
	// was given back.
	Lock *AllocationLock `json:"hold,omitempty"`
	// Settings are the cluster settings that we have set, or are about to, by name.
	Settings []RecordedSetting `json:"settings,omitempty"`
	// OthersSettings are the values that somebody has set of those that we have not: the
	// nodes that show so may leave.
	OthersSettings SettingList `json:"othersSettings,omitempty"`
	// UnexplainedLock is true once an allocation lock that nothing explains was reported.
	UnexplainedLock bool `json:"unexplained,omitempty"`
	// Exclusions are the nodes that we keep shards off; nil when there are none. They
	// are recorded before they are set and until they were given back.
	Exclusions *Exclusions `json:"exclusions,omitempty"`
	// UnexplainedExclusion is the list that nothing explains, once it was reported.
	UnexplainedExclusion string `json:"unexplainedExclusion,omitempty"`
	// OthersFilters is what was last reported of filters of the cluster that others have
	// set; "" for nothing.
	OthersFilters string `json:"othersFilters,omitempty"`
	// Denied is what was last reported of what `system` is denied; "" for nothing.
	Denied string `json:"denied,omitempty"`
	// Slow is what the database does not answer in time; nil for nothing.
	Slow *SlowPart `json:"slow,omitempty"`
	// Ends are those of CrateDB's processes that were reported within the last ten minutes.
	Ends []ReportedEnd `json:"ends,omitempty"`
	// OnTrial are the sets on trial: they got a new template out of order, and no pod of them has joined on it.
	OnTrial []string `json:"unproven,omitempty"`
	// Verified are the templates that a pod of each set last joined on.
	Verified []VerifiedTemplate `json:"proven,omitempty"`
	// Adopted are the sets that were adopted and of which a pod may still have the template that
	// they were adopted with.
	Adopted []AdoptedSet `json:"adopted,omitempty"`
	// Growth of volumes that is under way; nil for none.
	Growth *VolumeGrowth `json:"growth,omitempty"`
	// Resizing is there while pods are to get other CPU and memory in place.
	Resizing *Resizing `json:"resizing,omitempty"`
	// RecoverDue is true while a pod waits for more data nodes after a full outage
	// than there are.
	RecoverDue bool `json:"recoverDue,omitempty"`
	// LockHidden is when an allocation lock was last found to be hidden by a transient value; it is tried again
	// later.
	LockHidden time.Time `json:"holdHidden,omitzero"`
	// RestartedAt and RestartedBy are the annotation and the command that were last
	// carried out.
	RestartedAt string `json:"restartedAt,omitempty"`
	RestartedBy string `json:"restartedBy,omitempty"`
	// Computes are what the nodes of each group were last brought to; nil when that is not
	// known. Releases before wrote Compute, of the first data group.
	Computes []GroupCompute `json:"computes,omitempty"`
	Compute  *Compute       `json:"compute,omitempty"`
	// Seq counts the transitions that were reported; it makes event ids.
	Seq int64 `json:"seq,omitempty"`
	// Last is the outcome that was reported last.
	Last Outcome `json:"last"`
	// Command is the last command that was seen, and the revision it wins until.
	Command SeenCommand `json:"command"`
	// DeleteConsent is the revision whose applied definition consented to the deletion of the cluster; "" for none.
	DeleteConsent string `json:"deleteConsent,omitempty"`
	// VolumesConsent is true once a definition was applied that consents to the deletion of
	// volumes, which are then replaced.
	VolumesConsent bool `json:"volumesConsent,omitempty"`
	// Replacing is there while nodes are to come onto other volumes; nil for none.
	Replacing *VolumeReplacement `json:"replacing,omitempty"`
	// Removing is there while nodes are to do with fewer disks; nil for none.
	Removing *DiskRemoval `json:"removing,omitempty"`
	// Backups is nil where the definition has none.
	Backups *Backups `json:"backups,omitempty"`
	// Restore is what the cluster was made from; nil for nothing.
	Restore *RecordedRestore `json:"restore,omitempty"`
	// DeletedClaims are the claims whose deletion while a pod uses them was reported.
	DeletedClaims string `json:"deletedClaims,omitempty"`
	// Removal of the cluster by that consent; nil while its definition is there.
	Removal *Removal `json:"removal,omitempty"`
	// Shown is what the daemon last said of the cluster; Decide passes it on and
	// never reads it.
	Shown Shown `json:"shown"`
}

// Shown is a decision in words, for `stevedore status`.
type Shown struct {
	Verdict string `json:"verdict,omitempty"`
	// Since is when the state that status shows last changed.
	Since time.Time `json:"since"`
	// At is when these words were written; numbers in them may have moved since.
	At      time.Time     `json:"at"`
	Reasons []ShownReason `json:"reasons,omitempty"`
	// Progress of the operation that is under way.
	Progress *Progress `json:"progress,omitempty"`
	// Problems are errors in the definition, as file:line:column: message, and Commit is the first one that has them.
	Problems []string `json:"problems,omitempty"`
	Commit   string   `json:"commit,omitempty"`
	// RefusalReported is the revision of which it was reported that Kubernetes refuses its
	// objects; "" where it does not.
	RefusalReported string `json:"told,omitempty"`
	// Source is whose words these are while nothing was made and so nobody owns the
	// cluster; "" otherwise.
	Source string `json:"source,omitempty"`
	// Lease is that of the daemon whose words these are, as NAMESPACE/NAME; "" for the
	// default one.
	Lease string `json:"lease,omitempty"`
	// Kept is why the cluster was not forgotten when that was last asked for.
	Kept string `json:"kept,omitempty"`
}

// ShownReason is a wait or a refusal.
type ShownReason struct {
	// Kind is "wait", "information" (nothing waits for it), "refusal" or "error".
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// Saved are packed StatefulSet objects by name (Pack and Unpack).
type Saved map[string]string

// Stage is how far a revision has come.
type Stage string

// The stages of a revision, in order, then those of a removal.
const (
	StageSeen           Stage = "seen"
	StageRendered       Stage = "rendered"
	StageApplied        Stage = "applied"
	StageVerified       Stage = "verified"
	StageRemovalPending Stage = "removal-pending"
	// StageRemoved: all that is removed of a cluster is gone.
	StageRemoved Stage = "removed"
)

// OperationKind is an operation over several passes.
type OperationKind string

// The operations.
const (
	// OperationBootstrap makes a new cluster usable.
	OperationBootstrap OperationKind = "bootstrap"
	// OperationGrow adds nodes.
	OperationGrow OperationKind = "grow"
	// OperationUpdate is a change in place.
	OperationUpdate OperationKind = "update"
	// OperationRestart is a rolling restart.
	OperationRestart OperationKind = "restart"
	// OperationUpgrade is a rolling restart onto another version.
	OperationUpgrade OperationKind = "upgrade"
	// OperationShrink drains nodes, then lets them go.
	OperationShrink OperationKind = "shrink"
	// OperationSuspend stops all nodes.
	OperationSuspend OperationKind = "suspend"
	// OperationResume starts them as they were.
	OperationResume OperationKind = "resume"
	// OperationExpand recreates StatefulSets around their pods, with larger claim
	// templates.
	OperationExpand OperationKind = "expand"
	// OperationReplace drains a node in place and deletes its volume claims. The restart that
	// follows brings it onto new volumes.
	OperationReplace OperationKind = "replace-volumes"
	// OperationRemoveDisks drains a node in place. The restart that follows brings it back with
	// fewer disks.
	OperationRemoveDisks OperationKind = "remove-disks"
)

// Steps of a grow.
const (
	StepReplicas    = "replicas"    // the new counts are applied
	StepAcknowledge = "acknowledge" // joined; node check 1 is acknowledged
)

// Steps of a restart, of one pod after the other.
const (
	StepNext    = "next-pod" // the gates before a pod goes
	StepLock    = "hold"     // the allocation lock is recorded, and is being set
	StepDown    = "pod-down" // the pod is to go, to come back and to join
	StepReturn  = "give-back"
	StepStable  = "stable"
	StepStopped = "stopped" // the first pod on a new template did not join
)

// Steps of an expand, of one StatefulSet after the other.
const (
	StepGuard    = "guard"    // the disruption budget is to let no pod go
	StepRecreate = "recreate" // the StatefulSet is to be deleted without its pods, and recreated
	StepAdopt    = "adopt"    // the new StatefulSet is to have the pods
)

// Restart is how far a rolling restart has come.
type Restart struct {
	// Set is the one that has the desired template.
	Set string `json:"set,omitempty"`
	// Remembered is the template that the set rolls back to when the desired one does not
	// run.
	Remembered string `json:"remembered,omitempty"`
	// Pod that is being restarted; PodUID is of the one that is to go, and Template
	// what it runs.
	Pod      string `json:"pod,omitempty"`
	PodUID   string `json:"podUID,omitempty"`
	Template string `json:"template,omitempty"`
	// Zone and Pods are what goes down together, by zone; Pod is one of them then.
	Zone string   `json:"zone,omitempty"`
	Pods []PodRef `json:"pods,omitempty"`
	// Since is when the step began.
	Since time.Time `json:"since"`
	// Before: pods made before are outdated, whatever they run; At and By are the
	// annotation and the command that asked for it.
	Before time.Time `json:"before,omitzero"`
	At     string    `json:"at,omitempty"`
	By     string    `json:"by,omitempty"`
	// Done are the UIDs of the pods that came back.
	Done []string `json:"done,omitempty"`
	// MasterStable is true once the master was stable for long enough.
	MasterStable bool `json:"masterStable,omitempty"`
	// Unseen is true while it is not known whether pods have gone that stood at the last look, and were to stay then.
	Unseen bool `json:"unseen,omitempty"`
	// Gone is true once Kubernetes has taken the deletion of the pod, whatever a watch still shows.
	Gone bool `json:"gone,omitempty"`
	// ForecastReported is true once it was reported what the absence of its pods does to tables.
	ForecastReported bool `json:"said,omitempty"`
	// Replaces is true where it began for a node that was drained to come onto other volumes:
	// that is reported, and the restart is not.
	Replaces bool `json:"replaces,omitempty"`
	// Removes is the UID of the pod that it began for, and that comes back with fewer disks; "" for
	// none. Narrow is true from when all is ready for that: the template is then to mount fewer.
	Removes string `json:"removes,omitempty"`
	Narrow  bool   `json:"narrow,omitempty"`
}

// PodRef is one pod, and no other one of its name.
type PodRef struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Upgrade is the versions and registries that a rolling upgrade goes from and to.
type Upgrade struct {
	OldVersion string `json:"oldVersion"`
	NewVersion string `json:"newVersion"`
	// The registries are what stands before the version in the image's name.
	OldRegistry string `json:"oldRegistry"`
	NewRegistry string `json:"newRegistry"`
}

// Steps of a shrink, of one StatefulSet after the other; StepNext and
// StepAcknowledge are the first and the last.
const (
	StepExclude = "exclude"      // the exclusions are recorded, and are being set
	StepDrain   = "drain"        // the nodes that leave are to become empty
	StepSmaller = "make-smaller" // the record has fewer replicas, the StatefulSet is to
	StepGone    = "nodes-gone"   // pods and nodes are to go
	StepInclude = "include"      // the exclusions are given back
	StepDelete  = "delete-set"   // the StatefulSet of a removed group goes

	StepClaims = "delete-claims" // of a node that stays: its volume claims are to be deleted
)

// Shrink is how far the drain of one StatefulSet's highest ordinals has come.
type Shrink struct {
	// Masters is true where dedicated masters leave, false for data groups.
	Masters bool `json:"masters,omitempty"`
	// Replaces is the pod whose node is drained and stays, to come onto other volumes; "" where
	// nodes leave.
	Replaces string `json:"replaces,omitempty"`
	// Set is the one that becomes smaller, from From to To replicas; "" between two.
	Set  string `json:"set,omitempty"`
	From int    `json:"from,omitempty"`
	To   int    `json:"to,omitempty"`
	// Before is how many replicas it has while it is made smaller: one node after
	// the other leaves where they are master-eligible.
	Before int `json:"before,omitempty"`
	// Leaving are the nodes that are excluded, by id and name.
	Leaving []LeavingNode `json:"leaving,omitempty"`
	// LeaveZone is true where nodes may leave with copies that are started
	// elsewhere too.
	LeaveZone bool `json:"leaveZone,omitempty"`
	// Since is when the step began.
	Since time.Time `json:"since"`
	// Shards and Bytes are what was on the leaving nodes at the first reading of the
	// drain; Moving is when that was.
	Shards int       `json:"shards,omitempty"`
	Bytes  int64     `json:"bytes,omitempty"`
	Moving time.Time `json:"moving"`
	// Drained is the reading that first found them empty; StillSince the one that first
	// found that nothing moves, zero while something does.
	Drained    time.Time `json:"drained"`
	StillSince time.Time `json:"still"`
	// Rerouted is when the allocation was last retried; SnapshotRuns is true while a
	// snapshot keeps shards where they are.
	Rerouted     time.Time `json:"rerouted"`
	SnapshotRuns bool      `json:"held,omitempty"`
	// Hidden is when an exclusion was last found to be hidden.
	Hidden time.Time `json:"hidden"`
	// MasterStable is true once the master was stable for long enough.
	MasterStable bool `json:"masterStable,omitempty"`
	// Evidence is who found each node empty before it left, of all sets of the operation.
	Evidence []NodeEvidence `json:"evidence,omitempty"`
	// Pinned are the tables whose own filters name only nodes that leave, of all sets of the
	// operation.
	Pinned []string `json:"pinned,omitempty"`
	// Behind are the tables with copies that were left on nodes by leave-zone, of all sets of the operation.
	Behind []string `json:"behind,omitempty"`
}

// Exclusions are what we wrote to keep shards off nodes that are to leave.
type Exclusions struct {
	// Set carries the annotation.
	Set string `json:"set"`
	// IDs are node ids, separated by commas, and Before what
	// cluster.routing.allocation.exclude._id effectively was.
	IDs    string `json:"ids"`
	Before string `json:"before"`
	// Tables are those whose own filters are changed too.
	Tables []TableExclusion `json:"tables,omitempty"`
	// Replaces is the UID of the pod whose volumes are replaced: while it stands and is to be
	// restarted no shard may come back; "" where nodes leave.
	Replaces string `json:"replaces,omitempty"`
}

// TableExclusion is a table, or a partitioned table with all its partitions.
type TableExclusion struct {
	// Name is "schema.table". Without Drain its exclude list carries the ids, and Before is what
	// its routing.allocation.exclude._id was.
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	// Drain are the table's require and include filters during the drain ("include._name",
	// "require.zone"), Filters the same keys as they were before. An empty value in Drain sets
	// no filter; in Filters the table did not have the key.
	Drain   SettingList `json:"drain,omitempty"`
	Filters SettingList `json:"filters,omitempty"`
}

// LeavingNode is a node that is to leave; another id under its name is another
// node.
type LeavingNode struct {
	Name string `json:"name"`
	// ID is "" for a pod in which CrateDB never started.
	ID      string `json:"id"`
	Pod     string `json:"pod"`
	Ordinal int    `json:"ordinal"`
}

// AllocationLock is the value of cluster.routing.allocation.enable that we have set for a restart, and the one
// before.
type AllocationLock struct {
	// Set carries the annotation.
	Set    string `json:"set"`
	Value  string `json:"value"`
	Before string `json:"before"`
}

// Operation is what is in progress.
type Operation struct {
	Kind OperationKind `json:"kind"`
	Step string        `json:"step,omitempty"`
	// Started bounds it; a time in the future counts as now.
	Started  time.Time `json:"started"`
	Revision string    `json:"revision,omitempty"`
	// From and To are replicas by set, for a grow or a shrink, in the same order.
	From []RecordedSet `json:"from,omitempty"`
	To   []RecordedSet `json:"to,omitempty"`
	// Restart is of a restart, and of an upgrade.
	Restart *Restart `json:"restart,omitempty"`
	// Upgrade is of an upgrade.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Shrink is of a shrink.
	Shrink *Shrink `json:"shrink,omitempty"`
	// Recreation is of an expand.
	Recreation *Recreation `json:"recreation,omitempty"`
	// TimedOut is true once its limit passed and a failure was reported; work
	// goes on.
	TimedOut bool `json:"timedOut,omitempty"`
}

// RecordedSet is a StatefulSet as it is effective.
type RecordedSet struct {
	Name     string `json:"name"`
	Group    string `json:"group"`
	Replicas int    `json:"replicas"`
}

// LicenceState is what became of the licence.
type LicenceState string

// What became of the licence; LicenceUnset while nothing was decided.
const (
	LicenceUnset     LicenceState = ""
	LicenceNotNeeded LicenceState = "not-needed" // the version takes none, or none is given and none is needed
	LicenceSet       LicenceState = "set"
)

// Bootstrap is how far a new cluster has come. Done never goes back.
type Bootstrap struct {
	Done    bool         `json:"done,omitempty"`
	Licence LicenceState `json:"licence,omitempty"`
	// System is the Secret whose password `system` was verified with.
	System SecretVersion `json:"system"`
	// SystemChange is of a password that the database does not take.
	SystemChange SystemChange `json:"systemChange"`
	// Users in the order they were created.
	Users []RecordedUser `json:"users,omitempty"`
}

// RecordedUser is a database user that we made.
type RecordedUser struct {
	Name string `json:"name"`
	// Secret is the version that the user was verified with; zero while only
	// pending.
	Secret SecretVersion `json:"secret"`
	// Pending is the version that is about to be set.
	Pending SecretVersion `json:"pending"`
	// Refused is a version whose password the database does not take: it was
	// changed after the user was made.
	Refused SecretVersion `json:"refused"`
	// Key of the Secret that the user was verified with; "" in older records.
	Key string `json:"key,omitempty"`
	// Overwrote is what of somebody's was replaced when the user was made, until it is
	// reported; "" for nothing.
	Overwrote string `json:"overwrote,omitempty"`
	// Change is what was reported of a change of the password; "" when there is none.
	Change PasswordChange `json:"change,omitempty"`
}

// PasswordChange is what was reported of a change of a password.
type PasswordChange string

const (
	// PasswordChangeStarted was reported when the change began.
	PasswordChangeStarted PasswordChange = "started"
	// PasswordChangeFailed was reported once; the change is still being tried.
	PasswordChangeFailed PasswordChange = "failed"
)

// Outcome is the transition that was reported last.
type Outcome struct {
	Revision  string        `json:"revision,omitempty"`
	Operation OperationKind `json:"operation,omitempty"`
	Status    Status        `json:"status,omitempty"`
	// Names of the refusals, joined by commas, when it was refused.
	Names string `json:"names,omitempty"`
}

// SeenCommand is a command as it was first seen.
type SeenCommand struct {
	Commands Commands `json:"commands"`
	// Revision of the render at that time: the command wins until it changes.
	Revision string `json:"revision,omitempty"`
}
