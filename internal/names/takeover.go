package names

import "strings"

// Operator is what the owner of an object of crate-operator is called in words.
const Operator = "crate-operator"

// noTakeOver is said of what crate-operator has not made: a label that is put on by hand would have
// pods of a running cluster replaced, by two controllers at once.
const noTakeOver = "taking over a running cluster that crate-operator has not made is not supported, whether a person wrote its StatefulSet or Helm, Argo CD or Flux did: make a new one with stevedore, and bring its tables there with a snapshot or COPY"

// TakeOver says what there is for a running cluster ("namespace/name") that is not stevedore's. It is
// said wherever an object of others stands in the way; owner is what it belongs to, "" for nothing.
func TakeOver(owner, cluster string) string {
	if strings.HasPrefix(owner, Operator) {
		return "`stevedore adopt " + cluster + "` takes a running cluster of crate-operator over, and restarts no pod"
	}
	return noTakeOver
}
