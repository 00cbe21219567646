package names

import "strings"

// Operator is what the owner of an object of crate-operator is called in words.
const Operator = "crate-operator"

// written is said of what crate-operator has not made: a label that is put on by hand would have pods of
// a running cluster replaced, by two controllers at once.
const written = "a running cluster whose StatefulSet a person or a chart wrote is taken over under the names that it has: spec.operations.adopt says them, and `stevedore adopt` with --definition restarts no pod (docs/moving-in.md)"

// TakeOver says what there is for a running cluster ("namespace/name") that is not stevedore's. It is
// said wherever an object of others stands in the way; owner is what it belongs to, "" for nothing.
func TakeOver(owner, cluster string) string {
	if strings.HasPrefix(owner, Operator) {
		return "`stevedore adopt " + cluster + "` takes a running cluster of crate-operator over, and restarts no pod"
	}
	return written
}
