package render

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"stevedore.dev/stevedore/render/definition"
)

// registerSchema teaches kustomize the definition's merge keys, beside the
// built-in schema and once for the process: an `openapi:` field, ours or a
// user's, would drop the built-in one, and a patch of one container would then
// delete the others.
var registerSchema = sync.OnceValue(func() error {
	openapi.ResetOpenAPI()
	openapi.Schema()
	if err := openapi.AddSchema(definition.Schema()); err != nil {
		return fmt.Errorf("teaching kustomize the merge keys of %s: %w", definition.Kind, err)
	}
	return nil
})

// kustomize runs one build of fsys. A panic of kustomize is an error of this
// build, never the end of the process.
func kustomize(fsys filesys.FileSystem, dir string) (m resmap.ResMap, err error) {
	if err := registerSchema(); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, errors.New("kustomize gave up on this build (it panicked)")
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionNone
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	options.PluginConfig = types.DisabledPluginConfig()
	return krusty.MakeKustomizer(options).Run(fsys, path.Join("/", dir))
}

var (
	// kustomize wraps an error once for each level of bases; the last says it.
	wrapping    = regexp.MustCompile(`^.*(?:recursed accumulation of path|recursed merging from path|couldn't make target for path) '[^']*': `)
	quotedPatch = regexp.MustCompile(`\[patch: ".*"\]`)
	configured  = regexp.MustCompile("(?s)trouble configuring builtin \\w+ with config: `.*`: ")
	// A literal of a generator is data, and often a password.
	literals = regexp.MustCompile(`(?i)literal sources? .*|env source .*`)
	values   = regexp.MustCompile(`for value .*`)
	// Of what is quoted only paths and objects' identities are let through.
	pathOrIdentity = regexp.MustCompile(`^["'][A-Za-z0-9_.~\[\]-]*/[A-Za-z0-9_./~\[\]-]*["']$`)
	// An apostrophe within a word opens nothing.
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\B'[^']*'|` + "`[^`]*`")
)

// kustomizeMessage is what kustomize says without what it quotes of the files:
// a generator's literal may be a password.
func kustomizeMessage(err error) string {
	// What it was to configure is a patch, and stands in between.
	text := configured.ReplaceAllString(err.Error(), "")
	// Behind the first line it shows whole objects.
	text, _, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, " in object ")
	text = wrapping.ReplaceAllString(text, "")
	text = quotedPatch.ReplaceAllString(text, "the patch")
	text = literals.ReplaceAllString(text, "a literal or env source is not of the form key=value")
	text = values.ReplaceAllString(text, "for the value")
	text = strings.ReplaceAll(text, ".."+treeRoot+"/", "")
	text = strings.ReplaceAll(text, treeRoot+"/", "")
	text = quotedText.ReplaceAllStringFunc(text, func(q string) string {
		if pathOrIdentity.MatchString(q) {
			return q
		}
		return "…"
	})
	return strings.TrimSpace(text)
}
