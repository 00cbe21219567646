package simulation

import (
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/model"
)

// cached is a daemon's cache of the API server: each kind as of some version,
// which may be old.
type cached struct {
	version [kinds]int64
	stalled [kinds]millis // until when a watch brings nothing

	sets    []model.ObservedSet
	state   []viewedSet
	pods    []model.Pod
	claims  []model.Claim
	secrets []model.Secret
	budgets []model.ObservedBudget
	volumes []model.VolumeTemplate
	record  stored
}

// viewedSet is what the applier compares.
type viewedSet struct {
	exists, foreign bool
	version         int64
	replicas        int
	template        int
	hold, suspended string
	annotated       string
	adopted         string
	initialMasters  bool
}

// watch brings the caches up to date, those that are not stalled.
func (d *daemon) watch() {
	w, v := d.w, &d.view
	for k := range kinds {
		// A process decides nothing before each watch has brought its first list.
		if v.version[k] > 0 && (v.version[k] == w.changed[k] || v.stalled[k] > w.now) {
			continue
		}
		v.version[k] = max(w.changed[k], 1)
		switch k {
		case kindSets:
			d.watchSets()
		case kindPods:
			d.watchPods()
		case kindClaims:
			d.watchClaims()
		case kindSecrets:
			d.watchSecrets()
		case kindBudgets:
			v.budgets = v.budgets[:0]
			for i := range w.budgets {
				if b := &w.budgets[i]; b.exists {
					v.budgets = append(v.budgets, model.ObservedBudget{Name: b.name, MaxUnavailable: b.value, MinAvailable: b.keep, Seen: b.observed == b.generation, Allowed: b.allowed})
				}
			}
		case kindRecord:
			v.record = w.stored
		}
	}
}

func (d *daemon) watchSets() {
	w, v := d.w, &d.view
	v.sets = v.sets[:0]
	v.state = v.state[:0]
	v.volumes = v.volumes[:0]
	for i := range w.sets {
		s := &w.sets[i]
		v.state = append(v.state, viewedSet{exists: s.exists, foreign: s.foreign, version: s.version, replicas: s.replicas, template: s.template, hold: s.hold, suspended: s.suspended, annotated: s.annotated, adopted: s.adopted, initialMasters: s.initialMasters})
		if !s.exists {
			continue
		}
		t := &w.templates[s.template]
		v.sets = append(v.sets, model.ObservedSet{
			Name: s.name, UID: s.uid, ResourceVersion: versionText(s.version), Ours: !s.foreign, Terminating: s.terminating,
			Replicas: s.replicas, Current: s.current, Ready: s.ready,
			Generation: s.generation, ObservedGeneration: s.observedGeneration,
			UpdateRevision: w.revision(t), Resources: w.resources(t.amounts), InitialMasters: s.initialMasters, Template: t.marked(s), Version: t.version, Group: s.group, MasterEligible: s.eligible, RecoverAfter: t.counts/2 + 1, Hold: s.hold, Suspended: s.suspended,
			Adopted: s.adopted, Annotated: s.annotated, Settings: t.live, Unused: (t.shape.disks() &^ t.mounts).String(),
		})
		v.volumes = append(v.volumes, volumeTemplate(s.name, t.shape)...)
	}
}

var (
	phases    = [...]string{"Pending", "Pending", "Running"}
	kubeNames = [kubeNodes]string{"k0", "k1", "k2", "k3", "k4", "k5"}
	zoneNames = [3]string{"a", "b", "c"}
)

func (d *daemon) watchPods() {
	w, v := d.w, &d.view
	v.pods = v.pods[:0]
	for _, i := range w.used {
		l := &w.slots[i]
		p := &l.pod
		if !p.exists {
			continue
		}
		t := &w.templates[p.template]
		v.pods = append(v.pods, model.Pod{
			Name: l.podName, Set: l.set.name, Ordinal: l.ordinal, UID: p.uid, Controller: p.owner, NodeName: l.nodeName,
			Ready: p.ready, Terminating: p.terminating, Phase: phases[p.phase], Waiting: p.waiting,
			Revision: w.revisionOf(t, p.born), Volumes: w.volumesOf(p), Unused: (p.disks &^ p.mounts).String(), Resources: p.spec, Actual: p.actual, Altered: p.altered, Resize: p.stage, ResizeMessage: kubeletSays[p.stage], IP: "10.0.0.1", KubernetesNode: kubeNames[l.kube], Zone: zoneNames[l.kube%3],
			Version: t.version, Started: p.started.time(), Restarts: p.restarts,
			RecoverAfter: t.counts/2 + 1, Created: (p.created / second * second).time(), Template: t.marked(l.set), Settings: t.live,
		})
	}
}

var passwordKeys = []string{access.SystemKey}

func (d *daemon) watchSecrets() {
	w, v := d.w, &d.view
	v.secrets = v.secrets[:0]
	for i := range w.secrets {
		s := &w.secrets[i]
		if !s.exists {
			continue
		}
		seen := model.Secret{Name: s.name, Exists: true, Version: model.SecretVersion{UID: s.uid, ResourceVersion: versionText(s.version)}, Labelled: s.labelled}
		if s.password != "" {
			seen.Keys = passwordKeys
		}
		v.secrets = append(v.secrets, seen)
	}
}

// secretOf makes sure that each name is there, as the daemon does.
func (v *cached) secretsOf(all []string) []model.Secret {
	for _, name := range all {
		found := false
		for i := range v.secrets {
			found = found || v.secrets[i].Name == name
		}
		if !found {
			v.secrets = append(v.secrets, model.Secret{Name: name})
		}
	}
	return v.secrets
}

var systemSecret = names.SystemSecret(clusterName)
