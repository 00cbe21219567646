package model

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// Verdict is the kind of a decision.
type Verdict uint8

const (
	// Done: the cluster is as desired, and that was verified.
	Done Verdict = iota
	// Act: there are objects to apply or actions to run.
	Act
	// Wait: for something that is named in Waits.
	Wait
	// Refuse: something that is desired is not done, named in Refusals; harmless actions may
	// still be there.
	Refuse
)

// String is the verdict in one word, as the record and `status` have it.
func (v Verdict) String() string {
	switch v {
	case Act:
		return "act"
	case Wait:
		return "wait"
	case Refuse:
		return "refuse"
	}
	return "done"
}

// Decision is what Decide returns.
type Decision struct {
	Verdict Verdict
	// Record is the next one; it is saved before anything is applied or run when
	// Save is true.
	Record Record
	Save   bool
	// Apply says whether objects may be written at all: false when the cluster
	// is paused, released, removed, owned by another source or not itself.
	Apply bool
	// Adopt says which objects that others made may be applied to (AdoptNever, …).
	Adopt string
	// Effective is what Materialise turns the desired objects into.
	Effective Effective
	// Harmless actions never wait behind a disruptive one.
	Harmless []Action
	// Disruptive is at most one.
	Disruptive *Action
	Waits      []Reason
	Refusals   []Reason
	// Reports are enqueued before Record, which marks them, is saved.
	Reports []Report
	// Progress of the operation that is under way; nil when there is nothing to
	// count.
	Progress *Progress
	// LookAgain is when to decide again without an event; 0: the daemon's own
	// interval.
	LookAgain time.Duration
}

// Progress says how far an operation has come.
type Progress struct {
	// Subject is the node, pod or StatefulSet that it is at.
	Subject string `json:"subject,omitempty"`
	// Done and Total count nodes or pods.
	Done  int `json:"done"`
	Total int `json:"total"`
	// ShardsLeft and BytesLeft are what is still on the nodes that leave; the first
	// reading of a drain had ShardsTotal and BytesTotal.
	ShardsLeft  int   `json:"shardsLeft,omitempty"`
	ShardsTotal int   `json:"shardsTotal,omitempty"`
	BytesLeft   int64 `json:"bytesLeft,omitempty"`
	BytesTotal  int64 `json:"bytesTotal,omitempty"`
	// BytesPerSecond is the rate since the step began, 0 when it is not known yet;
	// ETA is how long the rest takes at this rate, 0 when it cannot be said.
	BytesPerSecond int64         `json:"bytesPerSecond,omitempty"`
	ETA            time.Duration `json:"eta,omitempty"`
}

// Actions are the harmless ones, then the disruptive one.
func (d *Decision) Actions() []Action {
	if d.Disruptive == nil {
		return d.Harmless
	}
	return append(append(make([]Action, 0, len(d.Harmless)+1), d.Harmless...), *d.Disruptive)
}

// Reason is why something waits or is refused: a gate's name and its words.
type Reason = gates.Reason

// TemplateChoice says which pod template a StatefulSet gets.
type TemplateChoice uint8

const (
	// TemplateDesired is the rendered one.
	TemplateDesired TemplateChoice = iota
	// TemplateKept is the one that is live, with all of the set's other fields as they
	// were: what was recorded after it and never applied is forgotten.
	TemplateKept
	// TemplateBefore is that of the object that was remembered (Remember), again
	// with all other fields; without one it is TemplateKept.
	TemplateBefore
)

// Effective is what the cluster is to be held to now. Objects that it does not name are applied
// as they are rendered.
type Effective struct {
	Sets    []EffectiveSet
	Budgets []Budget
}

