package shape

import (
	"fmt"
	"maps"
	"slices"
)

// largestComponent is the largest set of files of the core of which each needs each other,
// directly or not: none of them can be read, tested or moved without all the others.
func largestComponent(t *Tree) (Value, error) {
	needs, err := dependencies(t)
	if err != nil {
		return Value{}, err
	}
	var largest []string
	for _, one := range components(needs) {
		if len(one) > len(largest) {
			largest = one
		}
	}
	slices.Sort(largest)
	value := Value{Count: len(largest)}
	for _, name := range largest {
		within := 0
		for _, other := range needs[name] {
			if slices.Contains(largest, other) {
				within++
			}
		}
		value.Findings = append(value.Findings, Finding{name, fmt.Sprintf("needs %d of the others", within)})
	}
	return value, nil
}

// components are the strongly connected components of a graph, by Tarjan's algorithm.
func components(needs map[string][]string) [][]string {
	s := search{needs: needs, number: map[string]int{}, lowest: map[string]int{}, open: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if s.number[name] == 0 {
			s.visit(name)
		}
	}
	return s.found
}

type search struct {
	needs map[string][]string
	// number is the order of the visits, from 1 on; lowest the lowest one that is reached.
	number, lowest map[string]int
	// stack are those whose component is not complete, open the same as a set.
	stack []string
	open  map[string]bool
	found [][]string
}

func (s *search) visit(name string) {
	s.number[name] = len(s.number) + 1
	s.lowest[name] = s.number[name]
	s.stack, s.open[name] = append(s.stack, name), true
	for _, next := range s.needs[name] {
		if s.number[next] == 0 {
			s.visit(next)
			s.lowest[name] = min(s.lowest[name], s.lowest[next])
		} else if s.open[next] {
			s.lowest[name] = min(s.lowest[name], s.number[next])
		}
	}
	if s.lowest[name] != s.number[name] {
		return
	}
	from := slices.Index(s.stack, name)
	component := slices.Clone(s.stack[from:])
	s.stack = s.stack[:from]
	for _, one := range component {
		s.open[one] = false
	}
	s.found = append(s.found, component)
}
