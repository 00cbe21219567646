// Package shape measures how the code is laid out: how large the decision core is, how much
// its files depend on each other, how long its functions and conditions are. Each measure
// has a largest value that is allowed, which is the value of the day when it was last
// lowered. So the code may become simpler in steps, and no step back goes unnoticed.
package shape

// Finding is one thing that a measure counts. A person who wants to lower a value needs to
// know where to begin.
type Finding struct {
	// Where is a file, or file:line, from the root of the repository.
	Where string
	// What stands there, with its size.
	What string
}

// Value is what a measure came to.
type Value struct {
	Count int
	// Of names what was counted, where that is not the same each time: the type that has
	// the most methods may be another one tomorrow.
	Of string
	// Findings are what was counted; none where they would say nothing.
	Findings []Finding
}

// Limit is a measure with its bounds.
type Limit struct {
	// Name is for people.
	Name string
	// Allowed is the most that is accepted today. It is only ever lowered.
	Allowed int
	// Goal is the value at which nobody has to lower it any more.
	Goal int

	measure func(*Tree) (Value, error)
}

// Result is a limit with the value of a tree.
type Result struct {
	Limit
	Value
}

// Exceeded says that the code is worse than it was: the check fails.
func (r Result) Exceeded() bool { return r.Count > r.Allowed }

// Lowerable says that the code is better than what is allowed: who does not lower the
// limit leaves room for it to become worse again. It fails nothing, so that two people who
// both improve the code are not in each other's way.
func (r Result) Lowerable() bool { return r.Count < r.Allowed }

// Check measures a tree against limits, in their order.
func Check(tree *Tree, limits []Limit) ([]Result, error) {
	results := make([]Result, 0, len(limits))
	for _, limit := range limits {
		value, err := limit.measure(tree)
		if err != nil {
			return nil, err
		}
		results = append(results, Result{Limit: limit, Value: value})
	}
	return results, nil
}
