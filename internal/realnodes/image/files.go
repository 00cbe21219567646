//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// crateYML is the configuration inside of the image: a node listens on the pod's
// address and on loopback, and writes where the entrypoint lets its user write.
const crateYML = `auth.host_based.enabled: true
auth:
  host_based:
    config:
      0:
        user: crate
        address: _local_
        method: trust
      99:
        method: password
network.host: _local_,_site_
path:
  logs: /data/log
  data: /data/data
blobs:
  path: /data/blobs
`

// entrypoint gives /data to CrateDB's user and becomes that user.
const entrypoint = `#!/bin/sh
set -e
case "$1" in
-*) set -- crate "$@" ;;
esac
if [ "$1" = crate ] && [ "$(id -u)" = 0 ]; then
	chown -R crate:crate /data
	exec chroot --userspec=1000:1000 / "$@"
fi
exec "$@"
`

const crashFile = `#!/usr/bin/python3
import sys
sys.path.insert(0, "/opt/crash")
from crate.crash.command import main
main()
`

// filesLibrary says that as many files may be open as CrateDB wants. It is for
// machines whose own limit is lower and may not be raised by anybody: there that one
// check of CrateDB's at its start cannot be tried.
const filesLibrary = `#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#define WANTED 1048576
int getrlimit(__rlimit_resource_t what, struct rlimit *limit) {
	int failed = syscall(SYS_prlimit64, 0, what, (void *)0, limit);
	if (!failed && what == RLIMIT_NOFILE && limit->rlim_max < WANTED)
		limit->rlim_cur = limit->rlim_max = WANTED;
	return failed;
}
int getrlimit64(__rlimit_resource_t what, struct rlimit64 *limit) {
	return getrlimit(what, (struct rlimit *)limit);
}
`

const filesLibraryPath = "/usr/local/lib/open-files.so"

// leastFiles is what CrateDB asks for at its start.
const leastFiles = 65535

// tooFewFiles says whether this machine lets no process open as many files as
// CrateDB asks for.
func tooFewFiles() bool {
	var limit syscall.Rlimit
	return syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Max < leastFiles
}

// The user of CrateDB, as userID has it.
const (
	passwdLine = "crate:x:1000:1000::/crate:/bin/sh\n"
	groupLine  = "crate:x:1000:\n"
)

func crateConfig() config {
	c := config{
		Env: []string{
			"PATH=/crate/bin:/crate/jdk/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"CRATE_HOME=/crate", "LANG=C.UTF-8",
		},
		WorkingDir: "/data", Entrypoint: []string{"/docker-entrypoint.sh"}, Cmd: []string{"crate"},
	}
	if tooFewFiles() {
		c.Env = append(c.Env, "LD_PRELOAD="+filesLibraryPath)
	}
	return c
}