// EffectiveSet is a StatefulSet as it is to be applied.
type EffectiveSet struct {
	Name     string
	Replicas int
	Template TemplateChoice
	// Live is the hash of the template that is live; "" without one.
	Live string
	// KeepGateway keeps the gateway counts of the live template in the one that is applied:
	// those of the desired one are for another number of nodes.
	KeepGateway bool
	// Gateway is how many data nodes the gateway counts of the template that is applied
	// are for, whichever it is; 0 leaves them as they are in it.
	Gateway int
	// InitialMasters is true while -Ccluster.initial_master_nodes stays in the
	// template: until the cluster id is recorded.
	InitialMasters bool
	// Remember keeps the object that was effective before, while it is true.
	Remember bool
	// RememberAnew keeps the one that is effective until now in its place: pods have
	// joined on it, and it is what they run when the next one has to be taken back.
	RememberAnew bool
	// Hold is the annotation that says which settings we own in the database; "" for none.
	Hold string
	// Suspended is the annotation that says what it was suspended from; "" for none.
	Suspended string
	// Settings is the annotation that says what we have set in the database; "" for
	// none.
	Settings string
	// Adopted is the annotation that says what it was adopted with; "" for nothing.
	Adopted string `json:",omitempty"`
	// Absent is true for a set that may not be created yet, and for one that is recorded and of which
	// nothing was made.
	Absent bool
	// Gap is true for a set that was deleted without its pods and is not gone yet: it is
	// not applied, and what is saved of it stays.
	Gap bool
	// Resized keeps the hash of a template that differs only in what running pods get in place.
	Resized bool
	// Sizes are those of its claim templates; "" leaves them as they are in what is
	// applied. Classes are their storage classes, and Attributes their
	// VolumeAttributesClasses, likewise.
	Sizes, Classes, Attributes SizeList
	// Mounts are disks of these, separated by commas, that a kept template mounts in any case, and Marks the marks of
	// the pods that have them; "" for none. Lacked is true while it is made without disks that pods lack.
	Mounts, Marks string
	Lacked        bool
	// Unused are disks, separated by commas, that it has claim templates of and that its pod template
	// does not mount for a moment: the pod that restarts then does without them. "" for none.
	Unused string
}

// Budget is a disruption budget's effective value.
type Budget struct {
	Name           string `json:"name"`
	MaxUnavailable int    `json:"maxUnavailable"`
	// MinAvailable stands in its place where it is not 0: while a StatefulSet is
	// recreated. The disruption controller counts pods without a StatefulSet as healthy
	// and does not expect them, so that maxUnavailable would let others go.
	MinAvailable int `json:"minAvailable,omitempty"`
}

// ObservedBudget is a live disruption budget.
type ObservedBudget struct {
	Name           string
	MaxUnavailable int
	// MinAvailable is an integer spec.minAvailable; 0 where it has none.
	MinAvailable int
	// Seen: its controller has observed the spec as it is. Allowed is how many pods it
	// then allows to be evicted.
	Seen    bool
	Allowed int
}

// Keeps reports whether it keeps so many pods, and its controller has observed that and allows no
// eviction.
func (b *ObservedBudget) Keeps(pods int) bool {
	return b.MinAvailable == pods && b.Seen && b.Allowed == 0
}

// Equal reports whether two effective states are the same.
func (e Effective) Equal(o Effective) bool {
	return sameList(e.Sets, o.Sets) && sameList(e.Budgets, o.Budgets)
}

