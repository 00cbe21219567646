package render

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"stevedore.dev/stevedore/render/base"
)

// compatibilityRow is one intended difference of docs/compatibility.md.
type compatibilityRow struct {
	pattern string
	match   *regexp.Regexp
	used    bool
}

// compatibilityTable reads the table of differences: lines that begin with
// "| `Kind:$" in docs/compatibility.md.
func compatibilityTable(t *testing.T) []*compatibilityRow {
	t.Helper()
	data, err := os.ReadFile("../docs/compatibility.md")
	require.NoError(t, err)
	var rows []*compatibilityRow
	for _, line := range strings.Split(string(data), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], ":$") {
			continue
		}
		pattern := strings.Trim(strings.TrimSpace(cells[1]), "`")
		assert.NotEmpty(t, strings.TrimSpace(cells[2]), "a reason for %s", pattern)
		expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `[^.\[\]:]+`)
		rows = append(rows, &compatibilityRow{
			pattern: pattern,
			match:   regexp.MustCompile("^" + expression + `($|[.\[])`),
		})
	}
	require.NotEmpty(t, rows)
	return rows
}

// difference is a JSON path, such as
// StatefulSet:$.spec.template.spec.containers['crate'].image.
type difference struct{ path, text string }

func compare(path string, want, got any, found *[]difference) {
	add := func(format string, args ...any) {
		*found = append(*found, difference{path, fmt.Sprintf(format, args...)})
	}
	if empty(want) && empty(got) {
		return
	}
	want, got = likewise(want, got), likewise(got, want)
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			add("%v became %v", want, got)
			return
		}
		keys := map[string]bool{}
		for k := range w {
			keys[k] = true
		}
		for k := range g {
			keys[k] = true
		}
		for k := range keys {
			step := "." + k
			if strings.ContainsAny(k, "./") {
				step = "['" + k + "']"
			}
			compare(path+step, w[k], g[k], found)
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			add("%v became %v", want, got)
			return
		}
		wantNames, gotNames := itemNames(w), itemNames(g)
		if wantNames != nil && gotNames != nil {
			var common [2][]string
			for i, name := range wantNames {
				at := slices.Index(gotNames, name)
				if at < 0 {
					compare(path+"['"+name+"']", w[i], nil, found)
					continue
				}
				common[0] = append(common[0], name)
				compare(path+"['"+name+"']", w[i], g[at], found)
			}
			for i, name := range gotNames {
				if !slices.Contains(wantNames, name) {
					compare(path+"['"+name+"']", nil, g[i], found)
				} else {
					common[1] = append(common[1], name)
				}
			}
			if !slices.Equal(common[0], common[1]) {
				add("order %v became %v", common[0], common[1])
			}
			return
		}
		for i := range max(len(w), len(g)) {
			var x, y any
			if i < len(w) {
				x = w[i]
			}
			if i < len(g) {
				y = g[i]
			}
			at := fmt.Sprintf("%s[%d]", path, i)
			if name := settingOf(x); name != "" && name == settingOf(y) {
				at = fmt.Sprintf("%s['%s']", path, name)
			}
			compare(at, x, y, found)
		}
	default:
		if !reflect.DeepEqual(want, got) && !equalQuantities(path, want, got) {
			add("%v became %v", want, got)
		}
	}
}

// settingOf is the name in an argument such as -Cname=value.
func settingOf(v any) string {
	text, _ := v.(string)
	name, _, found := strings.Cut(text, "=")
	if !found || !strings.HasPrefix(name, "-C") {
		return ""
	}
	return name
}

// likewise is an empty map or list instead of nothing where the other side has
// one, so that the difference is found beneath.
func likewise(v, other any) any {
	if v != nil {
		return v
	}
	switch o := other.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		if itemNames(o) != nil {
			return []any{}
		}
	}
	return v
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func itemNames(items []any) []string {
	result := []string{}
	for _, i := range items {
		m, ok := i.(map[string]any)
		if !ok {
			return nil
		}
		name, ok := m["name"].(string)
		if metadata, is := m["metadata"].(map[string]any); is && !ok {
			name, ok = metadata["name"].(string)
		}
		if !ok || slices.Contains(result, name) {
			return nil
		}
		result = append(result, name)
	}
	return result
}

// equalQuantities: "4.0Gi" is "4Gi"; the server stores both alike.
func equalQuantities(path string, want, got any) bool {
	w, ok1 := want.(string)
	g, ok2 := got.(string)
	if !ok1 || !ok2 || !strings.Contains(path, ".resources.") {
		return false
	}
	x, err1 := resource.ParseQuantity(w)
	y, err2 := resource.ParseQuantity(g)
	return err1 == nil && err2 == nil && x.Cmp(y) == 0
}

func TestObjectsAreWhatCrateOperatorMakesSaveTheListedDifferences(t *testing.T) {
	rows := compatibilityTable(t)
	compared := 0
	for name, def := range map[string]Cluster{"single": single(), "tiers": tiers()} {
		for provider, cloud := range map[string]CloudProvider{"none": CloudNone, "aws": CloudAWS, "azure": CloudAzure, "gcp": CloudGCP} {
			file := filepath.Join("testdata/crate-operator", name+"."+provider+".json")
			t.Run(filepath.Base(file), func(t *testing.T) {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				var theirs []map[string]any
				require.NoError(t, json.Unmarshal(data, &theirs))
				rendered, problems := Render(def, Config{CloudProvider: cloud}, Pins{Base: base.V1})
				require.Empty(t, problems)
				want, got := map[string]any{}, map[string]any{}
				kinds := map[string]string{}
				for _, o := range theirs {
					key := fmt.Sprint(o["kind"], "/", o["metadata"].(map[string]any)["name"])
					want[key], kinds[key] = o, o["kind"].(string)
				}
				for _, o := range rendered.Objects {
					data, err := json.Marshal(o.Object)
					require.NoError(t, err)
					var plain map[string]any
					require.NoError(t, json.Unmarshal(data, &plain))
					key := o.GetKind() + "/" + o.GetName()
					got[key], kinds[key] = plain, o.GetKind()
				}
				var found []difference
				for key, kind := range kinds {
					if want[key] == nil || got[key] == nil {
						found = append(found, difference{kind + ":$", key + " exists on one side only"})
						continue
					}
					compare(kind+":$", want[key], got[key], &found)
				}
				for _, d := range found {
					listed := false
					for _, row := range rows {
						if row.match.MatchString(d.path) {
							row.used, listed = true, true
						}
					}
					assert.True(t, listed, "%s is not in docs/compatibility.md: %s", d.path, d.text)
				}
				compared++
			})
		}
	}
	require.Equal(t, 8, compared)
	for _, row := range rows {
		assert.True(t, row.used, "the row %s of docs/compatibility.md is about no difference", row.pattern)
	}
}

func TestNoIntendedDifferenceIsInAnImmutableField(t *testing.T) {
	for _, row := range compatibilityTable(t) {
		for _, path := range []string{"spec.serviceName", "spec.selector.matchLabels", "spec.podManagementPolicy",
			"spec.volumeClaimTemplates['data0'].spec.storageClassName", "spec.volumeClaimTemplates['debug'].metadata.labels"} {
			assert.False(t, row.match.MatchString("StatefulSet:$."+path), "%s covers the immutable %s", row.pattern, path)
		}
		assert.False(t, strings.HasPrefix(row.pattern, "StatefulSet:$.spec.volumeClaimTemplates"), row.pattern)
	}
}
