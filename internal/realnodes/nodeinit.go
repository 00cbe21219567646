//go:build linux

package realnodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// nodeDirVariable is the folder of a node, nodeNameVariable its name.
	nodeDirVariable  = "STEVEDORE_REAL_NODES_NODE_DIR"
	nodeNameVariable = "STEVEDORE_REAL_NODES_NODE"
	// readyDescriptor is the pipe on which the first process of a node says that
	// its namespaces are made, or why not.
	readyDescriptor = 3

	diskImage = "disk.ext4"
	// volumesDir is where a node has the volumes of claims.
	volumesDir = "/var/lib/stevedore-volumes"
)

// onDisk are the folders of a node that are on its own disk, by their name there.
var onDisk = map[string]string{
	"containerd": "/var/lib/containerd", "kubelet": "/var/lib/kubelet", "cni": "/var/lib/cni",
	"pods": "/var/log/pods", "containers": "/var/log/containers", "volumes": volumesDir,
}

// nodeInit is the first process of a node, as init is on a machine of its own: it
// makes what is in its namespaces and buries what nobody waits for. Its end is a
// power cut.
func nodeInit() int {
	ready := os.NewFile(readyDescriptor, "ready")
	err := enterNode(os.Getenv(nodeDirVariable), os.Getenv(nodeNameVariable))
	if err != nil {
		_, _ = ready.WriteString(err.Error())
	}
	_ = ready.Close()
	if err != nil {
		return 1
	}
	return reapUntil(0)
}

func enterNode(dir, name string) error {
	if err := enterWorld(); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("naming the machine %s: %w", name, err)
	}
	// A kubelet hands mounts on to containers: within the node they are shared.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("sharing the mounts: %w", err)
	}
	disk := filepath.Join(dir, "disk")
	if err := os.MkdirAll(disk, 0o755); err != nil {
		return fmt.Errorf("making the mount point of the disk: %w", err)
	}
	// The loop device is let go of with the mount.
	if err := run("mount", "-o", "loop", filepath.Join(dir, diskImage), disk); err != nil {
		return err
	}
	for _, at := range []string{"/run", "/var/lib", "/var/log"} {
		if err := syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=755"); err != nil {
			return fmt.Errorf("mounting an empty %s: %w", at, err)
		}
	}
	for from, to := range onDisk {
		from = filepath.Join(disk, from)
		if err := errors.Join(os.MkdirAll(from, 0o755), os.MkdirAll(to, 0o755)); err != nil {
			return fmt.Errorf("making a folder of the node: %w", err)
		}
		if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", to, err)
		}
	}
	// Where it is a link into what is hidden by now, names are asked for nowhere.
	if err := syscall.Mount(filepath.Join(dir, "resolv.conf"), "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mounting /etc/resolv.conf: %w", err)
	}
	return nil
}
