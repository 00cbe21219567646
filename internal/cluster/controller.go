package cluster

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// StatefulSet is what its controller knows of one.
type StatefulSet struct {
	UID         string
	Replicas    int
	Terminating bool
	// Stale: the API server has it no more, or is deleting it, and the controller does not know that yet.
	Stale bool
	// OrderedReady is its podManagementPolicy, else it is Parallel; RollingUpdate its updateStrategy, else it is OnDelete.
	OrderedReady, RollingUpdate bool
	Partition                   int
	// Update is the revision of its template.
	Update string
}

// Pod is what the controller knows of the pod of an ordinal, which may not be there.
type Pod struct {
	Exists bool
	// Owner is the UID of the StatefulSet that it belongs to; "" for none.
	Owner, Revision string
	// Ended: its phase is Failed or Succeeded.
	Pending, Ready, Ended, Terminating bool
	// Lacks: it has not the volume of each claim template. ClaimDeleted: a claim of its ordinal is being deleted.
	Lacks, ClaimDeleted bool
}

// Write is what the controller writes.
type Write uint8

const (
	// AdoptPod makes a pod that belongs to nobody the StatefulSet's.
	AdoptPod Write = iota
	// MakeClaims makes the claims that a pod lacks.
	MakeClaims
	// MakePod makes a pod, and the claims that it lacks before it.
	MakePod
	DeletePod
)

// Step is one write for the pod of an ordinal.
type Step struct {
	Write   Write
	Ordinal int
	// Before: the pod is made from the revision that the StatefulSet had before its update.
	Before bool
}

// Control has the controller of a StatefulSet with these claim templates make the claims of one round and write the status,
// and says which steps the round has.
func (v *Volumes) Control(s *model.ObservedSet, pods []model.Pod, templates []string, now time.Time) []Step {
	var seen []Pod
	for i := range pods {
		p := &pods[i]
		if p.Set != s.Name {
			continue
		}
		seen = append(seen, make([]Pod, max(0, p.Ordinal+1-len(seen)))...)
		seen[p.Ordinal] = Pod{
			Exists: true, Owner: p.Controller, Revision: p.Revision,
			Pending: p.Phase == "Pending", Ready: p.Ready, Ended: p.Phase == "Failed" || p.Phase == "Succeeded", Terminating: p.Terminating,
			Lacks:        slices.ContainsFunc(templates, func(t string) bool { return !p.Has(t) }),
			ClaimDeleted: slices.ContainsFunc(v.Claims, func(c model.Claim) bool { return c.Terminating && c.Of(p.Name) }),
		}
	}
	set := StatefulSet{UID: s.UID, Replicas: s.Replicas, Terminating: s.Terminating}
	steps := set.Next(seen, nil)
	s.Current, s.Ready = set.Status(seen)
	for _, step := range steps {
		if step.Write == MakeClaims || step.Write == MakePod {
			v.MakeClaims(s.Name, step.Ordinal, templates, now)
		}
	}
	return steps
}

// Next adds the steps of one round of the controller, as pkg/controller/statefulset of Kubernetes has them. pods are by
// their ordinals. It changes their owners.
func (s *StatefulSet) Next(pods []Pod, steps []Step) []Step {
	if s.Terminating {
		return steps
	}
	for o := range pods {
		if p := &pods[o]; p.Exists && p.Owner == "" && !p.Terminating {
			if s.Stale {
				return steps // it asks the API server before it adopts a pod, and an error ends the round
			}
			p.Owner = s.UID
			steps = append(steps, Step{Write: AdoptPod, Ordinal: o})
		}
	}
	grows := 2 // Parallel takes pods by 1, 2, 4 and so on, and after a batch with an error no more
	if s.OrderedReady {
		grows = 1
	}
	for from, batch := 0, 1; from < s.Replicas; from, batch = from+batch, batch*grows {
		ends := false
		for o := from; o < min(from+batch, s.Replicas); o++ {
			var p Pod
			if o < len(pods) {
				p = pods[o]
			}
			var one bool
			steps, one = s.replica(&p, o, steps)
			ends = ends || one
		}
		if ends {
			return steps
		}
	}
	if s.OrderedReady {
		return s.last(pods, steps)
	}
	for o := s.Replicas; o < len(pods); o++ {
		if s.owns(&pods[o]) && !pods[o].Terminating {
			steps = append(steps, Step{Write: DeletePod, Ordinal: o})
		}
	}
	return s.update(pods, steps)
}

// Status counts the pods that belong to a StatefulSet, and those of them that are ready.
func (s *StatefulSet) Status(pods []Pod) (current, ready int) {
	for i := range pods {
		if p := &pods[i]; s.owns(p) {
			current++
			if p.Ready {
				ready++
			}
		}
	}
	return current, ready
}

func (s *StatefulSet) owns(p *Pod) bool { return p.Exists && p.Owner == s.UID }

// replica adds the steps for a pod that there is to be, and says whether the round ends with them: the API server
// refuses one, or OrderedReady waits.
func (s *StatefulSet) replica(p *Pod, ordinal int, steps []Step) (next []Step, ends bool) {
	owns := s.owns(p)
	switch {
	case owns && p.Ended:
		if !p.Terminating {
			steps = append(steps, Step{Write: DeletePod, Ordinal: ordinal})
		}
		return steps, s.OrderedReady
	case !p.Exists && !p.ClaimDeleted:
		return append(steps, Step{Write: MakePod, Ordinal: ordinal, Before: s.RollingUpdate && ordinal < s.Partition}), s.OrderedReady
	case !owns:
		return append(steps, Step{Write: MakeClaims, Ordinal: ordinal}), true // another one has its name, or a claim is being deleted
	case p.Pending:
		if steps = append(steps, Step{Write: MakeClaims, Ordinal: ordinal}); p.ClaimDeleted {
			return steps, true
		}
	}
	if s.OrderedReady && (p.Terminating || !p.Ready) {
		return steps, true
	}
	if p.Lacks {
		steps = append(steps, Step{Write: MakeClaims, Ordinal: ordinal}) // the pod cannot be given the volume
	}
	return steps, p.Lacks
}

// last has OrderedReady end the last pod, once that is ready or no lower one is not.
func (s *StatefulSet) last(pods []Pod, steps []Step) []Step {
	last, unready := -1, -1
	for o := len(pods) - 1; o >= s.Replicas; o-- {
		if p := &pods[o]; s.owns(p) {
			last = max(last, o)
			if p.Terminating || !p.Ready {
				unready = o
			}
		}
	}
	switch {
	case last < 0:
		return s.update(pods, steps)
	case pods[last].Terminating || !pods[last].Ready && last != unready:
		return steps
	}
	return append(steps, Step{Write: DeletePod, Ordinal: last})
}

// update has RollingUpdate end the last pod that is of another revision, once those after it are ready.
func (s *StatefulSet) update(pods []Pod, steps []Step) []Step {
	for o := min(s.Replicas, len(pods)) - 1; o >= s.Partition && s.RollingUpdate; o-- {
		p := &pods[o]
		if p.Exists && p.Revision != s.Update && !p.Terminating {
			return append(steps, Step{Write: DeletePod, Ordinal: o})
		}
		if p.Terminating || !p.Ready {
			break
		}
	}
	return steps
}
