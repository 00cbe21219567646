package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
)

// pathSettings are the arguments that list folders, of which each disk has one.
var pathSettings = []string{"path.data", "blobs.path"}

// diskNames are the claim templates of a StatefulSet on which CrateDB keeps shards.
func diskNames(set *unstructured.Unstructured) []string {
	var out []string
	each(set, func(template map[string]any) {
		if name := templateName(template); model.DataVolume(name) {
			out = append(out, name)
		}
	})
	return out
}

func templateName(template map[string]any) string {
	name, _, _ := unstructured.NestedString(template, "metadata", "name")
	return name
}

// furtherDisks are the disks that a StatefulSet is to have beside all those that it has; none
// where it has none, or is to lose one.
func furtherDisks(before, after *unstructured.Unstructured) []string {
	has, wants := diskNames(before), diskNames(after)
	gone := func(name string) bool { return !slices.Contains(wants, name) }
	if len(has) == 0 || slices.ContainsFunc(has, gone) {
		return nil
	}
	return slices.DeleteFunc(wants, func(name string) bool { return slices.Contains(has, name) })
}

// setDisks gives a StatefulSet the disks that the list names: no template may mount one without a
// claim template. A claim template that it lacks comes from the desired StatefulSet, or from what was
// saved; one that nobody knows is left out. It says whether the pod template has changed.
func setDisks(set, wanted *unstructured.Unstructured, saved model.Saved, sizes model.SizeList) (changed bool) {
	if sizes == "" {
		return false
	}
	has := diskNames(set)
	gone := slices.DeleteFunc(slices.Clone(has), func(name string) bool { _, stays := sizes.Size(name); return stays })
	if len(gone) > 0 {
		dropDisks(set, gone)
	}
	for _, name := range sizes.Names() {
		if !model.DataVolume(name) || slices.Contains(has, name) {
			continue
		}
		for _, o := range append([]*unstructured.Unstructured{wanted}, savedOf(saved, set.GetName())...) {
			if o != nil && addDisk(set, name, claimTemplate(o, name)) {
				break
			}
		}
	}
	return len(gone) > 0
}

// claimTemplate is the claim template of this name; nil where there is none.
func claimTemplate(set *unstructured.Unstructured, name string) (found map[string]any) {
	each(set, func(template map[string]any) {
		if templateName(template) == name {
			found = template
		}
	})
	return found
}

// addDisk adds a claim template of this name after the other disks, as another one is; false where there is none.
func addDisk(set *unstructured.Unstructured, name string, like map[string]any) bool {
	if like == nil {
		return false
	}
	list, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	at := 0
	for i := range list {
		if template, _ := list[i].(map[string]any); model.DataVolume(templateName(template)) {
			at = i + 1
		}
	}
	copied := (&unstructured.Unstructured{Object: like}).DeepCopy().Object
	put(copied, name, "metadata", "name")
	put(set.Object, slices.Insert(list, at, any(copied)), "spec", "volumeClaimTemplates")
	return true
}

// dropDisks takes disks off a StatefulSet: their claim templates, their mounts and their folders.
func dropDisks(set *unstructured.Unstructured, disks []string) {
	list, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	put(set.Object, slices.DeleteFunc(list, func(item any) bool {
		template, _ := item.(map[string]any)
		return slices.Contains(disks, templateName(template))
	}), "spec", "volumeClaimTemplates")
	unmount(set, disks)
}

// unmount takes disks off the pod template: their mounts and their folders.
func unmount(set *unstructured.Unstructured, disks []string) {
	folders := dropMounts(set, disks)
	changeFolders(set, func(paths []string) []string {
		return slices.DeleteFunc(paths, func(path string) bool {
			return slices.ContainsFunc(folders, func(folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") })
		})
	})
}

// dropMounts takes the mounts of disks off all containers, and says where they were.
func dropMounts(set *unstructured.Unstructured, disks []string) (folders []string) {
	eachContainer(set, func(container map[string]any) {
		mounts, _ := container["volumeMounts"].([]any)
		kept := slices.DeleteFunc(slices.Clone(mounts), func(m any) bool {
			mount, _ := m.(map[string]any)
			name, _ := mount["name"].(string)
			path, _ := mount["mountPath"].(string)
			if !slices.Contains(disks, name) {
				return false
			}
			folders = append(folders, path)
			return true
		})
		if len(kept) < len(mounts) {
			container["volumeMounts"] = kept
		}
	})
	return folders
}

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

// changeFolders has the settings list other folders.
func changeFolders(set *unstructured.Unstructured, change func(paths []string) []string) {
	EachCommand(set, func(arguments []any) []any {
		next := slices.Clone(arguments)
		for i, a := range next {
			text, _ := a.(string)
			if name, value, ok := strings.Cut(text, "="); ok && slices.Contains(pathSettings, strings.TrimPrefix(name, "-C")) {
				next[i] = name + "=" + strings.Join(change(strings.Split(value, ",")), ",")
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