// sameList reports whether two lists say the same: in most passes they are one.
func sameList[E comparable](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// ActionKind names an action.
type ActionKind string

const (
	// ActionCreateSystemSecret makes Secret with a random password, only when
	// there is none.
	ActionCreateSystemSecret ActionKind = "create-system-secret"
	// ActionLabelSecret puts crate-operator's label on Secret.
	ActionLabelSecret ActionKind = "label-secret"
	// ActionSetLicense runs SET LICENSE in Pod by exec, from Secret.
	ActionSetLicense ActionKind = "set-license"
	// ActionSetSystemUser makes or repairs `system` by exec in Pod, so that it
	// logs in with Secret's password; with ClusterID only where the node in the pod
	// is of that cluster.
	ActionSetSystemUser ActionKind = "set-system-user"
	// ActionSetUser makes User, with all privileges and Secret's password, as
	// `system`, on Pod.
	ActionSetUser ActionKind = "set-user"
	// ActionVerifyUser logs User in with Secret's password, and changes nothing.
	ActionVerifyUser ActionKind = "verify-user"
	// ActionChangePassword gives User, who exists, Secret's password as `system`,
	// bound; one who logs in with it already is left.
	ActionChangePassword ActionKind = "change-password"
	// ActionAnnotateClaim writes ClusterID and Version on Claim.
	ActionAnnotateClaim ActionKind = "annotate-claim"
	// ActionAcknowledgeNodeChecks acknowledges node check 1 on all nodes.
	ActionAcknowledgeNodeChecks ActionKind = "acknowledge-node-checks"
	// ActionSetBudget sets Budget's maxUnavailable to Value; only for clusters
	// that are released, all others get it by applying.
	ActionSetBudget ActionKind = "set-budget"
	// ActionRecreatePod deletes Pod (precondition PodUID), which has never
	// started CrateDB, so that it comes back on its set's template. Disruptive.
	ActionRecreatePod ActionKind = "recreate-pod"
	// ActionReplaceStuckPod deletes Pod (precondition PodUID), which is stuck and runs another template than its set
	// has now; with Ask only while the node in that pod does not know the node NodeNames or, where Ask is Pod, does
	// not let `system` in. Disruptive.
	ActionReplaceStuckPod ActionKind = "replace-stuck-pod"
	// ActionRecoverPod deletes Pod (precondition PodUID) after the node in it was asked
	// by exec and knows no user User: its gateway waits for nodes that are not there any
	// more. Disruptive.
	ActionRecoverPod ActionKind = "recover-pod"
	// ActionLockAllocation sets cluster.routing.allocation.enable from Before to
	// Allocation, persistent, on Pod; ResultHidden when a transient value hides it.
	ActionLockAllocation ActionKind = "hold-allocation"
	// ActionUnlockAllocation sets it back to Before, on Pod.
	ActionUnlockAllocation ActionKind = "release-allocation"
	// ActionRestartPod deletes Pod (precondition PodUID) after the node in it has
	// been asked once more: the setting is Allocation, there are Value nodes, as many as
	// when this was decided, whoever has added them, and, with Green, every table is
	// green. No shard is on the nodes NodeIDs, or on its way there. Disruptive.
	ActionRestartPod ActionKind = "restart-pod"
	// ActionRestartZone deletes Pods, all of one Zone, after the node in Pod has been
	// asked as for ActionRestartPod. Disruptive.
	ActionRestartZone ActionKind = "restart-zone"
	// ActionSuspendSet lowers Set (precondition SetUID and SetVersion) from From
	// replicas to Value, because its cluster is suspended. Disruptive.
	ActionSuspendSet ActionKind = "suspend-set"
	// ActionSetSettings sets Settings, persistent and in one statement, on Pod;
	// Expected is what they are before.
	ActionSetSettings ActionKind = "set-settings"
	// ActionResetSettings takes Settings, which we have set, off again, on Pod;
	// Expected is what they were before: what shows that is off already.
	ActionResetSettings ActionKind = "reset-settings"
	// ActionExcludeNodes adds NodeIDs to cluster.routing.allocation.exclude._id,
	// persistent, on Pod; ResultHidden when a transient value hides it.
	ActionExcludeNodes ActionKind = "exclude-nodes"
	// ActionIncludeNodes takes NodeIDs off that list.
	ActionIncludeNodes ActionKind = "include-nodes"
	// ActionExcludeInTable adds NodeIDs to Table's own list; Before is what stood there. With
	// Settings it sets these filters of Table instead, in one statement; Expected is what they
	// are before.
	ActionExcludeInTable ActionKind = "exclude-in-table"
	// ActionIncludeInTable takes them off that list again. With Settings it gives these filters
	// back; Expected is what they were set to.
	ActionIncludeInTable ActionKind = "include-in-table"
	// ActionRetryAllocation runs ALTER CLUSTER REROUTE RETRY FAILED on Pod.
	ActionRetryAllocation ActionKind = "retry-allocation"
	// ActionShrinkSet lowers Set's replicas From To (preconditions SetUID and
	// SetVersion) after the database was asked once more: the nodes NodeIDs and
	// NodeNames are excluded and empty, nothing moves, and there are Value nodes.
	// With Elsewhere a copy may stay on them that is started on another node too; Filtered
	// is how many tables and partitions have allocation filters of their own, for which
	// the exclusion may be void. Each of Pods, names joined by commas, is asked for its own
	// evidence, and the superuser in Pod for those of Absent (Examination).
	// Disruptive.
	ActionShrinkSet ActionKind = "shrink-set"
	// ActionDeleteSet deletes Set, which has no replicas and no pods (preconditions
	// SetUID and SetVersion). Disruptive.
	ActionDeleteSet ActionKind = "delete-set"
	// ActionStopSet lowers Set (preconditions SetUID and SetVersion) from From replicas
	// to 0, because its cluster is deleted. Disruptive.
	ActionStopSet ActionKind = "stop-set"
	// ActionForgetOwned takes off Set (precondition SetUID) what its annotation says of
	// an allocation lock or of exclusions: they were given back, and nothing of it is applied.
	ActionForgetOwned ActionKind = "forget-hold"
	// ActionDeleteObject deletes Object (preconditions SetUID and SetVersion), which
	// the definition makes no more.
	ActionDeleteObject ActionKind = "delete-object"
	// ActionGrowClaim asks for Change for Claim (precondition ClaimUID): for a size that is more
	// than its volume has, for another VolumeAttributesClass, or for both.
	ActionGrowClaim ActionKind = "grow-claim"
	// ActionDeleteClaims deletes Claims, "name/uid" joined by commas, of the pod in Pods, and notes
	// on each that its volume may go. The node was drained and is looked at once more as for
	// ActionShrinkSet. A claim and its volume stay as long as the pod does. Disruptive.
	ActionDeleteClaims ActionKind = "delete-claims"
	// ActionRecreateSet deletes Set (preconditions SetUID and SetVersion) and leaves its
	// From pods, which all have to be there, while Budget keeps Value pods and lets none
	// go. It is recreated when objects are applied. Disruptive.
	ActionRecreateSet ActionKind = "recreate-set"
	// ActionSetRepository creates Repository with Settings and the values that Secrets has, has every
	// node of NodeIDs verify it where it is there, and, with New, looks whether it has snapshots that
	// are not ours; ResultForeign where it has.
	ActionSetRepository ActionKind = "set-repository"
	// ActionCreateSnapshot begins Snapshot in Repository, of SnapshotTables or of all tables;
	// ResultRefused where CrateDB does not begin it, ResultMissing where the repository is not there,
	// ResultWaits while another one of ours runs.
	ActionCreateSnapshot ActionKind = "create-snapshot"
	// ActionDropSnapshot drops Snapshot of Repository after it was looked at once more: the successful
	// Newest is there, and Value successful ones without Snapshot.
	ActionDropSnapshot ActionKind = "drop-snapshot"
	// ActionRestoreUsers brings users, roles and privileges of Snapshot, those that are there are replaced:
	// `system` has the password of the cluster that took it then.
	ActionRestoreUsers ActionKind = "restore-users"
	// ActionRestoreTables begins to fetch SnapshotTables of Snapshot; with New these are all, and views and
	// functions come too.
	// ResultRefused where CrateDB does not begin it.
	ActionRestoreTables ActionKind = "restore-tables"
	// ActionDropRestored drops those of SnapshotTables of which a shard has no primary still.
	ActionDropRestored ActionKind = "drop-restored"
	// ActionEndRestore takes Repository off, and has CrateDB count what is in the tables.
	ActionEndRestore ActionKind = "end-restore"
	// ActionResizePod asks for Resources for the containers of Pod (precondition PodUID) while
	// it runs.
	ActionResizePod ActionKind = "resize-pod"
)

// Action is one thing to do; fields that its kind does not name are zero. It
// carries no secret.
type Action struct {
	Kind        ActionKind
	Pod, PodUID string
	// Pods are "name/uid", joined by commas; Zone is theirs. Of ActionShrinkSet they are
	// names, as Absent are.
	Pods, Zone string
	Absent     string
	User       string
	Secret     SecretKey
	// SecretVersion is the version that was decided on; the executor uses the
	// Secret only at this version.
	SecretVersion SecretVersion
	// SystemSecret is the Secret of `system`, for what is done as that user.
	SystemSecret string
	// Ask is a pod whose node is asked once more; with Led it has to have a master, as
	// it had when this was decided.
	Ask   string
	Led   bool
	Claim string
	// LosesVolume: a person has agreed that the pod goes with its volume. It does while each
	// shard on it is started on another node too.
	LosesVolume bool
	// Claims are those that are deleted.
	Claims string
	// ClaimUID and Change are of the claim that is asked for another size or class.
	ClaimUID  string
	Change    ClaimChange
	Resources Resources
	ClusterID string
	Version   string
	Budget    string
	Value     int
	// Allocation and Before are values of cluster.routing.allocation.enable.
	Allocation, Before string
	Green              bool
	// Whole is the health of all tables when this was decided.
	Whole WholeHealth
	// Repair: the restart heals what the pod has, and waits for nothing that somebody runs.
	Repair bool
	// Unready: Pod is one that Kubernetes does not call ready, and stays if it does by then.
	Unready bool
	// Set is a StatefulSet, with its UID and resourceVersion.
	Set, SetUID, SetVersion string
	From, To                int
	// Object is any other object.
	Object ObjectRef
	// Members are the names of all nodes that were there when this was decided, separated by
	// commas as NodeIDs and NodeNames are; Table is "schema.table".
	Members                   string
	NodeIDs, NodeNames, Table string
	// Index is the UUID of an index of a table; Second is another pod whose node is asked too, "" for none.
	Index, Second string
	// Free are volume claims, separated by commas, on whose volume their pods have nothing: somebody
	// may delete them.
	Free string
	// Beside is what others excluded by other keys than the id when this was decided
	// (ExcludedByOtherKeys): a change of ours ends the effect of it.
	Beside    string
	Elsewhere bool
	Filtered  int
	// Repository and Snapshot are CrateDB's names; Newest is another snapshot. Secrets are the
	// parameters of a repository that Secrets have, as JSON, and SecretVersions what those Secrets
	// were when this was decided. SnapshotTables are joined by commas; "" is all. Schema is what their schema
	// becomes, with $1 for itself; "" where it stays. New: the repository is not known yet. Tried: two tables may have exchanged their names, or tables may
	// have been asked for.
	Repository, Snapshot, Newest            string
	Secrets, SecretVersions, SnapshotTables string
	Schema                                  string
	New, Tried                              bool
	// Settings and Expected are cluster settings, or filters of Table; or a repository's parameters.
	Settings, Expected SettingList
	// Tables are those whose filters are changed for the drain, as JSON (Exclusions.Changed): the
	// last look of ActionShrinkSet asks for each of them.
	Tables string
}

// Subject names what the action is about, for logs.
func (a Action) Subject() string {
	switch a.Kind {
	case ActionSetUser, ActionVerifyUser, ActionChangePassword:
		return a.User
	case ActionCreateSystemSecret, ActionLabelSecret, ActionSetLicense:
		return a.Secret.Name
	case ActionAnnotateClaim, ActionGrowClaim:
		return a.Claim
	case ActionSetBudget:
		return a.Budget
	case ActionRestartZone:
		return "of zone " + a.Zone
	case ActionDeleteObject:
		return a.Object.String()
	case ActionDeleteClaims:
		return a.Pods
	case ActionSuspendSet, ActionShrinkSet, ActionDeleteSet, ActionStopSet, ActionForgetOwned, ActionRecreateSet:
		return a.Set
	case ActionSetSettings, ActionResetSettings:
		return a.Settings.names()
	case ActionExcludeNodes, ActionIncludeNodes:
		return a.NodeIDs
	case ActionExcludeInTable, ActionIncludeInTable:
		return a.Table
	case ActionSetRepository, ActionEndRestore:
		return a.Repository
	case ActionPrepareSwap, ActionSwapTables, ActionDropCopy, ActionDropKept:
		return a.Table
	case ActionFetchTables, ActionDropFetched, ActionCreateSnapshot, ActionDropSnapshot, ActionRestoreUsers, ActionRestoreTables, ActionDropRestored:
		return a.Repository + "." + a.Snapshot
	}
	return a.Pod
}

// ResultCode is how an action ended, when it ended at all: an action that
// failed or whose end is unknown has an error and no result.
type ResultCode uint8

const (
	// ResultDone: it was done, or was so already, and was read back.
	ResultDone ResultCode = iota
	// ResultRefused: the database does not take the password (verify-user).
	ResultRefused
	// ResultHidden: a transient value hides what was set, and it was taken back
	// (hold-allocation, exclude-nodes), or stays below it (set-settings); somebody's value
	// may hide ours, and nothing was reset (reset-settings).
	ResultHidden
	// ResultForeign: somebody else's snapshot is in the repository, and Message is its name
	// (set-repository).
	ResultForeign
	// ResultDropped: Kubernetes dropped what was asked for without a word (grow-claim).
	ResultDropped
	// ResultMissing: the repository is not there (create-snapshot).
	ResultMissing
	// ResultPresumed: CrateDB has tables of these names already. An earlier attempt may have made them whose answer was
	// lost, or somebody else (fetch-tables).
	ResultPresumed
	// ResultWaits: something is not so yet, as Message says (swap-tables, create-snapshot).
	ResultWaits
	// ResultFree: two nodes show no table of the name (fetch-tables).
	ResultFree
)

// Result is how an action ended.
type Result struct {
	Code ResultCode
	// SecretVersion is the version of the Secret that was used.
	SecretVersion SecretVersion
	// Message is for the log and the event, redacted; it says what was found
	// ("user existed, its password was set").
	Message string
	// Overwrote says what of somebody's an action has replaced; "" for nothing.
	Overwrote string
	// Index is the UUID that was looked for (prepare-swap).
	Index string
}
