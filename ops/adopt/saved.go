package adopt

import (
	"encoding/json"

	"stevedore.dev/stevedore/ops/model"
)

// Saved is the cluster as it was before the first write. It is what a run that was killed goes on
// by, and what the way back restores.
type Saved struct {
	// UID is that of the CrateDB object, ClusterID is sys.cluster.id.
	UID       string `json:"uid"`
	ClusterID string `json:"clusterId,omitempty"`
	// Object is the manifest of the CrateDB object, for a person.
	Object json.RawMessage `json:"object,omitempty"`
	// Sets and Budgets are whole objects without status, by name.
	Sets    map[string]json.RawMessage `json:"sets,omitempty"`
	Budgets map[string]json.RawMessage `json:"budgets,omitempty"`
	// Objects are all others that named it as an owner, with what was taken off them.
	Objects []SavedObject `json:"objects,omitempty"`
	Pods    []Pod         `json:"pods,omitempty"`
	// Settings are cluster settings that crate-operator had left behind: they are taken off.
	Settings []Setting `json:"settings,omitempty"`
	// Away are StatefulSets as they were right before they were deleted last, by name: what is recreated has the pods
	// that there are, whoever has grown it since the first write.
	Away map[string]json.RawMessage `json:"away,omitempty"`
	// Written is what is kept of a cluster whose StatefulSets somebody wrote; nil for one of
	// crate-operator's.
	Written *SavedWritten `json:"written,omitempty"`
	// Back is true once the way back has begun: the cluster is not adopted any more.
	Back bool `json:"back,omitempty"`
	// Done is true once every StatefulSet was taken over: from then on the daemon recreates them.
	Done bool `json:"done,omitempty"`
}

// Adopted reports whether every StatefulSet was taken over, and none has gone back since.
func (s *Saved) Adopted() bool { return s.Done && !s.Back }

// TakenOver notes that every StatefulSet was taken over: those of a way back that was given up too.
func (s *Saved) TakenOver() { s.Done, s.Back = true, false }

func owned(budget json.RawMessage) bool {
	var object struct {
		Metadata struct{ OwnerReferences []any }
	}
	return json.Unmarshal(budget, &object) == nil && len(object.Metadata.OwnerReferences) > 0
}

// SavedObject is what was taken off an object.
type SavedObject struct {
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	UID      string `json:"uid"`
	// Owner is its ownerReference, Labels are all that it had.
	Owner  json.RawMessage   `json:"owner,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Suspended is the value that a CronJob had.
	Suspended bool `json:"suspended,omitempty"`
}

// Changed names the pods that are not as they were: another one, restarted, of another revision, gone.
func (s *Saved) Changed(now []Pod) (out []string) {
	for _, was := range s.Pods {
		switch is := model.Find(now, func(p *Pod) bool { return p.Name == was.Name }); {
		case is == nil:
			out = append(out, was.Name+" is gone")
		case is.UID != was.UID:
			out = append(out, was.Name+" is another pod")
		case is.Restarts != was.Restarts:
			out = append(out, was.Name+" was restarted")
		case is.Revision != was.Revision:
			out = append(out, was.Name+" has another revision")
		}
	}
	return out
}
