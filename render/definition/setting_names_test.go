package definition

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestTheListOfSettingNamesIsSortedAndKnowsTheNamesOfTheManual(t *testing.T) {
	require.True(t, slices.IsSorted(settingNames), "a name is found by binary search")
	assert.Equal(t, settingNames, slices.Compact(slices.Clone(settingNames)))
	for _, name := range []string{
		"stats.enabled", "cluster.graceful_stop.min_availability", "indices.breaker.query.limit", "overload_protection.dml.queue_size",
		"cluster.routing.allocation.exclude._ip", "cluster.routing.allocation.require.zone", "node.attr.rack", "auth.host_based.config.0.user",
		"logger.org.elasticsearch.discovery", "thread_pool.search.size", "monitor.jvm.gc.collector.young.warn", "indices.breaker.fielddata.limit",
		"statement_timeout", "http.cors.allow-origin", "cluster.routing.allocation.awareness.force.zone.values",
	} {
		assert.True(t, knownSetting(name), name)
	}
}

func TestAnUnknownSettingIsWarnedOfAtItsPlaceAndStopsNothing(t *testing.T) {
	const head = "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: shop}\nspec:\n"
	const group = "resources: {limits: {cpu: 2, memory: 4Gi}, disk: {count: 1, size: 64GiB, storageClass: default}, heapRatio: 0.25}"
	for _, c := range []struct {
		name, setting string
		want          string
	}{
		{"a name of the manual", "stats.enabled", ""},
		{"a letter left out", "stats.enabld", `unknown setting "stats.enabld": did you mean stats.enabled?`},
		{"a word of another product", "indices.breaker.querry.limit", `unknown setting "indices.breaker.querry.limit": did you mean indices.breaker.query.limit?`},
		{"the end of a long name", "watermark.flood_stage", `unknown setting "watermark.flood_stage": did you mean cluster.routing.allocation.disk.watermark.flood_stage?`},
		{"nothing like it", "galaxy.spiral.arms", `unknown setting "galaxy.spiral.arms": it is in no manual up to CrateDB 6.4`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := head + "  cluster:\n    {name: orders, imageRegistry: crate, version: 6.4.3}\n  nodes:\n    data:\n    - name: hot\n      replicas: 3\n      " + group +
				"\n      settings:\n        " + c.setting + ": \"1\"\n"
			raw := CheckRaw("a.yaml", []byte(text), RawOptions{})
			var object map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(text), &object))
			db, problems := Decode(object, nil)
			require.NotNil(t, db, "%v", problems)
			if c.want == "" {
				assert.Empty(t, raw)
				assert.Empty(t, problems)
				return
			}
			require.Len(t, raw, 1)
			require.Len(t, problems, 1)
			assert.False(t, Stops(raw) || Stops(problems))
			assert.Equal(t, raw[0].Message, problems[0].Message, "what both say is merged")
			line := bytes.Count([]byte(text[:strings.Index(text, c.setting)]), []byte("\n")) + 1
			assert.Equal(t, Problem{File: "a.yaml", Line: line, Column: 9, Path: raw[0].Path, Message: raw[0].Message, Cluster: "shop/orders", Warning: true}, raw[0])
			assert.True(t, strings.HasPrefix(raw[0].Message, c.want), raw[0].Message)
			assert.Contains(t, raw[0].String(), ": warning: spec.nodes.data[0].settings")
		})
	}
}

func TestAWarningHidesNoMistake(t *testing.T) {
	problems := CheckRaw("a.yaml", []byte("apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: shop}\nspec:\n  cluster:\n    settings: {stats.enabld: 1}\n    versoin: 6.4.3\n"), RawOptions{})
	stopping, warnings := Warnings(problems)
	require.Len(t, stopping, 1)
	require.Len(t, warnings, 1)
	assert.True(t, Stops(problems))
	assert.Contains(t, stopping[0].Message, "unknown field")
}
