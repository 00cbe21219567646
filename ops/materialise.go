package ops

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Classify compares the wanted StatefulSets with the last effective ones and
// returns the differences that matter, sorted. Objects of other kinds are
// ignored. It is pure.
func Classify(wanted, effective []*unstructured.Unstructured) []Change { return nil }

// Materialise turns the wanted objects into those that the cluster is held to
// now, and returns what the record is to save of them (set Record.Saved to it
// before the record is saved). The arguments are not changed. It is pure.
func Materialise(wanted []*unstructured.Unstructured, saved Saved, effective Effective) ([]*unstructured.Unstructured, Saved, error) {
	return wanted, saved, nil
}

// Unpack returns the objects of Saved, sorted by name.
func (s Saved) Unpack() ([]*unstructured.Unstructured, error) { return nil, nil }
