package model

import (
	"cmp"
	"slices"
	"strings"
)

// hashed puts relations into the order in which a HashMap of Java has them: CrateDB goes
// through what it restores in that order, and what it meets first it says.
func hashed(names []Relation) []Relation {
	size := uint32(16)
	for float64(len(names)) > 0.75*float64(size) {
		size *= 2
	}
	bucket := func(r Relation) uint32 {
		h := uint32(31*javaHash(r.Schema) + javaHash(r.Name))
		return (h ^ h>>16) & (size - 1)
	}
	slices.SortFunc(names, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(bucket(a), bucket(b)), strings.Compare(a.Schema+"."+a.Name, b.Schema+"."+b.Name))
	})
	return names
}

// javaHash is Java's String.hashCode of a text in ASCII.
func javaHash(s string) (h int32) {
	for i := range len(s) {
		h = 31*h + int32(s[i])
	}
	return h
}
