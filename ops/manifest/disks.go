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
