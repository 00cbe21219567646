//go:build linux

// Package image makes the images that real nodes run, from what this machine and
// Debian's and Python's package registries have: no other registry is asked.
package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratehome"
)

// userID is the user and group of CrateDB in its image.
const userID = 1000

// Busybox is the image of the init container that sets sysctls, Pause that which
// holds a pod's namespaces.
const (
	Busybox = "docker.io/library/busybox:1.35.0"
	Pause   = "localhost/pause:1"
	// Exits is an image whose CrateDB ends at once, with exit code 1; without its tag,
	// which is that of any release.
	Exits = "broken.example/crate"
	// crateDB is the image of CrateDB, without its tag.
	crateDB = "docker.io/library/crate"
)

// Options of Make.
type Options struct {
	// CrateDBHome is an unpacked release of CrateDB, or a folder with one for each
	// version.
	CrateDBHome string
	// To is the folder of the archives that Make writes: crate.tar with an image for
	// each release, and small.tar with what is made of busybox.
	To string
	// Progress gets one line a step; nil: nothing.
	Progress func(string)
}

// Missing says by name what this machine lacks to make images; nil: nothing.
func Missing(o Options) error {
	var failed error
	if os.Getuid() != 0 {
		failed = errors.New("root is needed, to unpack packages: use sudo")
	}
	var wanting []string
	for _, p := range []struct{ name, command string }{
		{"debootstrap", "debootstrap"}, {"busybox-static", "busybox"}, {"python3-pip", "pip3"}, {"gcc libc6-dev", "cc"},
	} {
		if _, err := exec.LookPath(p.command); err != nil && (p.command != "cc" || tooFewFiles()) {
			wanting = append(wanting, p.name)
		}
	}
	if len(wanting) > 0 {
		failed = errors.Join(failed, fmt.Errorf("packages of Debian are missing: apt-get install --no-install-recommends %s", strings.Join(wanting, " ")))
	}
	if _, err := releases(o.CrateDBHome); err != nil {
		failed = errors.Join(failed, err)
	}
	return failed
}

// Make makes the images of CrateDB that are not there yet, and the small ones, which
// take no time.
func Make(ctx context.Context, o Options) error {
	if err := Missing(o); err != nil {
		return fmt.Errorf("making images: %w", err)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	var err error
	if o.To, err = filepath.Abs(o.To); err != nil {
		return fmt.Errorf("finding the folder of images: %w", err)
	}
	if err := os.MkdirAll(o.To, 0o755); err != nil {
		return fmt.Errorf("making the folder of images: %w", err)
	}
	all, err := releases(o.CrateDBHome)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.To, "work-")
	if err != nil {
		return fmt.Errorf("making a folder to pack images in: %w", err)
	}
	defer os.RemoveAll(work)
	p := &packer{dir: work}
	if err := makeSmall(p, filepath.Join(o.To, "small.tar"), all); err != nil {
		return err
	}
	var made strings.Builder
	fmt.Fprintf(&made, "recipe %d, too few files %v\n", recipe, tooFewFiles())
	for _, r := range all {
		fmt.Fprintf(&made, "%s %s %s %s\n", r.Version, r.Home, r.jdk, r.changed)
	}
	record := filepath.Join(o.To, "made-of")
	if was, err := os.ReadFile(record); err == nil && string(was) == made.String() {
		return nil
	}
	o.Progress("unpacking Debian for the image of CrateDB")
	base, err := debian(ctx, p)
	if err != nil {
		return err
	}
	var images []packed
	jdks := map[string]*layer{}
	for _, r := range all {
		o.Progress("packing CrateDB " + r.Version)
		if jdks[r.jdk] == nil {
			if jdks[r.jdk], err = p.layer(fmt.Sprintf("jdk-%d", len(jdks)), source{from: r.jdk, to: "crate/jdk", skip: needlessInJDK}); err != nil {
				return err
			}
		}
		release, err := r.layer(p)
		if err != nil {
			return err
		}
		images = append(images, packed{name: crateDB + ":" + r.Version, layers: []*layer{base, jdks[r.jdk], release}, config: crateConfig()})
	}
	if err := archive(filepath.Join(o.To, "crate.tar"), images...); err != nil {
		return err
	}
	if err := os.WriteFile(record, []byte(made.String()), 0o644); err != nil {
		return fmt.Errorf("noting what the images were made of: %w", err)
	}
	return nil
}

// recipe is raised when images made before have to be packed again.
const recipe = 1

// release is an unpacked release of CrateDB.
type release struct {
	cratehome.Release
	jdk     string
	changed string
}

func releases(home string) ([]release, error) {
	found, err := cratehome.All(home)
	if err != nil {
		return nil, err
	}
	var all []release
	for _, each := range found {
		r := release{Release: each}
		for _, jdk := range []string{filepath.Join(each.Home, "jdk"), os.Getenv("JAVA_HOME")} {
			resolved, err := filepath.EvalSymlinks(jdk)
			if _, missing := os.Stat(filepath.Join(resolved, "bin", "java")); jdk != "" && err == nil && missing == nil {
				r.jdk = resolved
				break
			}
		}
		if r.jdk == "" {
			return nil, fmt.Errorf("the release %s has no folder jdk: set JAVA_HOME to the JDK that it wants", each.Home)
		}
		info, err := os.Stat(filepath.Join(each.Home, "lib"))
		if err != nil {
			return nil, fmt.Errorf("looking at the release %s: %w", each.Home, err)
		}
		r.changed = info.ModTime().UTC().Format("2006-01-02T15:04:05")
		all = append(all, r)
	}
	return all, nil
}

func (r release) layer(p *packer) (*layer, error) {
	settings, err := os.MkdirTemp(p.dir, "config-")
	if err != nil {
		return nil, fmt.Errorf("packing CrateDB %s: %w", r.Version, err)
	}
	if err := os.WriteFile(filepath.Join(settings, "crate.yml"), []byte(crateYML), 0o644); err != nil {
		return nil, fmt.Errorf("packing CrateDB %s: %w", r.Version, err)
	}
	if err := os.Chmod(settings, 0o755); err != nil {
		return nil, fmt.Errorf("packing CrateDB %s: %w", r.Version, err)
	}
	leaveOut := []string{"jdk", "data", "blobs", filepath.Join("config", "crate.yml")}
	return p.layer("crate-"+r.Version,
		source{from: r.Home, to: "crate", owned: []string{"logs"}, skip: func(path string) bool { return slices.Contains(leaveOut, path) }},
		source{from: settings, to: "crate/config"})
}

// needlessInJDK are the files that only developers need.
func needlessInJDK(path string) bool {
	return slices.Contains([]string{"lib/src.zip", "jmods", "include", "man", "demo", "legal", "lib/ct.sym"}, path)
}
