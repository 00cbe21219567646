package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestARunCountsViolationsByInvariantAndStopsByTheGatesThatStatusNames(t *testing.T) {
	var one, other, all Statistics
	for _, v := range []*Violation{nil, {Invariant: "B"}, {Invariant: "E", Names: []string{"tables-red"}}} {
		one.Note(Result{Violation: v})
	}
	for _, v := range []*Violation{
		{Invariant: "B"}, {Invariant: "E", Names: []string{}}, {Invariant: "E", Names: []string{"tables-red"}},
		{Invariant: "E"}, // broken under way: nothing has stopped
	} {
		other.Note(Result{Violation: v})
	}
	all.Add(&one)
	all.Add(&other)
	assert.Equal(t, 6, all.Violations)
	assert.Equal(t, "2 of B\n4 of E\n1 stopped by no name\n2 stopped by tables-red\n", all.Ends())
}
