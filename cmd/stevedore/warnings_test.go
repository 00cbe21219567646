package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A newer CrateDB may have a setting of any name.
func TestAnUnknownSettingIsSaidAndChangesNoExitCode(t *testing.T) {
	r := newRepository(t)
	base := strings.Replace(orders("orders", "3"), "version: 6.4.3}", "version: 6.4.3, settings: {stats.enabled: true}}", 1)
	r.commit(map[string]string{"a.yaml": base})
	r.commit(map[string]string{"a.yaml": strings.Replace(base, "stats.enabled", "stats.enabld", 1)})
	t.Chdir(r.dir)
	const place, says = "a.yaml:5:76", `unknown setting "stats.enabld": did you mean stats.enabled?`

	end := stevedore(t, "validate", ".")
	assert.Equal(t, 0, end.code, end.err)
	assert.Contains(t, end.err, place+": warning: spec.cluster.settings[\"stats.enabld\"]: "+says)
	assert.Contains(t, end.out, "prod/orders: good")

	plans, end := planned(t, ".", "--against", "HEAD^")
	assert.Equal(t, exitChanges, end.code, end.err)
	require.Len(t, plans, 1)
	require.Len(t, plans[0].Warnings, 1)
	assert.Equal(t, "a.yaml", plans[0].Warnings[0].File)
	assert.Equal(t, 5, plans[0].Warnings[0].Line)
	assert.Contains(t, plans[0].Warnings[0].Message, says)

	// A cluster that does not differ is only in the JSON for its warning.
	plans, end = planned(t, ".", "--against", "HEAD")
	assert.Equal(t, 0, end.code, end.err)
	require.Len(t, plans, 1)
	require.Len(t, plans[0].Warnings, 1)

	end = stevedore(t, "diff", ".", "--against", "HEAD")
	assert.Equal(t, 0, end.code)
	assert.Equal(t, "nothing differs\n", end.out)
	assert.Contains(t, end.err, place+": warning: ")

	end = stevedore(t, "diff", ".", "--against", "HEAD", "-o", "markdown")
	assert.Equal(t, 0, end.code)
	assert.Contains(t, end.out, "nothing differs\n\n**Warnings**\n\n- `"+place+"`: ")

	end = stevedore(t, "diff", ".", "--against", "HEAD", "-o", "sarif")
	assert.Equal(t, 0, end.code)
	var log struct {
		Runs []struct {
			Results []struct{ RuleID, Level string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(end.out), &log))
	require.Len(t, log.Runs[0].Results, 1)
	assert.Equal(t, "unknown-setting", log.Runs[0].Results[0].RuleID)
	assert.Equal(t, "warning", log.Runs[0].Results[0].Level)
}

func TestAnUnknownSettingOfAPatchIsSaidWhereThePatchHasIt(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{
		"base/a.yaml":             orders("orders", "3"),
		"base/kustomization.yaml": "resources: [a.yaml]\n",
		"prod/kustomization.yaml": "resources: [../base]\npatches:\n- path: settings.yaml\n",
		"prod/settings.yaml":      "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: prod}\nspec:\n  cluster:\n    settings:\n      stats.enabld: \"true\"\n",
	})
	t.Chdir(r.dir)
	end := stevedore(t, "validate", ".")
	assert.Equal(t, 0, end.code, end.err)
	assert.Equal(t, 1, strings.Count(end.err, "stats.enabld\"]: "), end.err)
	assert.Contains(t, end.err, "prod/settings.yaml:7:7: warning: ")
}
