// Package render turns a snapshot into clusters: kustomize builds the user's
// tree into definitions and other objects, and each definition with the
// embedded base becomes the cluster's own objects. It is pure over the
// snapshot, the configuration and the pins: no network, no cluster, no clock.
package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
)

// CloudProvider says how a node learns its zone, as crate-operator's setting
// of the same name.
type CloudProvider string

const (
	CloudNone  CloudProvider = ""
	CloudAWS   CloudProvider = "aws"
	CloudAzure CloudProvider = "azure"
	CloudGCP   CloudProvider = "gcp"
)

// Config is what the daemon's flags say to render. Zero value: no cloud, no
// exporters, the default kinds.
type Config struct {
	CloudProvider CloudProvider
	// DefaultNamespace is for objects that name none; "" makes that an error.
	DefaultNamespace string
	// AllowedKinds are the other kinds that may travel with a cluster,
	// "ConfigMap" or "group/Kind"; nil means DefaultAllowedKinds.
	AllowedKinds []string
	// SQLExporterImage, empty: no sql-exporter container.
	SQLExporterImage string
	// JMXExporterURL and JMXExporterSHA256, empty: no JMX exporter.
	JMXExporterURL, JMXExporterSHA256 string
	// InitImage runs sysctl; empty: the base's own.
	InitImage string
	// DebugStorageClass and DebugVolumeSize are of the claim `debug` of new
	// clusters; empty: the class of the group's data, and the base's size.
	DebugStorageClass, DebugVolumeSize string
}

// Pins are what the record fixes for a live cluster. The zero value is a new
// cluster: the newest base, the first data group master-eligible.
type Pins struct {
	Base        string
	MasterGroup string
	// DebugClass and DebugSize are of the claim `debug`; empty: the base's. They are
	// pinned since claims of a StatefulSet never change: another flag is for the
	// clusters that are made after it.
	DebugClass string
	DebugSize  string
}

// Cluster is one definition of a build, or what is wrong with it.
type Cluster struct {
	Namespace, Name string
	// Definition is nil when Problems is not empty.
	Definition *definition.CrateDB
	// BuiltBy is the kustomization that built the definition, a path inside of the
	// snapshot; "" where the definition was read as it stands.
	BuiltBy string
	// Others are the objects that travel with the cluster, in a stable order.
	Others []*unstructured.Unstructured
	// OtherFiles are where Others stand, in the same order; "" when not known. An
	// object that is generated stands in its kustomization.
	OtherFiles []string
	// Problems are what is wrong with this cluster alone.
	Problems []definition.Problem
	// Warnings are what looks like a mistake, and stops nothing.
	Warnings []definition.Problem
}

// Build is a snapshot's outcome.
type Build struct {
	// Clusters are sorted by namespace and name; a broken one is among them.
	Clusters []Cluster
	// Problems stop what cannot be attributed to one cluster. While there is
	// one, a cluster that is missing above has not been removed.
	Problems []definition.Problem
	// Warnings of no single cluster stop nothing.
	Warnings []definition.Problem
}

// Rendered is a cluster's own objects and those that travel with it.
type Rendered struct {
	// Objects: ours first, then the travelling ones; each has its namespace,
	// the label stevedore.dev/cluster and no server-owned field.
	Objects []*unstructured.Unstructured
	// Revision is the hash of this cluster's render: a commit that does not
	// touch the cluster leaves it as it was.
	Revision string
	// Pins as they were used, to be recorded for a new cluster.
	Pins Pins
}
