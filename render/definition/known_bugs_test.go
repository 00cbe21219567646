package definition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render/definition"
)

// With crate-operator, two groups of one name met in one StatefulSet, or a name
// made none: the 409 was swallowed, and the cluster never formed.
func TestADuplicateOrInvalidGroupNameIsRefusedWhereItStands(t *testing.T) {
	for name, why := range map[string]string{
		"hot":    `"hot" stands twice, first in spec.nodes.data[0]`,
		"master": "master is the name of the dedicated masters: take another",
		"Cold_1": "cannot be part of a StatefulSet's name",
		"-cold":  "cannot be part of a StatefulSet's name",
		"co.ld":  "cannot be part of a StatefulSet's name",
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, valid, "name: cold")
			text := strings.Replace(valid, "name: cold", "name: "+name, 1)
			said := texts(definition.CheckRaw("a.yaml", []byte(text), definition.RawOptions{Whole: true}))
			require.Len(t, said, 1)
			require.Contains(t, said[0], "a.yaml:29:13: spec.nodes.data[1].name: "+why)
		})
	}
}
