// Package cratehome finds what a real CrateDB on this machine is started from: its release,
// and the user that it runs as.
package cratehome

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// User is a user of this machine, by its numbers.
type User struct{ ID, Group uint32 }

// Unprivileged is who CrateDB runs as, for it refuses to be root; nil: as this process.
func Unprivileged() (*User, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"crate", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		id, err1 := strconv.ParseUint(found.Uid, 10, 32)
		group, err2 := strconv.ParseUint(found.Gid, 10, 32)
		if err1 == nil && err2 == nil && id != 0 {
			return &User{uint32(id), uint32(group)}, nil
		}
	}
	return nil, errors.New("running a real CrateDB: it refuses to run as root and there is no user crate or nobody; start it as another user")
}

// releaseTag is the version of a release.
var releaseTag = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versionInName finds a release's version in the name of a folder or a library.
var versionInName = regexp.MustCompile(`(\d+\.\d+\.\d+)`)

var errNotSet = errors.New("CRATEDB_HOME is not set: it names an unpacked release of CrateDB, or a folder with one for each version")

// Find is the home of the release that serves a version: the exact one, else the only one of
// that minor. home is an unpacked release, or a folder with one for each version.
func Find(home, version string) (string, error) {
	if home == "" {
		return "", errNotSet
	}
	if isRelease(home) {
		// One release, of a version that may not be known: a build of one's own.
		known := versionOfRelease(home)
		if !releaseTag.MatchString(known) || minor(known) == minor(version) {
			return home, nil
		}
		return "", fmt.Errorf("the release in %s is %s, not %s", home, known, version)
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return "", fmt.Errorf("looking for CrateDB releases: %w", err)
	}
	var all, same []string
	for _, entry := range entries {
		folder := filepath.Join(home, entry.Name())
		found := versionInName.FindString(entry.Name())
		if found == "" || !isRelease(folder) {
			continue
		}
		if found == version {
			return folder, nil
		}
		all = append(all, found)
		if minor(found) == minor(version) {
			same = append(same, folder)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return "", fmt.Errorf("%s has several releases of %s but not %s: unpack that one there", home, minor(version), version)
	case len(all) == 0:
		return "", fmt.Errorf("%s has no CrateDB release: unpack one to %s", home, filepath.Join(home, version))
	}
	slices.Sort(all)
	return "", fmt.Errorf("%s has no release %s, it has %s", home, version, strings.Join(all, ", "))
}

// Release is an unpacked release of CrateDB.
type Release struct{ Version, Home string }

// All are the releases of home, which is one release or a folder with one for each
// version; in the order of their names.
func All(home string) ([]Release, error) {
	if home == "" {
		return nil, errNotSet
	}
	if isRelease(home) {
		version := versionOfRelease(home)
		if !releaseTag.MatchString(version) {
			return nil, fmt.Errorf("the release in %s does not say its version: name its folder crate-X.Y.Z", home)
		}
		return []Release{{version, home}}, nil
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil, fmt.Errorf("looking for CrateDB releases: %w", err)
	}
	var all []Release
	for _, entry := range entries {
		folder := filepath.Join(home, entry.Name())
		if version := versionInName.FindString(entry.Name()); version != "" && isRelease(folder) {
			all = append(all, Release{version, folder})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no CrateDB release: unpack one to %s", home, filepath.Join(home, "crate-X.Y.Z"))
	}
	return all, nil
}

func isRelease(folder string) bool {
	info, err := os.Stat(filepath.Join(folder, "bin", "crate"))
	return err == nil && !info.IsDir()
}

func versionOfRelease(home string) string {
	if content, err := os.ReadFile(filepath.Join(home, "VERSION")); err == nil {
		return strings.TrimSpace(string(content))
	}
	libraries, _ := filepath.Glob(filepath.Join(home, "lib", "crate-*.jar"))
	for _, library := range libraries {
		if found := versionInName.FindString(filepath.Base(library)); found != "" {
			return found
		}
	}
	resolved, err := filepath.EvalSymlinks(home)
	if err != nil {
		resolved = home
	}
	return versionInName.FindString(filepath.Base(resolved))
}

func minor(version string) string { return version[:strings.LastIndexByte(version, '.')] }
