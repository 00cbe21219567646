package simulation

import (
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

const (
	clusterName = "c"
	maxOrdinals = 14
	maxSlots    = 64 // of all StatefulSets
	kubeNodes   = 6
)

// kind of object; each has a watch of its own.
type kind uint8

const (
	kindSets kind = iota
	kindPods
	kindClaims
	kindSecrets
	kindBudgets
	kindRecord
	kinds
)

func (k kind) String() string {
	return [...]string{"StatefulSets", "pods", "claims", "Secrets", "budgets", "the record"}[k]
}

// template is a pod template: what a process reads, and the gateway counts,
// which restart nothing.
type template struct {
	key     string // as it is saved in the record
	hash    string
	content int
	version string
	release allocation.Version // the same, as the deciders know it
	counts  int
	bad     badness
	soft
	live   model.SettingList
	shape          // of the claim templates, which no hash has
	mounts diskSet // the disks that it mounts, without data0
}

// soft is what comes to running pods, and what no hash has: jobsLog is stats.jobs_log_size on the command
// line, "" for none, and amounts the CPU and memory, of resourceTexts.
type soft struct {
	jobsLog string
	amounts int
}

type badness uint8

const (
	good badness = iota
	badImage
	badCrash
	badHang
	badProbe // its nodes join, and its pods never become ready
)

// set is a StatefulSet, OnDelete and Parallel.
type set struct {
	name, group string
	masters     bool
	eligible    bool

	exists                         bool
	uid                            string
	version, generation            int64
	replicas                       int
	template                       int
	hold, suspended, annotated     string
	adopted                        string
	previous, earlier              int    // the template before, and the one before that
	proven, provenBefore           int    // the one that a pod last joined on while the set had it, and the one before that
	provenAt                       millis // when the first pod joined on it
	initialMasters                 bool
	observedGeneration             int64
	current, ready                 int
	seenReplicas, seenTemplate     int
	seenGeneration                 int64
	seenInitialMasters, seenExists bool
	seenUID                        string
	seenTerminating                bool
	appliedAt                      millis // when its template was last written
	byHand                         bool   // somebody has made it from a file, and no daemon has written it since
	smaller                        uint8  // the disks of whose claim templates it was recreated with smaller ones at some time
	narrow                         narrow
	orphaning
	// due is when the controller looks; the cache of the controller follows at
	// cacheDue.
	due, cacheDue millis
}

type phase uint8

const (
	pending phase = iota
	starting
	running
)

// slot is an ordinal of a StatefulSet: its pod, its claim and its volume.
type slot struct {
	set     *set
	ordinal int
	index   int
	podName, nodeName,
	claimName string
	kube   int // the Kubernetes node that its volume is on
	pod    pod
	claim  claim
	volume volume
	// emptied: its volume went because a daemon had deleted its claim, and no node has joined on
	// the next one yet.
	emptied  bool
	kubelet  model.ResizeStage // what its kubelet answers to a resize; "" gives what is asked for
	full     bool              // its disk is above the low watermark, by what is not CrateDB's
	filled   int64             // what that is
	fullDisk int               // which of its disks that is
	more     [maxDisks - 1]further
	last     diskSet         // those that its last pod had in its path.data
	place    allocation.Node // as the deciders know it, since it has joined
	// unwellUntil is until when its readiness probe fails, whatever its node does;
	// unwellOn is the content of the template on which it does, 0 for none.
	unwellUntil millis
	unwellOn    int
}

type pod struct {
	exists         bool
	uid, owner     string
	collectDue     millis // when the garbage collector ends it, whose owner is gone
	template       int
	initialMasters bool
	created        millis
	phase          phase
	due            millis // the next change of phase
	started        millis
	ready          bool
	terminating    bool
	exitDue        millis
	goneDue        millis
	waiting        string
	restarts       int
	up             bool // the process runs
	joined         bool
	hasJoined      bool // once, by this pod
	joinedAt       millis
	joinDue        millis
	readyDue       millis
	disks, mounts  diskSet // without data0: those that it has volumes of, and those in its path.data
	cgroup
}

type claim struct {
	exists             bool
	clusterID, version string
	made               millis // when it was made
	unbound            bool   // it has no volume before a pod uses it
	growth
}

type volume struct {
	node    int // the node id in it; 0 is none yet
	cluster int // the cluster id in it; 0 is none yet
	version string
}

type budget struct {
	name    string
	masters bool
	exists  bool
	value   int
	// keep is minAvailable in the place of maxUnavailable; 0 where it has none.
	keep int
	// shared: somebody else than the daemon's apply has written maxUnavailable, which an apply
	// does not take away.
	shared bool
	// What the disruption controller has made of it, and of the pods of a version.
	generation, observed      int64
	allowed, healthy, desired int
	pods                      int64
	due                       millis
}

type secret struct {
	name     string
	exists   bool
	uid      string
	version  int64
	labelled bool
	password string
	data     map[string][]byte // with the password; executors only read it
}

// kubernetes is the API server, its controllers and the kubelets.
type kubernetes struct {
	sets      []set
	slots     []slot // maxOrdinals for each set
	used      []int  // slots that ever had a pod
	budgets   []budget
	secrets   []secret
	templates []template

	resource int64        // the last resourceVersion
	changed  [kinds]int64 // the last of each kind
	uidCount int

	cordoned [kubeNodes]millis // until when nothing is scheduled
	dead     [kubeNodes]millis // until when a node is dead
	stalled  millis            // until when the StatefulSet controller sleeps
	// until when two other controllers do
	disruptionStalled, collectorStalled millis
	drains                              []drain
	controller                          controller
}

// drain is somebody's kubectl drain of one pod, which asks until it may.
type drain struct {
	slot     int
	due, end millis
}

func (k *kubernetes) bump(what kind) int64 {
	k.resource++
	k.changed[what] = k.resource
	return k.resource
}

func (k *kubernetes) nextUID() string {
	k.uidCount++
	return nameOf(uids, "uid-", k.uidCount)
}

// templateOf finds or makes a template.
func (k *kubernetes) templateOf(content int, version string, counts int, bad badness, of soft, volumes shape) int {
	return k.like(template{content: content, version: version, counts: counts, bad: bad, soft: of, shape: volumes, mounts: volumes.disks()}, "")
}

// like finds or makes a template that is like another one; the mark "" is that of what it says.
func (k *kubernetes) like(t template, mark string) int {
	if mark == "" {
		mark = t.says()
	}
	for i := range k.templates {
		o := &k.templates[i]
		if o.content == t.content && o.version == t.version && o.counts == t.counts && o.soft == t.soft && o.shape == t.shape && o.mounts == t.mounts && o.hash == mark {
			return i
		}
	}
	t.key, t.hash = "T"+strconv.Itoa(len(k.templates)), mark
	t.release, _ = allocation.ParseVersion(t.version)
	if t.jobsLog != "" {
		t.live = manifest.NewSettingList([]model.Setting{{Name: jobsLogSize, Value: t.jobsLog}})
	}
	k.templates = append(k.templates, t)
	return len(k.templates) - 1
}

// says is the mark of what a process reads of it.
func (t *template) says() string {
	mark := "h" + strconv.Itoa(t.content) + "-" + t.version
	if t.mounts != 0 {
		mark += "+" + strings.ReplaceAll(t.mounts.String(), ",", "+") // as a hash it has no comma
	}
	return mark
}

// same: two templates say the same, whatever their disks are.
func (t *template) same(o *template) bool { return t.content == o.content && t.version == o.version }

// templateByKey reads what the record saved; -1 when there is none.
func templateByKey(key string) int {
	if len(key) < 2 {
		return -1
	}
	n := 0
	for i := 1; i < len(key); i++ {
		n = n*10 + int(key[i]-'0')
	}
	return n
}

func (w *world) makeSlots() {
	w.slots = slices.Grow(w.slots, len(w.sets)*maxOrdinals)[:len(w.sets)*maxOrdinals]
	for i := range w.sets {
		s := &w.sets[i]
		for o := range maxOrdinals {
			names := &slotNames[w.setKind(s)][o]
			w.slots[i*maxOrdinals+o] = slot{
				set: s, ordinal: o, index: i*maxOrdinals + o, kube: (i + o) % kubeNodes,
				podName: names.pod, nodeName: names.node, claimName: names.claim,
			}
		}
	}
}

func (w *world) setKind(s *set) int {
	for i, g := range groupNames {
		if g == s.group {
			return i
		}
	}
	return 0
}

var groupNames = []string{names.MasterGroup, "hot", "warm"}

var slotNames = func() (all [3][maxOrdinals]struct{ pod, node, claim string }) {
	for i, group := range groupNames {
		masters := group == names.MasterGroup
		set, prefix := names.StatefulSet(clusterName, group, masters), names.NodePrefix(group, masters)
		for o := range maxOrdinals {
			all[i][o].pod = set + "-" + strconv.Itoa(o)
			all[i][o].node = prefix + "-" + strconv.Itoa(o)
			all[i][o].claim = "data0-" + set + "-" + strconv.Itoa(o)
		}
	}
	return all
}()

// setOf is the StatefulSet of that name and UID; nil where it is not there.
func (w *world) setOf(name, uid string) *set {
	if i := w.setIndex(name); i >= 0 && w.sets[i].exists && w.sets[i].uid == uid {
		return &w.sets[i]
	}
	return nil
}

func (w *world) setIndex(name string) int {
	for i := range w.sets {
		if w.sets[i].name == name {
			return i
		}
	}
	return -1
}

func (w *world) slotOf(pod string) *slot {
	for _, i := range w.used {
		if w.slots[i].podName == pod {
			return &w.slots[i]
		}
	}
	return nil
}

// setChanged wakes the controller.
func (w *world) setChanged(s *set) {
	s.version, w.dueKnown = w.bump(kindSets), false
	lag := w.rnd.span(20, 300)
	if w.rnd.oneIn(8) {
		lag = w.rnd.span(300, 4000)
	}
	s.cacheDue = max(w.now+lag, w.stalled)
}

func (w *world) kubernetesDue() millis {
	due := never
	for i := range w.sets {
		s := &w.sets[i]
		if s.cacheDue > 0 {
			due = min(due, s.cacheDue)
		}
		if s.due > 0 {
			due = min(due, s.due)
		}
	}
	for _, i := range w.used {
		p := &w.slots[i].pod
		if !p.exists {
			continue
		}
		if p.due > 0 {
			due = min(due, p.due)
		}
		if p.exitDue > 0 {
			due = min(due, p.exitDue)
		}
		if p.goneDue > 0 {
			due = min(due, p.goneDue)
		}
		if p.joinDue > 0 {
			due = min(due, p.joinDue)
		}
		if p.readyDue > 0 {
			due = min(due, p.readyDue)
		}
		if p.collectDue > 0 {
			due = min(due, p.collectDue)
		}
	}
	for i := range w.drains {
		due = min(due, w.drains[i].due)
	}
	if w.driver() != noDriver {
		due = min(due, w.claimsDue(), w.orphansDue(), w.disruptionDue(), w.kubeletsDue())
	}
	return due
}

func (w *world) happenKubernetes() {
	for i := range w.sets {
		s := &w.sets[i]
		if s.cacheDue > 0 && s.cacheDue <= w.now {
			s.cacheDue = 0
			s.seenReplicas, s.seenTemplate, s.seenGeneration = s.replicas, s.template, s.generation
			s.seenInitialMasters, s.seenExists = s.initialMasters, s.exists
			s.seenUID, s.seenTerminating = s.uid, s.terminating
			s.due = w.now
		}
		if s.due > 0 && s.due <= w.now {
			s.due = 0
			w.reconcile(i)
		}
	}
	for _, i := range w.used {
		w.happenPod(&w.slots[i])
	}
	w.happenDrains()
	if w.driver() != noDriver {
		w.happenClaims()
		w.happenOrphans()
		w.happenDisruption()
		w.happenKubelets()
	}
}
