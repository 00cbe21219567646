package ops_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/ops/model"
)

// toyPod is a pod. away counts the looks until a deleted one is gone, at 1, and then its StatefulSet's controller makes the
// next; leaves those at one that ends because fewer are to be.
type toyPod struct {
	uid, template string
	settings      model.SettingList
	created       time.Time
	away, leaves  int
	// fresh is true until the first look at one that has come in the place of another.
	fresh    bool
	restarts int
	// highest version that has started on its volume.
	highest string
}

// control is one round of the StatefulSet controller for each StatefulSet that is there.
func (w *world) control() {
	var pods []model.Pod
	for name, p := range w.pods {
		seen := model.Pod{Name: name, Terminating: p.away+p.leaves > 0, Volumes: w.has[name]}
		if w.unpullable[p.template] {
			seen.Phase = "Pending"
		}
		if seen.Set, seen.Ordinal = cutOrdinal(name); p.away != 1 {
			pods = append(pods, seen)
		} else if seen.Ordinal >= w.set(seen.Set).Replicas {
			w.forget(seen.Set, seen.Ordinal)
		}
	}
	for _, s := range w.sets {
		s.UID, s.Terminating = "", w.away[s.Name]
		for _, step := range w.Control(&s, pods, w.disksOf(s.Name), w.now) {
			switch step.Write {
			case cluster.MakePod:
				w.makePod(s.Name, step.Ordinal)
			case cluster.DeletePod:
				w.pods[fmt.Sprint(s.Name, "-", step.Ordinal)].leaves = 3
			}
		}
	}
}

func (w *world) makePod(set string, ordinal int) {
	name, node := fmt.Sprint(set, "-", ordinal), fmt.Sprint(set, "/", ordinal)
	pod := w.pods[name]
	if pod == nil {
		pod = &toyPod{}
		w.pods[name] = pod
	}
	pod.fresh, pod.away = pod.away > 0, 0
	pod.uid, pod.created = "uid-"+w.next(), w.now.Truncate(time.Second)
	pod.template, pod.settings = split(w.live[set])
	w.getsDisks(set, name)
	if w.expects[node] == 0 {
		w.expects[node] = w.counts
	}
}

// forget: a pod is gone that is to be no more.
func (w *world) forget(set string, ordinal int) {
	node := fmt.Sprint(set, "/", ordinal)
	delete(w.pods, fmt.Sprint(set, "-", ordinal))
	delete(w.expects, node)
	delete(w.acknowledged, node)
}

// ordinals are as many as a StatefulSet has pods, or is to have.
func (w *world) ordinals(s *model.ObservedSet) int {
	most := s.Replicas
	for name := range w.pods {
		if set, ordinal := cutOrdinal(name); set == s.Name {
			most = max(most, ordinal+1)
		}
	}
	return most
}

func cutOrdinal(pod string) (set string, ordinal int) {
	cut := strings.LastIndexByte(pod, '-')
	ordinal, _ = strconv.Atoi(pod[cut+1:])
	return pod[:cut], ordinal
}

// leaving are the nodes that are to be no more and whose pods are there.
func (w *world) leaving() (nodes []string) {
	for _, s := range w.sets {
		for o := s.Replicas; o < w.ordinals(&s); o++ {
			nodes = append(nodes, fmt.Sprint(s.Name, "/", o))
		}
	}
	return nodes
}

// seePod is nil while the pod is away.
func (w *world) seePod(set string, ordinal int) *toyPod {
	pod := w.pods[fmt.Sprint(set, "-", ordinal)]
	switch {
	case pod == nil:
	case pod.away > 0:
		pod.away = max(1, pod.away-1)
		return nil
	case pod.fresh:
		pod.fresh = false
		return nil
	case pod.leaves == 1:
		w.forget(set, ordinal)
		return nil
	case pod.leaves > 0:
		pod.leaves--
	}
	return pod
}
