package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// A record that was read stays as it is: Once writes into no list that it is given, few or many.
func TestOnceKeepsTheOrderAndWritesIntoNoListOfOthers(t *testing.T) {
	for _, n := range []int{3, 300} {
		room := make([]string, 0, 4*n)
		for i := range n {
			room = append(room, fmt.Sprint(i))
		}
		all := model.Once(room, slices.Concat(room, []string{"new", "0", "new", "last"})...)
		assert.Equal(t, slices.Concat(room, []string{"new", "last"}), all)
		assert.NotEqual(t, "new", room[:n+1][n], "%d", n)
	}
	assert.Equal(t, []string{"b", "a"}, model.Once(nil, "b", "a", "b"))
	assert.Empty(t, model.Once(nil))
}

func BenchmarkOnceOfManyTables(b *testing.B) {
	var tables []string
	for i := range 20_000 {
		tables = append(tables, fmt.Sprintf("doc.table_%05d", i/2))
	}
	for b.Loop() {
		model.Once(nil, tables...)
	}
}
