package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatAChangeTouchesIsTestedButWhatNeedsTheSandbox(t *testing.T) {
	packages := []pkg{
		{path: module + "/ops", folder: "ops", hasTests: true},
		{path: module + "/apply", folder: "apply", hasTests: true, tests: []string{module + "/internal/apitest"}},
		{path: module + "/internal/daemon", folder: "internal/daemon", hasTests: true, deps: []string{module + "/ops"}},
		{path: module + "/internal/e2e", folder: "internal/e2e", hasTests: true, deps: []string{module + "/ops"}},
		{path: module + "/internal/names", folder: "internal/names", hasTests: true},
		{path: module + "/internal/demo", folder: "internal/demo", deps: []string{module + "/ops"}},
	}
	of, dependents, sandboxed := choose(packages, map[string]bool{"ops": true, "apply": true, "docs": true})
	assert.Equal(t, []string{module + "/ops", module + "/apply"}, of)
	assert.Equal(t, []string{module + "/internal/daemon", module + "/internal/e2e"}, dependents)
	assert.Equal(t, []string{module + "/apply", module + "/internal/e2e"}, sandboxed)
	assert.Equal(t, []string{"./ops"}, short(without(of, sandboxed)))
}
