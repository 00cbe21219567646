package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// AutoExpandReplicas.getDesiredNumberOfReplicas: a range that begins with more replicas than the nodes take keeps its number,
// and a table that was just made has none.
func TestARangeThatBeginsWithMoreThanTheNodesTakeKeepsItsNumber(t *testing.T) {
	w := withBackups(t)
	made := func(name, replicas string) int {
		w.addTable(name, replicas, 1, firstVersion)
		w.advance(w.now + 30*second)
		at := len(w.tables) - 1
		require.Equal(t, name, w.tables[at].name)
		return at
	}
	on := func(table int) int {
		colour, _, _ := w.health(table, w.desiredReplicas(&w.tables[table]))
		assert.Equal(t, 1, colour, "it is green")
		return w.desiredReplicas(&w.tables[table])
	}
	assert.Equal(t, 0, on(made("doc.far", "3-5")))
	assert.Equal(t, 2, on(made("doc.near", "2-5")))
	raised := made("doc.raised", "1")
	w.tables[raised].number = numberOf("4-all")
	w.advance(w.now + 30*second)
	assert.Equal(t, 1, on(raised), "the number before it stays")
}
