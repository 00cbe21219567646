package model

import (
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// Observed is one reading of a cluster: Kubernetes from watches, the database
// from one node at one time. Every part may be stale.
type Observed struct {
	At time.Time
	// Applied is what was last applied and found in sync, object by object; the
	// zero value when it is not known.
	Applied Applied
	// ApplyErrors are what Kubernetes refused at the last apply, redacted.
	ApplyErrors []string
	// Altered are the objects that admission stored otherwise than they were applied,
	// with the fields: "Service crate-x: spec.type". Empty also while it is not known.
	Altered []string
	Sets    []ObservedSet
	Pods    []Pod
	Claims  []Claim
	Secrets []Secret
	// Volumes are the volumeClaimTemplates of the live StatefulSets.
	Volumes []VolumeTemplate
	// Storage is read only where NeedsStorage says so.
	Storage Storage
	Budgets []ObservedBudget
	// Adopting is true while `stevedore adopt` has begun and not ended. It is asked for only while a
	// desired StatefulSet is not there, or not ours.
	Adopting bool
	// Foreign are objects of a desired kind and name that exist and are not ours.
	Foreign   []Foreign
	Placement Placement
	// Explained makes words of what is missing or stuck; no decision depends on it.
	Explained Explained
	// OtherOwner is another source that wants the same cluster now; "" if none.
	OtherOwner string
	// Leftovers are live objects of the cluster's inventory that are no longer desired.
	Leftovers []Leftover
	// Vanished is read only of a cluster whose definition is gone and that may be
	// deleted.
	Vanished Vanished
	Commands Commands
	Database Database
	// Stable is since when the database has been as it is.
	Stable Stability
	// Disrupted are the other clusters of this daemon that are being disrupted,
	// "namespace/name"; read only where this one may begin to be.
	Disrupted []string
	// Resize is read only where a pod is to get other CPU and memory (compute.NeedsResize).
	Resize CanResize
	// DeletesClaims is whether volume claims may be deleted; it is asked while volumes are being
	// replaced.
	DeletesClaims Answer
	// Failures are the actions that failed at their last attempt; kept in the
	// daemon's memory only.
	Failures []Failure
}

// Applied says which effective state the live objects are in sync with.
type Applied struct {
	Revision  string
	Effective Effective
}

// ObservedSet is a live StatefulSet.
type ObservedSet struct {
	Name                 string
	UID, ResourceVersion string
	// Ours is true when it carries our label for this cluster.
	Ours bool
	// Terminating: it was deleted, and its pods are being released or deleted.
	Terminating bool
	// Group is that of its pods, "" when unknown. MasterEligible is true when its
	// template says node.master, RecoverAfter its recover_after_data_nodes.
	Group          string
	MasterEligible bool
	RecoverAfter   int
	// Replicas is spec.replicas; the others are from status.
	Replicas, Current, Ready       int
	Generation, ObservedGeneration int64
	// UpdateRevision is the ControllerRevision that new pods get.
	UpdateRevision string
	// InitialMasters is true when its template names initial_master_nodes.
	InitialMasters bool
	// Template is the hash of what a process of it reads when it starts, and Hold
	// our annotation of the settings that we own; "" without one.
	Template, Hold string
	// Version is the tag of the crate image in its template.
	Version string
	// Resources are those of its template, as a pod gets them: requests default to limits.
	Resources Resources
	// Suspended is our annotation of what it was suspended from; "" without one.
	Suspended string
	// Names is our annotation that says which names it has from somebody else; "" without one.
	Names string
	// Adopted is our annotation of what it was adopted with; "" without one. Template is
	// AdoptedTemplate then, while the template has no hash, and so it is of such pods.
	Adopted string
	// Annotated is our annotation of the settings that we have set; Settings are the
	// arguments of its template that CrateDB takes live.
	Annotated string
	Settings  SettingList
	// Attributes are the node.attr.* of its template, without that prefix; those that a
	// shell works out at the start are left out.
	Attributes SettingList
	// Unused are its claim templates of disks that CrateDB's container does not mount, "data1,data2",
	// sorted; "" for none.
	Unused string
}

// Pod is a live pod of the cluster.
type Pod struct {
	Name, Set string
	Ordinal   int
	UID       string
	// Controller is the UID of the StatefulSet that it belongs to; "" for none.
	Controller string
	// NodeName is CrateDB's name of the node in it, "data-hot-0".
	NodeName    string
	Ready       bool
	Terminating bool
	// Phase is Kubernetes' own: Pending, Running, …
	Phase string
	// Waiting and Message are of a container, the crate one's before all others, or the
	// pod's scheduling: "ImagePullBackOff", "Unschedulable", …; "" when none waits.
	Waiting, Message string
	// Runs: the crate container runs, whatever another one waits for.
	Runs bool
	// NoSandbox: Kubernetes says PodReadyToStartContainers=False.
	NoSandbox bool
	// Lost is of a pod whose machine does not report.
	Lost Lost
	// NotReady is what Kubernetes says of a pod that is not ready.
	NotReady string
	// Revision is the ControllerRevision's name it was made from.
	Revision string
	IP       string
	// KubernetesNode and Zone are "" until it is scheduled.
	KubernetesNode, Zone string
	// Version is the tag of its crate image.
	Version string
	// Resources are those that it is to have, and Actual those that its containers have; ""
	// while its kubelet does not say. Altered: its spec has changed since it was made.
	Resources, Actual Resources
	Altered           bool
	// Resize is how far a change of them has come, ResizeMessage what its kubelet says.
	Resize        ResizeStage
	ResizeMessage string
	// Started is when the crate container started; zero when it never did.
	Started time.Time
	// Restarts of the crate container.
	Restarts int
	// LastEnd is how its process last ended while the pod stayed.
	LastEnd Ended
	// RecoverAfter is the gateway.recover_after_data_nodes (before 4.7 …_nodes) that
	// its process was started with; 0 when there is none.
	RecoverAfter int
	// Created is when the API server stored it, in whole seconds.
	Created time.Time
	// Template is the hash of what its process read when it started; "" without one.
	Template string
	// Settings are the arguments of its process that CrateDB takes live.
	Settings SettingList
	// Volumes are the claim templates of whose claims it has a volume, "data0,debug", sorted; ""
	// where that is not known.
	Volumes string
	// Unused are those of them that are disks and that CrateDB's container does not mount, likewise; "" for none.
	Unused string
}

// Has reports whether the pod has the volume of a claim template, as far as is known.
func (p *Pod) Has(template string) bool {
	return p.Volumes == "" || template == "" || InList(p.Volumes, template)
}

// Uses reports whether CrateDB in the pod has a disk, as far as is known.
func (p *Pod) Uses(disk string) bool {
	return p.Has(disk) && !InList(p.Unused, disk)
}

// Stays reports whether the pod belongs to the StatefulSet of this UID and is not being deleted.
func (p *Pod) Stays(set string) bool { return !p.Terminating && p.Controller == set }

// SecretVersion identifies a Secret's content without a hash of it. The zero
// value is none.
type SecretVersion struct {
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Secret is a Secret that the definition names, or the system user's; never
// its values.
type Secret struct {
	Name    string
	Exists  bool
	Version SecretVersion
	// Keys are those with a value that is not empty.
	Keys []string
	// Unusable says of a key why its value is not to become a password; nothing of the value.
	Unusable map[string]string
	// Labelled is true with crate-operator's label of a user's password.
	Labelled bool
}

// Failure is an action that failed at its last attempt.
type Failure struct {
	Action Action
	// Message is redacted.
	Message string
	At      time.Time
	Count   int
}

// Login is how a login went. The zero value is LoginUnknown.
type Login uint8

// How a login went.
const (
	// LoginUnknown: nobody tried.
	LoginUnknown Login = iota
	// LoginOK: the password was accepted.
	LoginOK
	// LoginRefused is SQLSTATE 28000: a wrong password, no such user, a cluster
	// before gateway recovery, or a node that is leaving.
	LoginRefused
)

// Database is one reading of CrateDB. The zero value knows nothing.
type Database struct {
	At time.Time
	// Whole is when all of it was read: before At where nothing had changed since in the
	// cluster state, and then only the nodes were asked. Zero without Contact.
	Whole time.Time
	// Contact is Yes when a node answered SQL to `system`; No when it was tried
	// and none did.
	Contact Answer
	// Error is why there is no contact, redacted.
	Error string
	// SystemLogin is how the login of `system` with its Secret's password went.
	SystemLogin Login
	// SystemSecret is the version of its Secret that was tried; zero where it is
	// not known.
	SystemSecret SecretVersion
	// Pods are each pod's own answers; a pod that did not answer is absent.
	Pods []PodAnswer

	// What follows comes from one node in one reading, and means nothing
	// without Contact.

	ClusterID, ClusterName string
	// MasterNode is the master's node id; "" when none is known.
	MasterNode string
	Recovered  Answer
	// NodesKnown is false when sys.nodes could not be read: then nobody is absent.
	NodesKnown bool
	Nodes      []Node
	// ShardsKnown is false when sys.shards could not be read.
	ShardsKnown bool
	// Unassigned counts copies that are on no node.
	Unassigned int
	// UsersKnown is false when the users could not be read.
	UsersKnown bool
	Users      []string
	Health     Health
	// ChecksKnown is false when the node checks could not be read.
	ChecksKnown bool
	NodeChecks  []NodeCheck
	// Allocation is the effective cluster.routing.allocation.enable; "" when it
	// could not be read.
	Allocation string
	// ClusterHealth is sys.cluster_health, from 6.0 on: the worst of all tables, those
	// that `system` may not see included. Its colour is ColourUnknown before 6.0 and
	// where it could not be read.
	ClusterHealth Health
	// DeniedKnown is false when the privileges could not be read. Denied says what
	// `system` may not see, directly or by a role: tables that no other part of this
	// reading shows.
	DeniedKnown bool
	Denied      []Denial
	// Unread are the parts that could not be read, with the reason.
	Unread []UnreadPart

	// Unreplicated are tables and partitions with a number_of_replicas of 0, at most
	// 20; UnreplicatedKnown is false when they could not be read.
	Unreplicated      []string
	UnreplicatedKnown bool
	// Effective are the cluster settings that SettingsToRead names, as the reading's
	// node prints them; what could not be read is absent. SettingsAsked are those that
	// were asked for, of each node (PodAnswer.Settings).
	Effective     map[string]string
	SettingsAsked []string

	// What follows is read only where Detailed says so.

	// TablesKnown is false when the tables or their shards could not be read.
	TablesKnown bool
	Tables      []Table
	// Partitioned are the partitioned tables themselves: without shards of their
	// own, but with the filters and replicas that a new partition gets.
	Partitioned []Table
	// Relocating and Initializing count shards.
	Relocating, Initializing int
	// Answers are those to gates.Questions, in their order; nil before they were asked.
	Answers []gates.Answer
	// SnapshotsKnown is false when sys.snapshots could not be read; Snapshots are
	// those in progress.
	SnapshotsKnown bool
	Snapshots      int
	// Repositories are the names of those that CrateDB has; they mean nothing without RepositoriesKnown.
	Repositories      []string
	RepositoriesKnown bool
	// Listing are all rows of sys.snapshots that CrateDB showed at Listed; zero where they were not
	// asked for. A repository that does not answer is left out of it.
	Listing []ListedSnapshot
	Listed  time.Time
	// Unreadable are the tables that make a snapshot of all fail, and Readable all others that a
	// snapshot can have; both mean nothing without UnreadableKnown.
	Unreadable      []UnreadableTable
	Readable        []string
	UnreadableKnown bool
	// Blobs are the BLOB tables, which no snapshot has; read with Unreadable.
	Blobs []string
	// Restore is read only while tables are being restored.
	Restore RestoreReading
	// Facts are of each table; they mean nothing without FactsKnown.
	Facts      []TableFacts
	FactsKnown bool
	// Hidden are tables that were left out of all but Restore and Facts, because they are being restored.
	Hidden []string
	// Shards are all copies, in no order; they mean nothing without TablesKnown.
	Shards []Shard
	// AllocationKnown and Settings are of each reading: filters that others set are
	// watched all the time. It is false when the settings of the allocation could not be
	// read.
	AllocationKnown bool
	Settings        AllocationSettings
	// Stuck says why shards are not where they should be, at most 20; it is read
	// only while nodes are being drained, and while copies are on no node though
	// nothing holds the allocation.
	Stuck []Explanation
	// Evidence is what others than `system` say of nodes that are about to leave; it is
	// read only where NeedsEvidence says so.
	Evidence []Evidence
}

// TakenOver reports whether only the nodes were asked, and the rest is of an earlier reading:
// nothing has changed since in the cluster state.
func (db *Database) TakenOver() bool { return !db.Whole.IsZero() && db.Whole.Before(db.At) }

// SystemSchema is where all views of the cluster are: a user without DQL on it reads none of them.
const SystemSchema = "sys"

// Denial is a privilege that `system` is denied.
type Denial struct {
	// Grantee is `system` or the role that it has it from.
	Grantee string `json:"grantee"`
	// Privilege is "DQL", "AL" and so on; Class CLUSTER, SCHEMA, TABLE or VIEW; Ident
	// the schema or table, "" for CLUSTER.
	Privilege string `json:"privilege"`
	Class     string `json:"class"`
	Ident     string `json:"ident,omitempty"`
	// Lacks is true for a privilege on the cluster that `system` should have, and that
	// nobody has granted or denied.
	Lacks bool `json:"lacks,omitempty"`
}

// UnreadPart is a part of a reading that is not known.
type UnreadPart struct {
	// Part is what was asked: "sys.nodes", "sys.snapshots of repository backup".
	Part string
	// Why is redacted. Slow is true where the database did not answer in time.
	Why  string
	Slow bool
}

// Shard is one copy of a shard.
type Shard struct {
	// Table is the Name of one of Tables; ID the shard's number in it.
	Table string
	ID    int
	// Node is a node id; "" for a copy that is on no node.
	Node string
	// Primary is true for one copy of each shard. CrateDB does not say it of a copy
	// on no node: where a shard's primary is lost, one of those stands for it.
	Primary bool
	// State is routing_state: UNASSIGNED, INITIALIZING, STARTED or RELOCATING. One
	// that relocates stands on its source until the handoff.
	State string
	// To is the node id that it relocates to; "" for none.
	To    string
	Bytes int64
}

// ShardID is a shard, of which there may be several copies.
type ShardID struct {
	Table string
	ID    int
}

// Of is the shard that this is a copy of.
func (s *Shard) Of() ShardID { return ShardID{s.Table, s.ID} }

// Explanation is why a shard is not where it should be, of sys.allocations.
type Explanation struct {
	// Table, ID, Node and Primary are those of a Shard; Node is "" for a copy on none.
	Table   string
	ID      int
	Node    string
	Primary bool
	// Text is CrateDB's own, and Reasons the deciders' words for each other node,
	// "data-hot-0: …"; or, of a table whose own filters win over the cluster's, that.
	Text    string
	Reasons []string
}

// PodAnswer is what one pod says of itself.
type PodAnswer struct {
	Pod string
	// ClusterID is sys.cluster.id as this node has it; "_na_" on a node that
	// has found no cluster.
	ClusterID        string
	NodeID, NodeName string
	Version          string
	// LoginRefused is true for a pod that refused `system` while another let it
	// in: it may belong to another cluster. The other fields are then unknown.
	LoginRefused bool
	// HTTPStatus of `GET /`; 0 when it was not asked.
	HTTPStatus int
	// Settings are those of Database.SettingsAsked as this node shows them: the value
	// that was set in the cluster, and while there is none what it was started with.
	Settings SettingList
}

// Node is a row of sys.nodes, with what sys.shards has of it.
type Node struct {
	// Version is "" for a node that did not answer the one that was asked: the row itself
	// comes from the cluster state, which may be old.
	ID, Name, Version string
	// Address is the host of sys.nodes.rest_url, which filters by _ip ask for: "10.0.0.7";
	// "" when it is not known.
	Address string
	// DiskSize and DiskUsed are in bytes, fs['total'] of sys.nodes: used is size
	// less what is available. -1 is unknown, as CrateDB itself says it.
	DiskSize, DiskUsed int64
	// Disks are the file systems of its data paths, each once; nil where they are not known one
	// by one. A shard is wholly on one of them. Ask FileSystems.
	Disks []Disk
	// Heap is that of its process; the zero value where it is not known.
	Heap Heap
	// StateVersion is the version of the cluster state that this node has applied, by its own
	// word (sys.nodes.cluster_state_version); 0 where it did not answer. Each change of nodes,
	// master, shards, tables and settings makes a higher one.
	StateVersion int64
	// Shards are the copies on it and Bytes their size; they mean nothing
	// without Database.ShardsKnown.
	Shards int
	Bytes  int64
	// Sole are the tables of which a shard's only started copy is on it, at most
	// 20; they mean nothing without Database.TablesKnown.
	Sole []string
	// Attributes are node.attr.* ("zone", "node_name"), empty for a node without any;
	// nil when they are not known: before 5.2, and without Detailed.
	Attributes map[string]string
}

// NodeCheck is a row of sys.node_checks that has not passed.
type NodeCheck struct {
	NodeID       string
	ID           int
	Acknowledged bool
}

// Colour is CrateDB's health.
type Colour uint8

// The colours, ColourUnknown while nothing was read.
const (
	ColourUnknown Colour = iota
	Green
	Yellow
	Red
)

// String is the colour as CrateDB writes it in lower case.
func (c Colour) String() string {
	switch c {
	case Green:
		return "green"
	case Yellow:
		return "yellow"
	case Red:
		return "red"
	}
	return "unknown"
}
