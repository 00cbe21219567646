// Package base holds the objects that every cluster is made of, as YAML that a
// person can read, one folder a version. A released version never changes: a
// running cluster is pinned to the one it was made with, so that a new release
// of stevedore restarts nothing.
package base

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed v1 v2
var files embed.FS

// In V1 the claim `debug` has crate-operator's storage class; from V2 on it has
// that of the group's data, and CrateDB's pods have no token of Kubernetes, bounded
// init containers, and the last lines of the log as CrateDB's termination message.
const (
	V1 = "v1"
	V2 = "v2"
)

// versions in the order of their release.
var versions = []string{V1, V2}

// Newest is what a new cluster is made with.
func Newest() string { return versions[len(versions)-1] }

// Versions lists every version that is embedded, oldest first.
func Versions() []string { return slices.Clone(versions) }

// Open gives one version's files. An unknown version is an error that names
// those that exist.
func Open(version string) (fs.FS, error) {
	if !slices.Contains(versions, version) {
		return nil, fmt.Errorf("there is no base %q in this release; it has %s", version, strings.Join(versions, ", "))
	}
	return fs.Sub(files, version)
}
