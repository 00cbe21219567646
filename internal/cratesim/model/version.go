package model

import "stevedore.dev/stevedore/internal/cratesim/allocation"

// Version is a CrateDB release: major, minor, hotfix. Its zero value is older than
// every release.
type Version = allocation.Version

// ParseVersion reads "6.4.3". What follows a dash ("-SNAPSHOT", as images of nightly
// builds are tagged) is left out; a missing minor or hotfix counts as 0.
func ParseVersion(s string) (Version, error) { return allocation.ParseVersion(s) }
