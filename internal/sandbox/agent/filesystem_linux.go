package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mountSized makes a folder a file system of the size, in memory. It fails where this process
// may not mount.
func mountSized(folder string, size resource.Quantity) error {
	if isMountPoint(folder) {
		return nil
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0777,size="+strconv.FormatInt(size.Value(), 10)); err != nil {
		return fmt.Errorf("mounting a file system of %s at %s: %w", size.String(), folder, err)
	}
	return nil
}

// resizeSized makes such a file system larger, also under a process that uses it. Any other
// folder stays as it is.
func resizeSized(folder string, size resource.Quantity) error {
	if !isMountPoint(folder) {
		return nil
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "size="+strconv.FormatInt(size.Value(), 10)); err != nil {
		return fmt.Errorf("growing the file system at %s to %s: %w", folder, size.String(), err)
	}
	return nil
}

// unmountSized takes such a file system away, with what is on it.
func unmountSized(folder string) {
	if isMountPoint(folder) {
		_ = unix.Unmount(folder, unix.MNT_DETACH) // the folder is removed next, and says what is wrong
	}
}

// isMountPoint reports whether another file system is there than above it.
func isMountPoint(folder string) bool {
	var here, above unix.Stat_t
	return unix.Stat(folder, &here) == nil && unix.Stat(filepath.Dir(folder), &above) == nil && here.Dev != above.Dev
}

// unmountAll takes away what is still mounted in the folder of volumes.
func unmountAll(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		unmountSized(filepath.Join(folder, e.Name()))
	}
}

// MayMount says why this process cannot make file systems of a size; nil where it can.
func MayMount() error {
	dir, err := os.MkdirTemp("", "stevedore-mount-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	defer unmountSized(dir)
	return mountSized(dir, resource.MustParse("1Mi"))
}
