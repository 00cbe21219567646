package render

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"sigs.k8s.io/kustomize/api/resmap"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/render/internal/located"
)

// A patch whose target selects nothing is left out by kustomize without a word. What a
// target selects depends on all that kustomize has done before, so kustomize itself is
// asked: the folder is built a second time with a mark before each patch, for the same
// target. A mark can be lost, with an object that a later patch deletes. So a patch whose
// mark is not found is asked for alone: it is replaced by one that fails wherever it is
// applied.

// verdict is what one build says of one patch with a target.
type verdict struct {
	patch guard.Patch
	// matched and missed are both false where it could not be found out.
	matched, missed bool
	// advice names what there is instead.
	advice string
}

// mark is an annotation, and what an impossible patch asks for.
const mark = "stevedore-patch-probe"

// maxAlone is how many patches of one build are asked for alone: each takes a build.
const maxAlone = 32

// verdicts asks for every patch with a target of a folder that builds.
func verdicts(ctx context.Context, tree fs.FS, build guard.Build, wrapper []byte) []verdict {
	var all []verdict
	for _, patch := range build.Patches {
		if patch.Target != nil {
			all = append(all, verdict{patch: patch})
		}
	}
	if len(all) == 0 {
		return nil
	}
	probe := func(dirWrapper []byte, instead map[string][]byte) (resmap.ResMap, error) {
		return kustomize(&treeFS{ctx: ctx, tree: tree, wrapper: dirWrapper, instead: instead}, buildRoot)
	}
	seen := map[string]bool{}
	if marked, ok := withMarks(tree, all); ok {
		if m, err := probe(wrapper, marked); err == nil {
			for _, r := range m.Resources() {
				for key := range r.GetAnnotations() {
					seen[key] = true
				}
			}
		}
	}
	alone := 0
	for i := range all {
		v := &all[i]
		if v.matched = seen[markOf(i)]; v.matched || alone == maxAlone {
			continue
		}
		alone++
		text, ok := edited(tree, v.patch.File, func(root *yaml.Node) bool {
			return replaceEntry(root, v.patch, `[{"op": "test", "path": "/`+mark+`", "value": "1"}]`)
		})
		if !ok {
			continue
		}
		_, err := probe(wrapper, map[string][]byte{v.patch.File: text})
		switch {
		case err == nil:
			v.missed = true
			v.advice = advise(probe, tree, build, v.patch)
		case ctx.Err() == nil && strings.Contains(err.Error(), mark):
			v.matched = true
		}
	}
	return all
}

func markOf(n int) string { return fmt.Sprintf("%s-%d", mark, n) }

// withMarks gives the kustomizations with a mark before each patch.
func withMarks(tree fs.FS, all []verdict) (map[string][]byte, bool) {
	texts := map[string][]byte{}
	for first := range all {
		file := all[first].patch.File
		if texts[file] != nil {
			continue
		}
		text, ok := edited(tree, file, func(root *yaml.Node) bool {
			for n, v := range slices.Backward(all) {
				if v.patch.File == file && !insertBefore(root, v.patch, `[{"op": "add", "path": "/metadata/annotations/`+markOf(n)+`", "value": "1"}]`) {
					return false
				}
			}
			return true
		})
		if !ok {
			return nil, false
		}
		texts[file] = text
	}
	return texts, true
}

// edited is a kustomization after a change of its nodes. What cannot be written again,
// and the encoder may panic then, is no answer.
func edited(tree fs.FS, file string, change func(root *yaml.Node) bool) (result []byte, ok bool) {
	defer func() {
		if recover() != nil {
			result, ok = nil, false
		}
	}()
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, false
	}
	documents, _ := located.Parse(data)
	if len(documents) != 1 || !change(documents[0].Node) {
		return nil, false
	}
	var text bytes.Buffer
	if err := yaml.NewEncoder(&text).Encode(documents[0].Node); err != nil {
		return nil, false
	}
	return text.Bytes(), true
}

// entryOf finds a patch's list and its entry.
func entryOf(root *yaml.Node, patch guard.Patch) (list, entry *yaml.Node) {
	list = located.Get(root, patch.Field)
	if list == nil || list.Kind != yaml.SequenceNode || patch.Index >= len(list.Content) {
		return nil, nil
	}
	return list, located.Resolve(list.Content[patch.Index])
}

func probing(entry *yaml.Node, patch string) *yaml.Node {
	text := func(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value} }
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
		text("target"), withoutAnchors(located.Get(entry, "target"), 0), text("patch"), text(patch),
	}}
}

// withoutAnchors is a copy: an anchor may be defined once.
func withoutAnchors(n *yaml.Node, depth int) *yaml.Node {
	n = located.Resolve(n)
	if n == nil || depth > located.MaxDepth {
		return nil
	}
	again := *n
	again.Anchor, again.Content = "", nil
	for _, child := range n.Content {
		again.Content = append(again.Content, withoutAnchors(child, depth+1))
	}
	return &again
}

func insertBefore(root *yaml.Node, patch guard.Patch, text string) bool {
	list, entry := entryOf(root, patch)
	if entry == nil {
		return false
	}
	list.Content = slices.Insert(list.Content, patch.Index, probing(entry, text))
	return true
}

func replaceEntry(root *yaml.Node, patch guard.Patch, text string) bool {
	list, entry := entryOf(root, patch)
	if entry == nil {
		return false
	}
	list.Content[patch.Index] = probing(entry, text)
	return true
}

// missed says which patches of all builds matched nothing. What a component is applied to
// is the business of who names it: of its patches nothing is said where one build has it
// matched, or where one did not get as far; and where none has, it is a warning, for the
// folder that is looked at need not have all who name it.
func missed(all []verdict) []definition.Problem {
	type place struct {
		file, field string
		index       int
	}
	well := map[place]bool{}
	of := func(v verdict) place { return place{v.patch.File, v.patch.Field, v.patch.Index} }
	for _, v := range all {
		if v.matched || v.patch.Component && !v.missed {
			well[of(v)] = true
		}
	}
	var problems []definition.Problem
	for _, v := range all {
		if well[of(v)] || !v.missed {
			continue
		}
		problems = append(problems, definition.Problem{
			File: v.patch.File, Line: v.patch.Line, Column: v.patch.Column,
			Path:    located.Format([]any{v.patch.Field, v.patch.Index, "target"}),
			Message: "matches nothing, so that kustomize leaves the patch out: " + v.advice,
			Warning: v.patch.Component || !v.patch.Target.NamesOne(),
		})
	}
	return problems
}
