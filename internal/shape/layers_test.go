package shape

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layers are the packages of the decision core, lowest first: docs/architecture.md says what
// each is for. A package imports those of lower layers only, so none of its own layer either.
var layers = [][]string{
	{"ops/gates"},
	{"ops/model"},
	{"ops/adopt"}, // of no pass: `stevedore adopt` asks it
	{"ops/manifest"},
	{"ops/capacity"},
	{"ops/view"},
	{"ops/pass"},
	{"ops/setting"},
	{"ops/access"},
	{"ops/budget"},
	{"ops/aim"},
	{"ops/check"},
	{"ops/snapshots"},
	{"ops/fetch"},
	{"ops/rollout", "ops/scale", "ops/lifecycle", "ops/volume", "ops/compute", "ops/backup"},
	{"ops/tell"},
	{"ops"},
}

func TestThePackagesOfTheCoreNeedEachOtherInOneDirection(t *testing.T) {
	tree, err := Read("../..")
	require.NoError(t, err)
	imports := importsOf(t, tree)
	for _, packages := range layers {
		for _, one := range packages {
			assert.Contains(t, imports, one, "a layer names a package that is not there")
		}
	}
	for _, wrong := range against(layers, imports) {
		t.Error(wrong)
	}
}

// The check itself sees each kind of wrong import, and a package that is in no layer.
func TestAnImportUpwardsOrBesideIsSeen(t *testing.T) {
	table := [][]string{{"ops/model"}, {"ops/rollout", "ops/scale"}, {"ops"}}
	for name, c := range map[string]struct {
		imports map[string][]string
		says    []string
	}{
		"downwards":   {map[string][]string{"ops": {"ops/scale", "ops/model"}, "ops/rollout": {"ops/model"}}, nil},
		"upwards":     {map[string][]string{"ops/model": {"ops"}}, []string{"ops/model imports ops, which is in no lower layer"}},
		"beside":      {map[string][]string{"ops/rollout": {"ops/scale"}}, []string{"ops/rollout imports ops/scale, which is in no lower layer"}},
		"no layer":    {map[string][]string{"ops/new": nil}, []string{"ops/new decides and is in no layer"}},
		"out of it":   {map[string][]string{"ops/scale": {"ops/execute"}}, []string{"ops/scale imports ops/execute, which is in no lower layer"}},
		"from beside": {map[string][]string{"ops/execute": {"ops", "ops/scale"}}, nil},
	} {
		assert.Equal(t, c.says, against(table, c.imports), name)
	}
}

// against says what of these imports is not as the table of layers has it. What decides
// nothing and is in no layer may import any of them.
func against(table [][]string, imports map[string][]string) (wrong []string) {
	layer := map[string]int{}
	for i, packages := range table {
		for _, one := range packages {
			layer[one] = i + 1
		}
	}
	for _, of := range slices.Sorted(maps.Keys(imports)) {
		if layer[of] == 0 {
			if decides(of) {
				wrong = append(wrong, of+" decides and is in no layer")
			}
			continue
		}
		for _, imported := range imports[of] {
			if at := layer[imported]; at == 0 || at >= layer[of] {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which is in no lower layer", of, imported))
			}
		}
	}
	return wrong
}

// importsOf are the packages in ops that each of them imports, tests left out.
func importsOf(t *testing.T, tree *Tree) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	for _, file := range tree.below {
		of := path.Dir(file.Name)
		if imports[of] == nil {
			imports[of] = []string{} // a package without imports is one, too
		}
		for _, spec := range file.Syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			imported, ours := strings.CutPrefix(name, "stevedore.dev/stevedore/")
			if inOps := imported == core || strings.HasPrefix(imported, core+"/"); ours && inOps && !slices.Contains(imports[of], imported) {
				imports[of] = append(imports[of], imported)
			}
		}
	}
	return imports
}
