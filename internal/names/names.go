// Package names holds the names that several packages share, one constant
// each, so that a name can change in one place before 1.0.
package names

import "strings"

// Labels and annotations.
const (
	// Prefix of every label and annotation of ours.
	Prefix = "stevedore.dev/"
	// ClusterLabel marks an object as ours; informers select by it. Its value
	// is the cluster's metadata.name.
	ClusterLabel = Prefix + "cluster"
	// AppliedAnnotation is the hash of the effective object that was applied.
	// Secrets carry none.
	AppliedAnnotation = Prefix + "applied"
	// HoldAnnotation says what we hold in the database, and the value before.
	HoldAnnotation = Prefix + "hold"
	// SuspendedAnnotation stands on a StatefulSet while its cluster is suspended:
	// the replicas that it had, and the cluster's id.
	SuspendedAnnotation = Prefix + "suspended"
	// SettingsAnnotation says which cluster settings we have set in the database.
	SettingsAnnotation = Prefix + "settings"
	// AdoptedAnnotation stands on a StatefulSet that was adopted, until no pod of it has the pod
	// template that it was adopted with: {"from":"crate-operator","desired":"HASH"}. HASH is of the
	// template that its definition asked for when stevedore first saw it.
	AdoptedAnnotation = Prefix + "adopted"
	// NamesAnnotation stands on the StatefulSet of a group that has other names than stevedore's: its
	// entry in spec.operations.adopt.
	NamesAnnotation = Prefix + "names"
	// TemplateAnnotation stands on a pod template, and so on each pod: a hash of
	// what a process reads when it starts. Pods that differ from their set's are
	// outdated.
	TemplateAnnotation = Prefix + "template"
	// ClusterIDAnnotation stands on volume claims: the sys.cluster.id whose
	// data they carry.
	ClusterIDAnnotation = Prefix + "cluster-id"
	// VersionAnnotation stands on volume claims: the last CrateDB version that
	// wrote to them.
	VersionAnnotation = Prefix + "cratedb-version"

	RestartedAtAnnotation = Prefix + "restartedAt"
	PausedAnnotation      = Prefix + "paused"
	AbortAnnotation       = Prefix + "abort"
	ReleasedAnnotation    = Prefix + "released"
	// ForgetAnnotation is a command only, and of no definition.
	ForgetAnnotation = Prefix + "forget"
	// ReplaceVolumeAnnotation stands on a volume claim that is being deleted: "true" where
	// its volume may go with its pod.
	ReplaceVolumeAnnotation = Prefix + "replace-volume"
	// ReplacePodAnnotation is a command only: the NAME/UID of a pod.
	ReplacePodAnnotation = Prefix + "replacePod"
	// BackupAtAnnotation is a command only: when somebody asked for a snapshot, RFC 3339, and after a /
	// of which schedule.
	BackupAtAnnotation = Prefix + "backupAt"
	// FetchAtAnnotation is a command only: when somebody asked for a drill, or for tables of a snapshot, and which
	// (model.FetchCommand).
	FetchAtAnnotation = Prefix + "fetchAt"

	// OperatorGroup is the API group of crate-operator's CrateDB objects.
	OperatorGroup = "cloud.crate.io"

	// OperatorPrefix begins crate-operator's finalizer, annotations and labels.
	OperatorPrefix = "operator.cloud.crate.io/"

	ManagedByLabel = "app.kubernetes.io/managed-by"
	ComponentLabel = "app.kubernetes.io/component"
	NameLabel      = "app.kubernetes.io/name"
	PartOfLabel    = "app.kubernetes.io/part-of"
	// Component is the value of ComponentLabel on each pod of CrateDB.
	Component = "cratedb"
	// NodeNameLabel carries the group: "master" or the data group's name.
	NodeNameLabel = "cloud.crate.io/node-name"
	// NodeDataLabel is "true" on data nodes.
	NodeDataLabel = "cloud.crate.io/node-data"
	// UserPasswordLabel is crate-operator's label on the Secret of each user.
	UserPasswordLabel = OperatorPrefix + "user-password"
)

// HookLabels on a StatefulSet have the hooks of crate-operator's pods do nothing, when a pod stops
// and when it starts.
var HookLabels = []string{"dc-util-disabled", "dc-util-no-poststart"}

// FieldManager, also the Lease's and the container's name.
const FieldManager = "stevedore"

// DaemonNamespace is where the daemon itself runs.
const DaemonNamespace = "stevedore-system"

// SystemUser is the database user that stevedore (like crate-operator) acts as.
const SystemUser = "system"

// MasterGroup is the group name of dedicated masters.
const MasterGroup = "master"

// Names of a cluster's own objects.

func OperationConfigMap(cluster string) string   { return "stevedore-" + cluster + "-operation" }
func InventoryConfigMap(cluster string) string   { return "stevedore-" + cluster + "-inventory" }
func ReportsConfigMap(cluster string) string     { return "stevedore-" + cluster + "-reports" }
func ObservationConfigMap(cluster string) string { return "stevedore-" + cluster + "-observation" }

// AdoptionConfigMap keeps a cluster as it was before it was adopted.
func AdoptionConfigMap(cluster string) string { return "stevedore-" + cluster + "-adoption" }

// DataKey is the only key of those ConfigMaps; its value is JSON with
// schemaVersion SchemaVersion.
const (
	DataKey       = "data.json"
	SchemaVersion = 1
)

func SystemSecret(cluster string) string     { return systemSecret + cluster }
func Service(cluster string) string          { return "crate-" + cluster }
func DiscoveryService(cluster string) string { return "crate-discovery-" + cluster }
func SQLExporterConfigMap(cluster string) string {
	return "crate-sql-exporter-" + cluster
}

const (
	systemSecret = "user-system-"
	dataBudget   = "crate-data-"
	masterBudget = "crate-master-"
)

func DataBudget(cluster string) string   { return dataBudget + cluster }
func MasterBudget(cluster string) string { return masterBudget + cluster }

// IsSystemSecret, IsDataBudget and IsMasterBudget compare a name without making one:
// decisions ask each time.
func IsSystemSecret(name, cluster string) bool { return isOf(name, systemSecret, cluster) }
func IsDataBudget(name, cluster string) bool   { return isOf(name, dataBudget, cluster) }
func IsMasterBudget(name, cluster string) bool { return isOf(name, masterBudget, cluster) }

func isOf(name, prefix, cluster string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest == cluster
}

// StatefulSet is the name of a group's StatefulSet.
func StatefulSet(cluster, group string, master bool) string {
	if master {
		return "crate-master-" + cluster
	}
	return "crate-data-" + group + "-" + cluster
}

// NodePrefix is what CrateDB's node names of a group begin with: "master" or
// "data-<group>"; a node's name is the prefix, a dash and the pod's ordinal.
func NodePrefix(group string, master bool) string {
	if master {
		return "master"
	}
	return "data-" + group
}
