package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
)

// item is one object of a build and the file that it comes from.
type item struct {
	object *unstructured.Unstructured
	file   string // of a generated object its kustomization
	// generated: a generator made it.
	generated bool
	// made is what was made of a definition before; object is then nil.
	made *found
	// remember is where what is made of it is kept; nil: nowhere.
	remember *remembered
}

func (i item) isDefinition() bool {
	if i.made != nil {
		return true
	}
	return definition.LooksLike(i.object.GetAPIVersion(), i.object.GetKind()) != definition.Other
}

func (i item) describe() string {
	return i.object.GetKind() + " " + i.object.GetName()
}

// kustomizationFile is where a build's own kustomization stands.
func kustomizationFile(build guard.Build) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if file := path.Join(build.Dir, name); slices.Contains(build.Files, file) {
			return file
		}
	}
	return path.Join(build.Dir, "kustomization.yaml")
}

// runKustomization builds the wrapper of a tree.
func runKustomization(tree *treeFS) ([]madeItem, error) {
	m, err := kustomize(tree, buildRoot)
	if err != nil {
		return nil, err
	}
	var items []madeItem
	for _, r := range m.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("reading %s from kustomize: %w", r.CurId(), err)
		}
		i := madeItem{data: data}
		if origin, err := r.GetOrigin(); err == nil && origin != nil {
			from := origin.Path
			if from == "" {
				from, i.generated = origin.ConfiguredIn, true
			}
			i.file, _ = inTree(path.Join(buildRoot, from))
		}
		items = append(items, i)
	}
	return items, nil
}

// readFolder reads the files of a folder without a kustomization. Nothing is
// merged there, so each file stands for itself, and a broken one stops no
// other.
func readFolder(ctx context.Context, tree fs.FS, build guard.Build, cfg Config) built {
	var b built
	broken := map[string]bool{}
	for _, p := range build.Problems {
		broken[p.File] = true
	}
	for _, file := range build.Files {
		if broken[file] {
			continue
		}
		items, fresh, err := readOrRecall(ctx, tree, file, cfg)
		if err != nil {
			b.problems = append(b.problems, definition.Problem{File: file, Message: kustomizeMessage(err)})
			continue
		}
		b.items = append(b.items, items...)
		b.fresh = append(b.fresh, fresh...)
	}
	return b
}

// readOrRecall reads a file, or gives what is remembered of it; fresh is the file
// where it is not remembered yet.
func readOrRecall(ctx context.Context, tree fs.FS, file string, cfg Config) (items []item, fresh []freshFile, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("the build took too long: %w", err)
	}
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the file: %w", err)
	}
	key := fileKey(cfg, file, data)
	if items, known := rememberedFiles.get(key, file); known {
		return items, nil, nil
	}
	if items, err = readFile(data, file); err != nil {
		return nil, nil, err
	}
	return items, []freshFile{newFreshFile(key, items)}, nil
}

func readFile(data []byte, file string) (items []item, err error) {
	defer func() {
		if p := recover(); p != nil {
			items, err = nil, fmt.Errorf("the file cannot be read as YAML")
		}
	}()
	nodes, err := kio.FromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("reading the file as YAML: %w", err)
	}
	for number, n := range nodes {
		if n.IsNilOrEmpty() {
			continue
		}
		i, err := itemOf(n)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", unreadable, number+1, err)
		}
		i.file = file
		items = append(items, i)
	}
	return items, nil
}

// unreadable is how what begins that is said of a document which could not be read.
const unreadable = "document"

func itemOf(n *yaml.RNode) (item, error) {
	data, err := n.MarshalJSON()
	if err != nil {
		return item{}, errors.New("cannot be read as an object")
	}
	return newItem(data)
}

func newItem(data []byte) (item, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		// The decoder's own words quote the object, which may be a Secret.
		return item{}, errors.New("an object has no apiVersion or kind: without a kustomization each YAML document of a folder is a Kubernetes object")
	}
	annotations := o.GetAnnotations()
	for key := range annotations {
		if buildAnnotation(key) {
			delete(annotations, key)
		}
	}
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	} else {
		o.SetAnnotations(annotations)
	}
	return item{object: o}, nil
}

// buildAnnotation reports what kustomize and kyaml note for themselves.
func buildAnnotation(key string) bool {
	for _, prefix := range []string{"config.kubernetes.io/", "internal.config.kubernetes.io/", "kustomize.config.k8s.io/", "alpha.config.kubernetes.io/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
