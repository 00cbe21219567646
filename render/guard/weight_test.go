package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render/guard"
)

// Each of n levels names the one below it twice.
func doubling(n int) []string {
	pairs := []string{"0/kustomization.yaml", "resources: [m.yaml]\n", "0/m.yaml", configMap}
	for i := 1; i <= n; i++ {
		for _, side := range []string{"a", "b"} {
			pairs = append(pairs, fmt.Sprintf("%d%s/kustomization.yaml", i, side), fmt.Sprintf("namePrefix: %s-\nresources: [../%d]\n", side, i-1))
		}
		pairs = append(pairs, fmt.Sprintf("%d/kustomization.yaml", i), fmt.Sprintf("resources: [../%da, ../%db]\n", i, i))
	}
	return pairs
}

func TestBasesThatMultiplyAreRefusedBeforeKustomizeCopiesThem(t *testing.T) {
	_, problems := guard.Check(files(doubling(10)...), "10")
	require.Empty(t, texts(problems), "a thousand copies are work, no bomb")

	_, problems = guard.Check(files(doubling(40)...), "40")
	require.Equal(t, []string{"40/kustomization.yaml: makes kustomize read more than 64 MiB, each base as often as it is named: split it"}, texts(problems))

	big := configMap + "data: {a: " + strings.Repeat("x", 1<<20-100) + "}\n"
	pairs := []string{"base/kustomization.yaml", "resources: [m.yaml]\n", "base/m.yaml", big}
	for i := range 300 {
		pairs = append(pairs, fmt.Sprintf("k%03d/kustomization.yaml", i), "resources: [../base]\n")
	}
	_, problems = guard.Check(files(pairs...), ".")
	require.Len(t, problems, 300-254, "one base of a MiB, 300 times: the last are refused")
	require.Contains(t, texts(problems)[0], "and those before it make kustomize read more than 256 MiB")
}