// debian makes the layer below CrateDB: a small Debian of this machine's own
// release, with curl, crash and the user.
func debian(ctx context.Context, p *packer) (*layer, error) {
	suite, err := suiteOf("/etc/os-release")
	if err != nil {
		return nil, err
	}
	root := filepath.Join(p.dir, "debian")
	// What it mounts for the packages' scripts is seen by nobody else, and goes with it.
	if err := command(ctx, "unshare", "--mount", "debootstrap", "--variant=minbase", "--include=curl,python3", suite, root); err != nil {
		return nil, err
	}
	if err := command(ctx, "pip3", "install", "--quiet", "--root-user-action=ignore", "--target", filepath.Join(root, "opt", "crash"), "crash"); err != nil {
		return nil, err
	}
	for name, content := range map[string]string{"docker-entrypoint.sh": entrypoint, "usr/local/bin/crash": crashFile} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o755); err != nil {
			return nil, fmt.Errorf("making the image of CrateDB: %w", err)
		}
	}
	for name, line := range map[string]string{"etc/passwd": passwdLine, "etc/group": groupLine} {
		if err := appendTo(filepath.Join(root, name), line); err != nil {
			return nil, fmt.Errorf("making the image of CrateDB: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "data"), 0o755); err != nil {
		return nil, fmt.Errorf("making the image of CrateDB: %w", err)
	}
	if tooFewFiles() {
		from := filepath.Join(p.dir, "open-files.c")
		if err := os.WriteFile(from, []byte(filesLibrary), 0o600); err != nil {
			return nil, fmt.Errorf("making the image of CrateDB: %w", err)
		}
		if err := command(ctx, "cc", "-O1", "-shared", "-fPIC", "-o", filepath.Join(root, filesLibraryPath), from); err != nil {
			return nil, err
		}
	}
	made, err := p.layer("debian", source{from: root, owned: []string{"data"}, skip: func(path string) bool {
		for _, cache := range []string{"var/cache/apt", "var/lib/apt/lists", "var/log", "usr/share/doc", "usr/share/man", "usr/share/locale", "dev", "proc", "sys"} {
			if strings.HasPrefix(path, cache+"/") {
				return true
			}
		}
		return false
	}})
	return made, errors.Join(err, os.RemoveAll(root))
}

func suiteOf(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("looking which Debian this is: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name == "VERSION_CODENAME" {
			return strings.Trim(value, `"`), nil
		}
	}
	return "", fmt.Errorf("looking which Debian this is: %s has no VERSION_CODENAME", file)
}

func appendTo(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line)
	return errors.Join(err, file.Close())
}

func command(ctx context.Context, name string, arguments ...string) error {
	out, err := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(out))
		return fmt.Errorf("%s %s: %w:\n%s", name, strings.Join(arguments, " "), err, said[max(0, len(said)-2000):])
	}
	return nil
}

// makeSmall packs busybox alone: as the image of an init container, as what holds a
// pod's namespaces, and as images of CrateDB that end at once.
func makeSmall(p *packer, to string, of []release) error {
	root := filepath.Join(p.dir, "busybox")
	if err := unpackBusybox(root); err != nil {
		return fmt.Errorf("packing busybox: %w", err)
	}
	all, err := p.layer("busybox", source{from: root})
	if err != nil {
		return err
	}
	// Its init container has to know the user.
	ending := filepath.Join(p.dir, "exits")
	err = os.MkdirAll(filepath.Join(ending, "etc"), 0o755)
	for name, content := range map[string]string{
		"docker-entrypoint.sh": "#!/bin/sh\necho this image starts no CrateDB\nexit 1\n",
		"etc/passwd":           "root:x:0:0::/:/bin/sh\n" + passwdLine, "etc/group": "root:x:0:\n" + groupLine,
	} {
		if err == nil {
			err = os.WriteFile(filepath.Join(ending, name), []byte(content), 0o755)
		}
	}
	if err != nil {
		return fmt.Errorf("packing an image that exits: %w", err)
	}
	exits, err := p.layer("exits", source{from: ending})
	if err != nil {
		return err
	}
	path := []string{"PATH=/bin"}
	images := []packed{
		{name: Busybox, layers: []*layer{all}, config: config{Env: path, Cmd: []string{"sh"}}},
		{name: Pause, layers: []*layer{all}, config: config{Env: path, Entrypoint: []string{"sleep", "2147483647"}}},
	}
	for _, r := range of {
		images = append(images, packed{name: Exits + ":" + r.Version, layers: []*layer{all, exits}, config: config{Env: path}})
	}
	return archive(to, images...)
}

func unpackBusybox(root string) error {
	binary, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "busybox"), content, 0o755); err != nil {
		return err
	}
	out, err := exec.Command(binary, "--list").Output()
	if err != nil {
		return fmt.Errorf("asking for its commands: %w", err)
	}
	for _, name := range strings.Fields(string(out)) {
		if name == "busybox" {
			continue
		}
		if err := os.Symlink("busybox", filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}
