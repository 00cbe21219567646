package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
)

// UnusedDisksOf are the disks that a StatefulSet has claim templates of and that CrateDB's container
// does not mount, separated by commas; "" for none.
func UnusedDisksOf(set *unstructured.Unstructured) string {
	return strings.Join(slices.DeleteFunc(diskNames(set), func(name string) bool { return mountOf(set, name) != "" }), ",")
}

// mountOf is where CrateDB's container mounts the volume of a claim template; "" where it does not. Of several mounts
// it is the one with the disk's name in its path: no disk is mounted as the others are.
func mountOf(set *unstructured.Unstructured, name string) string {
	path := ""
	eachContainer(set, func(container map[string]any) {
		if container["name"] != CrateContainer {
			return
		}
		mounts, _ := container["volumeMounts"].([]any)
		for _, item := range mounts {
			if mount, _ := item.(map[string]any); mount["name"] == name && !strings.Contains(path, name) {
				path, _ = mount["mountPath"].(string)
			}
		}
	})
	return path
}

// keepsDisks has a StatefulSet keep the disks that the list names and that are not desired any more,
// with all that belongs to them: a pod that is made from it would come back without what is on them.
// They are as the first disk is, whose name is in all their paths. Nothing else has to know
// them: what was saved may be lost.
func keepsDisks(set, wanted *unstructured.Unstructured, sizes model.SizeList) {
	if wanted == nil {
		return
	}
	desired := diskNames(wanted)
	for _, name := range sizes.Names() {
		if !model.DataVolume(name) || slices.Contains(desired, name) {
			continue
		}
		if claimTemplate(set, name) == nil {
			addDisk(set, name, claimTemplate(set, desired[0]))
		}
		mountDisk(set, desired[0], name)
	}
}

// mountDisk has the template mount a disk as the first one.
func mountDisk(set *unstructured.Unstructured, first, name string) {
	at := mountOf(set, first)
	to := strings.ReplaceAll(at, first, name)
	if mountOf(set, name) == "" && to != at {
		mountLike(set, first, name)
		addFolders(set, at, to)
	}
}

// mountDisks has the template mount disks of which the StatefulSet has claim templates.
func mountDisks(set *unstructured.Unstructured, disks string) {
	has := diskNames(set)
	for _, name := range model.Listed(disks) {
		if slices.Contains(has, name) {
			mountDisk(set, has[0], name)
		}
	}
}

// mountLike mounts a disk wherever the first one is mounted by its name, behind the other disks: the mark of the template
// is the one that it had where it mounted the disk before.
func mountLike(set *unstructured.Unstructured, first, name string) {
	eachContainer(set, func(container map[string]any) {
		mounts, _ := container["volumeMounts"].([]any)
		var added []any
		behind := 0
		for i, item := range mounts {
			mount, _ := item.(map[string]any)
			if of, _ := mount["name"].(string); model.DataVolume(of) {
				behind = i + 1
			}
			if path, _ := mount["mountPath"].(string); mount["name"] == first && strings.Contains(path, first) {
				next := (&unstructured.Unstructured{Object: mount}).DeepCopy().Object
				next["name"], next["mountPath"] = name, strings.ReplaceAll(path, first, name)
				added = append(added, any(next))
			}
		}
		if len(added) > 0 {
			container["volumeMounts"] = slices.Insert(slices.Clone(mounts), behind, added...)
		}
	})
}

// addFolders adds to the settings that list folders those of a disk, as they are of the first one.
func addFolders(set *unstructured.Unstructured, first, folder string) {
	changeFolders(set, func(paths []string) []string {
		for _, path := range paths {
			if rest, of := strings.CutPrefix(path, first); of && (rest == "" || rest[0] == '/') {
				paths = append(paths, folder+rest)
			}
		}
		return paths
	})
}

func changeFolders(set *unstructured.Unstructured, change func(paths []string) []string) {
	EachCommand(set, func(arguments []any) []any {
		next := slices.Clone(arguments)
		for i, a := range next {
			if name, value, ok := argument(a); ok && slices.Contains(pathSettings, name) {
				next[i] = "-C" + name + "=" + strings.Join(change(strings.Split(value, ",")), ",")
			}
		}
		return next
	})
}

// withoutUnused is the StatefulSet with a pod template that does without these disks. Its claim
// templates and its mark stay: no other pod is outdated by it.
func withoutUnused(set *unstructured.Unstructured, disks string) *unstructured.Unstructured {
	if disks == "" {
		return set
	}
	narrow := set.DeepCopy()
	unmount(narrow, model.Listed(disks))
	return narrow
}
