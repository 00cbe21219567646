package render

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/budget"
	opsmodel "stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// documented are the rows of docs/definition.md: field and the row's cells.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("../docs/definition.md")
	require.NoError(t, err)
	row := regexp.MustCompile("^\\| \\**`([^`]+)`\\** \\|(.*)\\|$")
	rows := map[string][]string{}
	for _, line := range strings.Split(string(data), "\n") {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(m[2], "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows[m[1]] = cells
	}
	require.NotEmpty(t, rows)
	return rows
}

// fieldsOf lists the leaves of a schema. What is refused has no type.
func fieldsOf(path string, schema map[string]any, found map[string]bool) {
	properties, _ := schema["properties"].(map[string]any)
	items, _ := schema["items"].(map[string]any)
	switch {
	case schema["type"] == nil:
	case properties["secretKeyRef"] != nil:
		found[path] = true
	case properties != nil:
		for name, child := range properties {
			next := name
			if path != "" {
				next = path + "." + name
			}
			fieldsOf(next, child.(map[string]any), found)
		}
	case items != nil && items["type"] == "object":
		fieldsOf(path+"[]", items, found)
	default:
		found[path] = true
	}
}

func TestEveryFieldOfADefinitionIsDocumented(t *testing.T) {
	var schema struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	require.NoError(t, json.Unmarshal(definition.Schema(), &schema))
	fields := map[string]bool{}
	for _, s := range schema.Definitions {
		fieldsOf("", s, fields)
	}
	require.Greater(t, len(fields), 50)
	rows := documented(t)
	known := map[string]bool{"spec.cluster.ssl": true}
	for field := range fields {
		// Masters have the fields of a data group.
		field = strings.Replace(field, "spec.nodes.master.", "spec.nodes.data[].", 1)
		known[field] = true
		assert.Contains(t, rows, field, "docs/definition.md lacks it")
	}
	for field := range rows {
		if strings.Contains(field, ".") || field == "kind" {
			assert.True(t, known[field], "docs/definition.md has %s, which is no field", field)
		}
	}
}

func TestDocumentedDefaultsAndConsentsAreTheRealOnes(t *testing.T) {
	rows := documented(t)
	var o definition.Operations
	definition.Defaults(&o)
	for field, want := range map[string]time.Duration{
		"stableFor": opsmodel.DefaultStableFor, "masterStableFor": opsmodel.DefaultMasterStableFor, "bootstrapTimeout": opsmodel.DefaultBootstrapTimeout,
		"scaleTimeout": opsmodel.DefaultScaleTimeout, "restartTimeout": opsmodel.DefaultRestartTimeout, "budgetTimeout": budget.DefaultBudgetTimeout,
	} {
		got, err := time.ParseDuration(rows["spec.operations."+field][1])
		require.NoError(t, err, field)
		assert.Equal(t, want, got, field)
	}
	for field, want := range map[string]string{"unreplicated": o.Unreplicated, "settledYellow": o.SettledYellow, "unhealable": o.Unhealable, "restartBy": o.RestartBy} {
		assert.Equal(t, want, rows["spec.operations."+field][1], field)
	}
	for _, c := range []definition.Consent{
		definition.ConsentSuspend, definition.ConsentDeleteCluster, definition.ConsentRemoveGroup, definition.ConsentTwoMasters,
		definition.ConsentWithoutBackups, definition.ConsentExtendTableFilters, definition.ConsentLeaveZone, definition.ConsentTakeOver,
	} {
		assert.Contains(t, rows, string(c))
	}
}

func TestTheExampleInTheDocumentationRenders(t *testing.T) {
	data, err := os.ReadFile("../docs/definition.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(data), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```yaml\nspec:\n")
	patches, _, _ := strings.Cut(rest, "```")
	build := BuildTree(t.Context(), files{"a.yaml": example + patches}.fs(), Config{})
	require.Empty(t, texts(build.Problems))
	require.Len(t, build.Clusters, 1)
	require.Empty(t, texts(build.Clusters[0].Problems))
	require.Len(t, build.Clusters[0].Definition.Spec.Patches, 2)
	mustRender(t, build.Clusters[0], Config{}, Pins{})
}
