package testbed

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Container is a root folder as an image makes it, for processes that know no
// other and belong to a user who may write nowhere but into volumes. It has no
// /proc, no /dev, no passwd and no shell: less than any container runtime gives.
// Only root can start processes in it.
type Container struct {
	Dir   string
	image *Image
	// volumes are the folders that its user may write into, mounted those that
	// were put into the image's root.
	volumes []string
	placed  []string
}

// NewContainer unpacks the image into dir. Files of the repository are found
// under root, unless files names another in their place.
func NewContainer(dir, root string, image *Image, files map[string]string) (*Container, error) {
	c := &Container{Dir: dir, image: image}
	for to, from := range image.Copies {
		file, ok := files[from]
		if !ok {
			file = filepath.Join(root, from)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("making %s of the image: %w", to, err)
		}
		mode := fs.FileMode(0o444)
		if to == image.Entrypoint[0] {
			mode = 0o555
		}
		if err := c.place(to, content, mode); err != nil {
			return nil, err
		}
	}
	return c, os.Chmod(dir, 0o555)
}

func (c *Container) place(path string, content []byte, mode fs.FileMode) error {
	at := filepath.Join(c.Dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return fmt.Errorf("making %s of a container: %w", path, err)
	}
	if err := os.WriteFile(at, content, 0o600); err != nil {
		return fmt.Errorf("making %s of a container: %w", path, err)
	}
	c.placed = append(c.placed, path)
	return os.Chmod(at, mode)
}

// Mount puts a file into the root that its user may read, as a Secret or a
// ConfigMap is.
func (c *Container) Mount(path string, content []byte) error { return c.place(path, content, 0o444) }

// MountFolder puts a copy of a folder there, for its user to read.
func (c *Container) MountFolder(path, from string) error {
	return filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		return c.Mount(filepath.Join(path, inside), content)
	})
}

// Volume makes an emptyDir as a kubelet does for a pod with an fsGroup.
func (c *Container) Volume(path string) error {
	at := filepath.Join(c.Dir, path)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("making the volume %s: %w", path, err)
	}
	if err := os.Chown(at, 0, int(c.image.GID)); err != nil {
		return fmt.Errorf("making the volume %s: %w", path, err)
	}
	c.volumes = append(c.volumes, path)
	return os.Chmod(at, 0o777|fs.ModeSetgid)
}

// Command is a process in the container that has not started yet. The
// environment is what a container runtime gives, and env.
func (c *Container) Command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.image.Entrypoint[0], append(slices.Clone(c.image.Entrypoint[1:]), args...)...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "HOSTNAME=container"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.Dir, Credential: &syscall.Credential{Uid: c.image.UID, Gid: c.image.GID}}
	return cmd
}

// Strays are files in the root that nobody put there and that are in no volume.
func (c *Container) Strays() ([]string, error) {
	var strays []string
	err := filepath.WalkDir(c.Dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := "/" + strings.TrimPrefix(strings.TrimPrefix(at, c.Dir), "/")
		switch {
		case entry.IsDir() && slices.Contains(c.volumes, path):
			return fs.SkipDir
		case !entry.IsDir() && !slices.Contains(c.placed, path):
			strays = append(strays, path)
		}
		return nil
	})
	return strays, err
}
