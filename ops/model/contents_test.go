package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

func taking(names ...string) *model.Backups {
	b := &model.Backups{}
	for _, name := range names {
		b.Taken = append(b.Taken, model.TakenSnapshot{Name: name})
	}
	return b
}

func TestWhichTablesASnapshotHasIsRemembered(t *testing.T) {
	b := taking("a", "b", "none", "unknown")
	b.NoteTables("a", []string{"doc.two", "doc.one"})
	b.NoteTables("b", []string{"doc.one", "doc.two"})
	b.NoteTables("none", nil)
	assert.Len(t, b.Contents, 2, "a list that several have is there once")
	for i, want := range [][]string{{"doc.one", "doc.two"}, {"doc.one", "doc.two"}, {}} {
		names, known := b.TablesOf(&b.Taken[i])
		assert.True(t, known)
		assert.Equal(t, want, names)
	}
	_, known := b.TablesOf(&b.Taken[3])
	assert.False(t, known)

	before := *b
	b.Taken = b.Taken[:1]
	b.NoteTables("a", []string{"doc.one"})
	assert.Len(t, b.Contents, 1, "what no snapshot has any more is forgotten")
	assert.Len(t, before.Contents, 2, "a copy keeps its own")
}

// The record has no room for more: the newest are known then.
func TestOldListsOfTablesAreForgottenWhereThereIsNoRoom(t *testing.T) {
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	b := taking(names...)
	for i, name := range names {
		b.NoteTables(name, []string{"doc." + strings.Repeat(fmt.Sprint(i), 30<<10)})
	}
	for i, want := range []bool{false, false, true, true} {
		_, known := b.TablesOf(&b.Taken[i])
		assert.Equal(t, want, known, i)
	}
	b.NoteTables("s3", []string{"doc." + strings.Repeat("x", 100<<10)})
	_, known := b.TablesOf(&b.Taken[3])
	assert.False(t, known)
}
