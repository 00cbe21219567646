package simulation

import (
	"fmt"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// adopting is the first seed whose schedule may begin with a cluster that was adopted.
const adopting = 2_700_000_000

// adopts draws that the cluster was made by another tool, and adopted. Volumes and disks that are
// replaced restart pods whatever their template is: those have schedules of their own.
func (s *Schedule) adopts(r *random) {
	if s.Start.Swaps || s.Start.Disks > 0 || s.Start.Offline {
		return
	}
	s.Start.Adopted, s.Start.Early = true, false
	at := r.span(0, 30*second)
	for _, what := range []What{ofAdopted[r.below(len(ofAdopted))], ofAdopted[r.below(len(ofAdopted))]} {
		if r.oneIn(2) {
			s.Items = append(s.Items, Item{What: what, At: at, A: r.below(64), B: r.below(64)})
		}
		at += r.span(second, minute)
	}
}

// ofAdopted are what an adopted cluster stays up through, and what releases it.
var ofAdopted = []What{pushGrow, pushShrink, pushSetting, pushSuspend, evict, drainNode, killNode, loseRecord, loseRecord, restartDaemon, pushRestart, pushTemplate, pushBadTemplate, pushUpgrade, pushRevert}

// adopted is what became of a cluster that another tool has made.
type adopted struct {
	// first is the commit that it was adopted with, -1 where it was not. asked is true once a commit
	// asked for what restarts pods.
	first int
	asked bool
	// lost are the StatefulSets, by index, that did not say that they were adopted when the record was lost, as they were gone or
	// somebody had made another one: nobody knows any more that their pods have another template than is desired.
	lost [3]bool
}

// forgetsAdopted: the record is lost.
func (w *world) forgetsAdopted() {
	for i := range w.sets {
		s := &w.sets[i]
		says := s.exists && !s.terminating && !s.foreign && s.adopted != ""
		w.adopted.lost[i] = w.adopted.lost[i] || w.adopted.first >= 0 && !says && (s.adopted != "" || s.byHand)
	}
}

// adopt takes over what is there: its templates and its pods have no hash, its StatefulSets say that
// they were adopted, and there is no record. What its definition makes of it says the same to a process:
// only the hash tells one from the other.
func (w *world) adopt() {
	w.adopted = adopted{first: len(w.commits) - 1}
	for i := range w.sets {
		s := &w.sets[i]
		if !s.exists {
			continue
		}
		s.template = w.like(w.templates[s.template], model.AdoptedTemplate)
		s.previous, s.earlier, s.proven, s.provenBefore, s.seenTemplate = s.template, s.template, s.template, s.template, s.template
		s.adopted = `{"from":"crate-operator"}`
		w.setChanged(s)
		for o := range maxOrdinals {
			l := &w.slots[i*maxOrdinals+o]
			if l.pod.exists {
				l.pod.template = s.template
			}
			if l.claim.exists {
				l.claim.clusterID = clusterID
			}
		}
	}
	w.bump(kindPods)
	w.bump(kindClaims)
	w.stored = stored{version: w.bump(kindRecord)}
	w.judge.loses(w)
	for _, d := range w.daemons {
		d.doomed = true
	}
	w.say("the cluster is one that another tool has made, and was adopted")
}

// seenAdopted: a daemon has noted what the definition asks for.
func (w *world) seenAdopted() bool {
	all := w.stored.record.Adopted
	return len(all) > 0 && !slices.ContainsFunc(all, func(a model.AdoptedSet) bool { return a.Desired == "" })
}

// asks notes that a commit asks for what restarts the pods of an adopted cluster.
func (w *world) asks(c *commit) {
	if w.adopted.first < 0 {
		return
	}
	first := &w.commits[w.adopted.first]
	other := c.content != first.content || c.version != first.version || c.amounts != first.amounts
	w.adopted.asked = w.adopted.asked || other || c.offline != first.offline || c.bad != first.bad || c.restartedAt != first.restartedAt
}

// isAdopted: the template is one that was adopted.
func (t *template) isAdopted() bool { return t.hash == model.AdoptedTemplate }

// marked is how a daemon reads the hash of a template: an adopted one has none, and only the
// annotation of its set says what it is.
func (t *template) marked(s *set) string {
	if t.isAdopted() && s.adopted == "" {
		return ""
	}
	return t.hash
}

// adopts: nobody has asked for what restarts the pods of an adopted cluster, and one that is well goes.
// One that would wait for more nodes than a shrink has left goes as in any cluster, and so do all where the record
// was lost while their StatefulSet was gone: it is recreated as it is desired.
func (j *judge) adopts(w *world, l *slot) {
	t := &w.templates[l.pod.template]
	agreed := l.goesWith(func(k *claim) bool { return k.going && k.agreed }) // somebody has asked for just this pod
	if agreed || j.forgetsAdopted(w, l.set) {
		return
	}
	if w.adopted.first >= 0 && !w.adopted.asked && l.pod.ready && t.isAdopted() && t.counts/2+1 <= w.dataMembers() {
		w.violate("H", "%s is restarted, which runs the template that it was adopted with, and nobody has asked for a restart", l.podName)
	}
}

// forgetsAdopted: the record was lost while a StatefulSet was gone, or right before.
func (j *judge) forgetsAdopted(w *world, s *set) bool {
	since := s.orphaning.since
	return w.adopted.lost[w.setIndex(s.name)] || since > 0 && j.lostRecord >= since-5*second
}

// changesAdopted: nobody has asked for it, and a set gets another template than it was adopted with.
func (j *judge) changesAdopted(w *world, s *set, wanted int) {
	if w.adopted.first >= 0 && !w.adopted.asked && s.exists && !w.adopted.lost[w.setIndex(s.name)] && w.templates[s.template].isAdopted() && !w.templates[wanted].isAdopted() {
		w.violate("H", "%s gets the template %s in the place of the one that it was adopted with, and nobody has asked for a restart", s.name, w.templates[wanted].hash)
	}
}

// reads is what a process reads of the template that a commit makes for a group, as manifest.NewDesired
// notes it.
func (c *commit) reads(kind int) string {
	return fmt.Sprintf("h%d-%s-%d-%d-%s", c.content, c.version, c.bad, c.amounts[kind], c.volumes[kind].disks())
}
