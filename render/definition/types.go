// Package definition is the CrateDB definition: cloud.crate.io/v1 CrateDB as
// crate-operator 2.63 takes it, plus spec.operations and spec.patches.
package definition

import "time"

// Group, version and kind of a definition.
const (
	Group   = "cloud.crate.io"
	Version = "v1"
	Kind    = "CrateDB"
)

// Problem is one thing wrong in what a person wrote.
type Problem struct {
	File    string // path inside the snapshot; "" when it is not known
	Line    int    // 1-based; 0 when it is not known
	Column  int    // 1-based; 0 when it is not known
	Path    string // field path such as spec.nodes.data[0].replicas; may be ""
	Message string // what is wrong and what to write instead
	// Cluster names the cluster that the problem stops ("namespace/name", or
	// "" when it stops the whole build).
	Cluster string
	// Warning: it stops nothing.
	Warning bool
}

// CrateDB is one definition, checked and with old spellings made new.
type CrateDB struct {
	Namespace   string
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Spec        Spec
	// File is where the definition's base document stands in the snapshot.
	File string
	Line int
	// DataAt and MasterAt are where its groups and its dedicated masters stand.
	DataAt, MasterAt Place
}

// Place is a position in a file of the snapshot; zero where it is not known.
type Place struct {
	File         string
	Line, Column int
}

type Spec struct {
	Cluster    Cluster
	Nodes      Nodes
	Users      []User
	Ports      Ports
	Operations Operations
	Patches    []Patch
	// Backups is nil for none. BackupsLeftOut is true when spec.backups stands in the definition
	// and the consent "without-backups" leaves it out.
	Backups        *Backups
	BackupsLeftOut bool
}

type Cluster struct {
	Name               string // goes to -Ccluster.name only
	ImageRegistry      string
	Version            string
	License            *SecretKeyRef
	Settings           []Setting // sorted as crate-operator writes them: in the definition's order
	SSL                *SSL
	AllowedCIDRs       []string
	ExternalDNS        string
	ServiceAnnotations map[string]string
}

// Setting is one CrateDB setting; Value is what follows the = on the command
// line.
type Setting struct{ Name, Value string }

type SecretKeyRef struct{ Name, Key string }

type SSL struct{ Keystore, KeystorePassword, KeystoreKeyPassword SecretKeyRef }

type Nodes struct {
	Master *NodeGroup // nil: a data group is master-eligible
	Data   []NodeGroup
}

type NodeGroup struct {
	Name        string // "master" for dedicated masters
	Replicas    int
	Nodepool    string
	Resources   Resources
	Settings    []Setting
	Labels      map[string]string
	Annotations map[string]string
}

// Resources after old spellings (cpus, memory) were made new and requests were
// filled from limits as crate-operator does.
type Resources struct {
	RequestCPU, LimitCPU       float64 // cores
	RequestMemory, LimitMemory string  // as written, a Kubernetes or bitmath quantity ("4Gi", "128GiB")
	Disk                       Disk
	HeapRatio                  float64
}

type Disk struct {
	Count        int
	Size         string // as written
	StorageClass string
	// VolumeAttributesClass is that of the data disks; "" for none.
	VolumeAttributesClass string
}

type User struct {
	Name     string
	Password SecretKeyRef
}

// Ports; zero values never occur, defaults are crate-operator's.
type Ports struct{ HTTP, Postgres, JMX, Prometheus, Exporter, Transport int }

// Patch is one of spec.patches, the shape of kustomize's `patches`.
type Patch struct {
	Patch   string // YAML: strategic merge or JSON 6902
	Path    string // file beside the definition; "" when inline
	Target  *Target
	Options map[string]bool
	// File, Line and Column are where it stands, for its errors; File is "" where that is the
	// definition's own.
	File         string
	Line, Column int
}

type Target struct{ Group, Version, Kind, Name, Namespace, LabelSelector, AnnotationSelector string }

// Consent is a thing that a definition allows; see docs/definition.md.
type Consent string

const (
	ConsentSuspend            Consent = "suspend"
	ConsentDeleteCluster      Consent = "delete-cluster"
	ConsentRemoveGroup        Consent = "remove-group"
	ConsentTwoMasters         Consent = "two-masters"
	ConsentWithoutBackups     Consent = "without-backups"
	ConsentExtendTableFilters Consent = "extend-table-filters"
	ConsentLeaveZone          Consent = "leave-zone"
	ConsentTakeOver           Consent = "take-over"
	ConsentDeleteVolumes      Consent = "delete-volumes"
)

// Operations is spec.operations: the policy of a cluster. Zero durations mean
// what the daemon is configured with, and without that the default.
type Operations struct {
	Consent          []Consent
	StableFor        time.Duration // default 60s
	MasterStableFor  time.Duration // default 120s
	BootstrapTimeout time.Duration // default 1800s
	ScaleTimeout     time.Duration // default 3600s
	RestartTimeout   time.Duration // default 3600s
	BudgetTimeout    time.Duration // default 1800s
	Unreplicated     string        // proceed (default) | refuse
	SettledYellow    string        // refuse (default) | proceed
	Unhealable       string        // refuse (default) | proceed
	RestartBy        string        // pod (default) | zone
	Adoption         string        // never | if-unowned | always; "" = the daemon's
	Base             string        // version of render/base; "" = what the record pins
	// DebugVolume is no part of a revision where it is left out: an upgrade of
	// stevedore would make another revision of each cluster.
	DebugVolume DebugVolume `json:",omitzero"`
	// Sysctl says who sets what CrateDB wants of the kernel: "container" or SysctlHost; ""
	// is "container", and no part of a revision.
	Sysctl string `json:",omitempty"`
	// NoNodeFits says whether pods are restarted although no Kubernetes node takes one of them:
	// "wait" or "proceed"; "" is "wait", and no part of a revision.
	NoNodeFits string `json:",omitempty"`
	// OfflineResize says whether a pod is restarted whose volume's driver cannot work while it
	// runs; "" is "wait", and no part of a revision.
	OfflineResize string `json:",omitempty"`
	// Adopt are the groups whose StatefulSet somebody else has made; none, and no part of a revision,
	// where all names are stevedore's.
	Adopt []Names `json:",omitempty"`
	// Resize says whether other CPU and memory that CrateDB does not read at its start come to
	// running pods or by a restart; "" is "in-place", and no part of a revision.
	Resize string `json:",omitempty"`
}

// SysctlHost: the Kubernetes nodes have the settings already, and no privileged container
// sets them.
const SysctlHost = "host"

// DebugVolume is the claim for heap dumps of each node; what is empty is what the
// cluster was made with.
type DebugVolume struct {
	Size         string // as written
	StorageClass string
}

// Has reports whether the definition consents to c.
func (o Operations) Has(c Consent) bool {
	for _, have := range o.Consent {
		if have == c {
			return true
		}
	}
	return false
}
