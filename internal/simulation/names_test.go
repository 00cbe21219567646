package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Seeds 6300083223 and 6300109001: a table got the name of one that was there, and answers had both.
func TestPeopleGiveATableANameThatNoOtherHas(t *testing.T) {
	w := &world{}
	w.tables = []table{{name: "doc.a"}, {name: "doc.n2"}} // doc.b was dropped after doc.n2 was made
	assert.Equal(t, "doc.n3", w.newName())
	w.tables = w.tables[:1]
	assert.Equal(t, "doc.n1", w.newName())
}
