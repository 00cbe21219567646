package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mount is a path in a container and what it is on this machine.
type mount struct{ path, host string }

// mountVolumes makes the folders of the pod's volumes.
func (w *worker) mountVolumes(ctx context.Context) error {
	pod := w.current()
	used := map[string]bool{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
		}
	}
	for _, volume := range pod.Spec.Volumes {
		if !used[volume.Name] {
			continue // a kubelet leaves out what no container mounts
		}
		folder, err := w.mountVolume(ctx, volume)
		if err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err)
		}
		w.mu.Lock()
		w.volumes[volume.Name] = folder
		w.mu.Unlock()
	}
	return nil
}

func (w *worker) mountVolume(ctx context.Context, volume corev1.Volume) (string, error) {
	if claim := volume.PersistentVolumeClaim; claim != nil {
		return w.mountClaim(ctx, claim.ClaimName)
	}
	folder := filepath.Join(w.dir, "volumes", volume.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	var err error
	switch {
	case volume.Secret != nil:
		err = w.projectSecret(ctx, folder, volume.Secret.SecretName, volume.Secret.Items, volume.Secret.Optional)
	case volume.ConfigMap != nil:
		err = w.projectConfigMap(ctx, folder, volume.ConfigMap.Name, volume.ConfigMap.Items, volume.ConfigMap.Optional)
	case volume.DownwardAPI != nil:
		err = w.projectFields(folder, volume.DownwardAPI.Items)
	case volume.Projected != nil:
		for _, source := range volume.Projected.Sources {
			switch {
			case source.Secret != nil:
				err = w.projectSecret(ctx, folder, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
			case source.ConfigMap != nil:
				err = w.projectConfigMap(ctx, folder, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
			case source.DownwardAPI != nil:
				err = w.projectFields(folder, source.DownwardAPI.Items)
			default:
				err = errors.New("the sandbox does not know this projected source")
			}
			if err != nil {
				break
			}
		}
	case volume.EmptyDir != nil, volume.HostPath != nil:
		// A folder of this machine is never given to a pod.
		err = w.own(folder)
	default:
		err = errors.New("the sandbox does not know this kind of volume")
	}
	return folder, err
}

// mountClaim is the folder of the volume that a claim is bound to.
func (w *worker) mountClaim(ctx context.Context, name string) (string, error) {
	claim, err := w.agent.o.Client.CoreV1().PersistentVolumeClaims(w.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the claim %s: %w", name, err)
	}
	if claim.Spec.VolumeName == "" || claim.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("the claim %s is not bound yet", name)
	}
	volume, err := w.agent.o.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the volume of the claim %s: %w", name, err)
	}
	folder, err := volumeFolder(volume)
	if err != nil {
		return "", err
	}
	if inside, err := filepath.Rel(w.agent.volumesFolder(), folder); err != nil || strings.HasPrefix(inside, "..") {
		return "", errNotOurs(volume)
	}
	first, taken := true, true
	if !slices.Contains(volume.Spec.AccessModes, corev1.ReadWriteMany) {
		first, taken = w.agent.takeVolume(folder, w.uid)
	}
	if !taken {
		return "", fmt.Errorf("the volume %s is still in use by another pod", volume.Name)
	}
	if first {
		if err := w.agent.expandAtMount(ctx, w.namespace, name); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return folder, w.own(folder)
}

// volumeFolder is where a volume is on this machine.
func volumeFolder(volume *corev1.PersistentVolume) (string, error) {
	switch {
	case volume.Spec.HostPath != nil && volume.Spec.HostPath.Path != "":
		return volume.Spec.HostPath.Path, nil
	case volume.Spec.CSI != nil && volume.Spec.CSI.Driver == CSIDriver:
		return volume.Spec.CSI.VolumeHandle, nil
	case volume.Spec.Local != nil && volume.Spec.Local.Path != "":
		return volume.Spec.Local.Path, nil
	}
	return "", errNotOurs(volume)
}

func errNotOurs(volume *corev1.PersistentVolume) error {
	return fmt.Errorf("the volume %s is not one that the sandbox made", volume.Name)
}

// own gives a path to the user that CrateDB runs as.
func (w *worker) own(path string) error {
	if as := w.agent.identity; as != nil {
		return os.Chown(path, int(as.User), int(as.Group))
	}
	return nil
}

func (w *worker) projectSecret(ctx context.Context, folder, name string, items []corev1.KeyToPath, optional *bool) error {
	data, err := w.secret(ctx, name, optional)
	if err != nil {
		return err
	}
	return w.project(folder, "Secret "+name, data, items, optional)
}

func (w *worker) projectConfigMap(ctx context.Context, folder, name string, items []corev1.KeyToPath, optional *bool) error {
	data, err := w.configMap(ctx, name, optional)
	if err != nil {
		return err
	}
	return w.project(folder, "ConfigMap "+name, data, items, optional)
}

// project writes keys as files.
func (w *worker) project(folder, source string, data map[string][]byte, items []corev1.KeyToPath, optional *bool) error {
	if len(items) == 0 {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			if optional != nil && *optional {
				continue
			}
			return fmt.Errorf("the %s has no key %s", source, item.Key)
		}
		if err := w.writeFile(filepath.Join(folder, filepath.Clean("/"+item.Path)), content); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) projectFields(folder string, items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		if item.FieldRef == nil {
			return errors.New("the sandbox knows only fieldRef in a downward API volume")
		}
		value, err := w.field(item.FieldRef.FieldPath)
		if err != nil {
			return err
		}
		if err := w.writeFile(filepath.Join(folder, filepath.Clean("/"+item.Path)), []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) writeFile(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		return err
	}
	return w.own(name)
}

// containerMounts are the mounts of one container.
func (w *worker) containerMounts(spec *corev1.Container, env environment) ([]mount, error) {
	var mounts []mount
	for _, each := range spec.VolumeMounts {
		w.mu.Lock()
		folder, ok := w.volumes[each.Name]
		w.mu.Unlock()
		if !ok {
			return nil, badConfig("the container %s mounts the volume %s, which the pod does not have", spec.Name, each.Name)
		}
		below := each.SubPath
		if each.SubPathExpr != "" {
			below = env.replace(each.SubPathExpr)
		}
		mounts = append(mounts, mount{
			path: path.Clean(each.MountPath),
			host: filepath.Join(folder, filepath.Clean("/"+below)),
		})
	}
	return mounts, nil
}

// hostPath is where a path of the container is on this machine: inside a mount,
// or inside the container's own folder; never anywhere else.
func (c *container) hostPath(inside string) string {
	inside = path.Clean("/" + inside)
	best := mount{path: "", host: c.rootFolder()}
	for _, each := range c.mountList() {
		fits := inside == each.path || strings.HasPrefix(inside, strings.TrimSuffix(each.path, "/")+"/")
		if fits && len(each.path) > len(best.path) {
			best = each
		}
	}
	return filepath.Join(best.host, strings.TrimPrefix(inside, best.path))
}

var errIsFolder = errors.New("is a directory")

// open opens a file of the container for a command.
func (c *container) open(name string, write, appending bool) (*os.File, error) {
	host := c.hostPath(name)
	if info, err := os.Stat(host); err == nil && info.IsDir() {
		return nil, errIsFolder
	}
	if !write {
		return os.Open(host)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if appending {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	return os.OpenFile(host, flags, 0o644)
}
