package exported

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
)

var orders = record.Cluster{Namespace: "prod", Name: "orders"}

// object is a ConfigMap of the cluster with this line of data.
func object(cluster, data string) string {
	return "apiVersion: v1\ndata:\n  " + data + "\nkind: ConfigMap\nmetadata:\n  labels:\n    stevedore.dev/cluster: " + cluster +
		"\n    stevedore.dev/record: observation\n  name: stevedore-" + cluster + "-observation\n  namespace: prod\n"
}

// long is JSON that is cut out before YAML is parsed.
func long(text string) string {
	return `{"schemaVersion":1,"text":"` + text + strings.Repeat("x", cutFrom) + `"}`
}

type content struct {
	Text string `json:"text"`
}

// What is cut out before YAML is parsed is what YAML would have read.
func TestLongContentIsReadAsYAMLReadsIt(t *testing.T) {
	x := strings.Repeat("x", cutFrom)
	for _, c := range []struct {
		name, data string
		want       string // "" for damaged
	}{
		{"in single quotes", `data.json: '` + long("a ''quoted'' word ") + `'`, "a 'quoted' word " + x},
		{"in double quotes", `data.json: "{\"schemaVersion\":1,\"text\":\"\\u00e9 \\\\ ` + x + `\"}"`, `é \ ` + x},
		{"with quotes about its key", `"data.json": '` + long("a") + `'`, "a" + x},
		{"folded early", `data.json: '` + long("one\n    two\n    three ") + `'`, "one two three " + x},
		{"folded late", `data.json: '` + long("one "+x+"\n    two\n    three ") + `'`, "one " + x + " two three " + x},
		{"a literal", "data.json: |\n    " + long("a") + "\n", "a" + x},
		{"with a comment behind it", `data.json: '` + long("a") + `' # of old`, "a" + x},
		{"in no quotes", "data.json: " + `schemaVersion` + x, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := object("orders", c.data) + "---\n" + object("metrics", `data.json: '{"schemaVersion":1,"text":"b"}'`)
			file, err := Read("f", strings.NewReader(text))
			require.NoError(t, err)
			var got content
			place, err := file.Load(orders, &got)
			assert.Equal(t, "f:1", place)
			assert.Equal(t, c.want == "", err != nil, "%v", err)
			assert.Equal(t, c.want, got.Text)

			line := strings.Count(text[:strings.Index(text, "---\n")], "\n") + 2
			place, err = file.Load(record.Cluster{Namespace: "prod", Name: "metrics"}, &content{})
			assert.NoError(t, err)
			assert.Equal(t, fmt.Sprint("f:", line), place, "lines are those of the file")
		})
	}
}

// A text that only looks like content is not taken for another's.
func TestWhatOnlyLooksLikeContentIsNone(t *testing.T) {
	for name, text := range map[string]string{
		"in a text of somebody": object("orders", "other: |\n    data.json: '"+long("stolen")+"'\n  data.json: 'x'"),
		"in a comment":          object("orders", "data.json: 'x'") + "#\n",
		"in a list":             object("orders", "other: [\n  data.json: '"+long("stolen")+"'\n  ]\n  data.json: 'x'"),
	} {
		file, err := Read("f", strings.NewReader(text))
		require.NoError(t, err, name)
		var got content
		_, err = file.Load(orders, &got)
		assert.ErrorContains(t, err, "is damaged", name)
		assert.Empty(t, got.Text, name)
	}
}

// A few bytes of YAML become a hundred times as many: what is no content has a small bound,
// however it is dressed.
func TestAFileThatWouldTakeAllMemoryIsRefusedBeforeItIsParsed(t *testing.T) {
	bomb := "[" + strings.Repeat("a,", maxBeside/2) + "]"
	for name, text := range map[string]string{
		"plain":                        bomb,
		"behind content":               "data.json: '" + long("a") + "', " + bomb,
		"in content that does not end": "data.json: '" + long("a") + bomb,
		"in content of another quote":  "data.json: \"" + long(`\"`) + "\"" + bomb,
		"on lines":                     strings.Repeat("- a\n", maxBeside/4+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("f", strings.NewReader(text))
			assert.ErrorContains(t, err, "f: it has more than 4 MiB beside the content of ConfigMaps")
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(object("orders", `data.json: '`+long("a")+`'`))
	f.Add(object("orders", `data.json: "{\"schemaVersion\":1}"`) + "---\n" + object("orders", "data.json: |\n    {}"))
	f.Add("{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{}, null, 1, [], &a {}, *a]}")
	f.Add("kind: List\nitems: \n- kind: *a\n")
	if text, err := os.ReadFile("../../examples/pull-requests/observations.yaml"); err == nil {
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Read("f", strings.NewReader(text))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f:"), err.Error())
			require.Less(t, len(err.Error()), 400, "it quotes the file")
			return
		}
		_, _ = file.Load(orders, &content{})
		for _, line := range file.Lines(func(record.Cluster) bool { return false }) {
			require.LessOrEqual(t, line, strings.Count(text, "\n")+1)
		}
	})
}
