package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// world is a cluster in which each action succeeds: what is applied takes effect
// at the next look, pods come and join, drained shards move, settings stick.
type world struct {
	desired *model.Desired
	now     time.Time
	serial  int

	sets []Set
	pods []pod
	cluster.Volumes
	secrets []model.Secret
	budgets []model.ObservedBudget
	// offline are the storage classes whose file systems grow only when a pod mounts them anew.
	offline []string
	// before are the claim templates that there were when the plan began.
	before []model.VolumeTemplate
	// hidden is what tables lack that are not seen.
	hidden model.Health
	// acknowledged nodes, by name: node check 1, lost with the process.
	acknowledged map[string]bool
	// volumes are the nodes that have been, by name: a pod that comes back on its
	// claim is the same node.
	volumes map[string]model.Node

	// db is what the basis says of the database; a reading is made of it.
	db     model.Database
	stable model.Stability
	// restored are tables that came from a snapshot.
	restored []string
	// founded: somebody is let in as `system`.
	founded bool
	// recovering counts the looks until all copies are back after an outage.
	recovering int
	// state is what the last version of the cluster state was of.
	state   string
	version int64
	// settings that were set, by name.
	settings map[string]string

	applied model.Applied
	// The rest of the basis stays as it was seen.
	commands    model.Commands
	storage     model.Storage
	placement   model.Placement
	resize      model.CanResize
	deletes     model.Answer
	foreign     []model.Foreign
	otherOwner  string
	applyErrors []string
	disrupted   []string
	leftovers   []model.Leftover
	vanished    model.Vanished
}

type pod struct {
	model.Pod
	// expects is how many data nodes its process was started to wait for.
	expects int
	// joined is false in the look in which it is made.
	joined bool
}

// longEnough is since when the basis counts as having been as it is: a plan is of a
// cluster that nobody has disturbed a moment ago.
const longEnough = time.Hour

func newModel(s Start, sets []Set) *world {
	m := &world{
		desired: &s.Desired, now: s.Now, db: s.Observed.Database,
		Volumes: cluster.Volumes{Claims: slices.Clone(s.Observed.Claims), Templates: s.Observed.Volumes}, secrets: slices.Clone(s.Observed.Secrets), budgets: slices.Clone(s.Observed.Budgets), before: s.Observed.Volumes,
		acknowledged: map[string]bool{}, volumes: map[string]model.Node{}, settings: map[string]string{},
		applied: s.Observed.Applied, commands: s.Observed.Commands, storage: s.Observed.Storage, placement: s.Observed.Placement, resize: canResize(&s.Observed), deletes: model.Yes, foreign: s.Observed.Foreign,
		otherOwner: s.Observed.OtherOwner, applyErrors: s.Observed.ApplyErrors, disrupted: s.Observed.Disrupted,
		leftovers: s.Observed.Leftovers, vanished: s.Observed.Vanished,
	}
	m.db.Shards, m.db.Tables = slices.Clone(m.db.Shards), slices.Clone(m.db.Tables)
	m.hidden = hiddenHealth(&m.db)
	m.founded = s.Record.Bootstrap.Done || m.db.Contact == model.Yes
	m.remembered(&s.Record)
	for name, value := range m.db.Effective {
		// Where nodes show different values none was set, and each has its own.
		if !slices.ContainsFunc(m.db.Pods, func(a model.PodAnswer) bool { other, ok := a.Settings.Get(name); return ok && other != value }) {
			m.settings[name] = value
		}
	}
	for _, n := range m.db.Nodes {
		m.volumes[n.Name] = n
	}
	for _, live := range s.Observed.Sets {
		set := Set{ObservedSet: live}
		if i := slices.IndexFunc(sets, func(saved Set) bool { return saved.Name == live.Name }); i >= 0 {
			set.Content, set.Expects, set.Claims = sets[i].Content, sets[i].Expects, sets[i].Claims
		}
		m.sets = append(m.sets, set)
	}
	m.see(s.Observed.Pods)
	data := m.dataNodes()
	for i := range m.pods {
		m.pods[i].expects = data
		// The basis may come from a model itself.
		if n, err := strconv.Atoi(strings.TrimPrefix(m.pods[i].UID, madeHere)); err == nil {
			m.serial = max(m.serial, n)
		}
	}
	for _, check := range m.db.NodeChecks {
		for i := range m.pods {
			if n := m.volumes[m.pods[i].NodeName]; check.ID == 1 && n.ID == check.NodeID {
				m.pods[i].expects = -1
				m.acknowledged[n.Name] = check.Acknowledged
			}
		}
	}
	if s.Record.Bootstrap.Done {
		before := m.reading(nil)
		before.At = s.Now.Add(-longEnough)
		m.stable = m.stable.Next(&before)
	}
	if g := s.Record.Growth; g != nil {
		m.offline = g.Offline
	}
	return m
}

// see takes the pods of the basis. A node may be a member though its pod is not ready.
func (m *world) see(pods []model.Pod) {
	known := m.db.Contact == model.Yes && m.db.NodesKnown
	for _, p := range pods {
		member := slices.ContainsFunc(m.db.Nodes, func(n model.Node) bool { return n.Name == p.NodeName })
		runs := p.Ready || known && view.ProcessRuns(&p)
		// What an old process waits for is not known: it counts as right.
		m.pods = append(m.pods, pod{Pod: p, joined: runs && (member || !known)})
	}
}

// remembered takes from the record what the basis does not say of the database.
func (m *world) remembered(record *model.Record) {
	for _, e := range record.Settings {
		switch {
		case e.Done || !e.Set.IsZero():
			m.settings[e.Name] = cmp.Or(e.Changed, e.Value)
		case e.Before != "":
			m.settings[e.Name] = e.Before // it is about to be set
		}
	}
	if !m.db.UsersKnown && record.Bootstrap.Done {
		m.user(names.SystemUser)
		for _, u := range record.Bootstrap.Users {
			m.user(u.Name)
		}
	}
	step := ""
	if record.Operation != nil {
		step = record.Operation.Step
	}
	if x := record.Exclusions; x != nil && step != model.StepExclude {
		m.exclude(func(ids []string) []string { return append(without(ids, listed(x.IDs)), listed(x.IDs)...) })
	}
	if h := record.Lock; h != nil && step != model.StepLock {
		m.db.Allocation = h.Value
	}
}

func (m *world) next(prefix string) string {
	m.serial++
	return prefix + strconv.Itoa(m.serial)
}

func (m *world) set(name string) *Set {
	for i := range m.sets {
		if m.sets[i].Name == name {
			return &m.sets[i]
		}
	}
	return nil
}

// carriesData is false for dedicated masters only.
func (m *world) carriesData(set string) bool {
	for _, want := range m.desired.Sets {
		if want.Name == set {
			return want.Data
		}
	}
	return set != names.StatefulSet(m.desired.Name, names.MasterGroup, true)
}

func (m *world) dataNodes() int {
	n := 0
	for i := range m.pods {
		if p := &m.pods[i]; p.joined && !p.Terminating && m.carriesData(p.Set) {
			n++
		}
	}
	return n
}

// happen brings about what time brings: pods are made, and those that were made
// have started and joined.
func (m *world) happen() {
	wereUp := slices.ContainsFunc(m.pods, isUp)
	defer func() {
		m.recovering = max(m.recovering-1, 0)
		m.recover(wereUp)
	}()
	for i := range m.pods {
		p := &m.pods[i]
		if !p.joined && p.Waiting == "" && p.UID != "" && strings.HasPrefix(p.UID, madeHere) {
			p.joined, p.Ready, p.Phase, p.Started = true, true, "Running", m.now
		}
	}
	for i := range m.sets {
		m.control(&m.sets[i])
	}
	slices.SortStableFunc(m.pods, func(a, b pod) int { return cmp.Or(strings.Compare(a.Set, b.Set), cmp.Compare(a.Ordinal, b.Ordinal)) })
	m.allocate(m.db.Health.Colour != model.Yellow && m.db.Health.Colour != model.Red)
}

// control is one round of the StatefulSet controller.
func (m *world) control(s *Set) {
	for _, step := range m.Control(&s.ObservedSet, m.seenPods(), s.Claims, m.now) {
		at := slices.IndexFunc(m.pods, func(p pod) bool { return p.Set == s.Name && p.Ordinal == step.Ordinal })
		switch step.Write {
		case cluster.AdoptPod:
			m.pods[at].Controller = s.UID
		case cluster.MakePod:
			m.pods = append(m.pods, m.newPod(s, step.Ordinal, ""))
			m.mount(s.Name, step.Ordinal)
		case cluster.DeletePod:
			m.pods = slices.Delete(m.pods, at, at+1)
		}
	}
}

func (m *world) seenPods() (pods []model.Pod) {
	for i := range m.pods {
		pods = append(pods, m.pods[i].Pod)
	}
	return pods
}

// recoveryLooks are how many looks a recovery of the gateway takes: it is no
// matter of one.
const recoveryLooks = 8

const madeHere = "planned-"

func (m *world) newPod(s *Set, ordinal int, zone string) pod {
	name := s.Name + "-" + strconv.Itoa(ordinal)
	node := model.NodePrefix(s.Names, s.Group, !m.carriesData(s.Name)) + "-" + strconv.Itoa(ordinal)
	delete(m.acknowledged, node)
	return pod{expects: s.Expects, Pod: model.Pod{
		Name: name, Set: s.Name, Ordinal: ordinal, UID: m.next(madeHere), NodeName: node, Phase: "Pending", Zone: zone,
		Revision: s.UpdateRevision, Version: s.Version, RecoverAfter: s.RecoverAfter, Created: m.now.Truncate(time.Second),
		Template: s.Template, Settings: s.Settings, Resources: s.Resources, Actual: s.Resources, Controller: s.UID,
		Volumes: strings.Join(slices.Sorted(slices.Values(s.Claims)), ","), Unused: s.Unused,
	}}
}

// renew recreates a pod, on its set's template.
func (m *world) renew(name string) {
	m.RenewClaims(name, m.now, func(c *model.Claim, larger int64) {
		if model.DataVolume(c.Template) {
			m.fileSystemGrows(c, larger)
		}
	})
	for i := range m.pods {
		if p := &m.pods[i]; p.Name == name {
			if s := m.set(p.Set); s != nil {
				*p = m.newPod(s, p.Ordinal, p.Zone)
				m.MakeClaims(s.Name, p.Ordinal, s.Claims, m.now)
				m.mount(s.Name, p.Ordinal)
			}
		}
	}
}

// apply makes StatefulSets and budgets what is effective, and returns the sets
// whose replicas or template it changed; wrote is true when there was something
// to write at all.
func (m *world) apply(e model.Effective, sets []Set) (changed []written, wrote bool) {
	for i := range e.Sets {
		effective := &e.Sets[i]
		j := slices.IndexFunc(sets, func(s Set) bool { return s.Name == effective.Name })
		if j < 0 || effective.Absent {
			continue
		}
		want := sets[j]
		want.Replicas, want.InitialMasters = effective.Replicas, effective.InitialMasters
		cluster.Annotate(&want.ObservedSet, effective)
		want.Unused = cmp.Or(effective.Unused, want.Unused) // what is saved has all disks
		live := m.set(want.Name)
		if live == nil {
			want.UID, want.ResourceVersion, want.UpdateRevision = m.next(madeHere), m.next(""), want.Content
			m.sets = append(m.sets, want)
			m.MakeTemplates(effective, m.desired.Volumes)
			again := slices.ContainsFunc(m.pods, func(p pod) bool { return p.Set == want.Name }) // its controller adopts them
			changed, wrote = append(changed, written{Set: want, new: true, again: again}), true
			continue
		}
		content := live.Content == want.Content && live.Unused == want.Unused && live.InitialMasters == want.InitialMasters
		if annotated := cluster.Annotate(&live.ObservedSet, effective); live.Replicas == want.Replicas && content && !annotated {
			continue
		}
		wrote = true
		if live.Replicas != want.Replicas || !content {
			changed = append(changed, written{Set: want, replicas: live.Replicas, template: !content})
		}
		want.UID, want.UpdateRevision, want.ResourceVersion = live.UID, want.Content, m.next("")
		if content {
			want.UpdateRevision = live.UpdateRevision
		}
		*live = want
	}
	for _, want := range e.Budgets {
		wrote = m.putBudget(want) || wrote
	}
	return changed, wrote
}

// endPassing ends what passes by itself on the basis: copies that are missing, shards
// that move, pods on their way, a snapshot, other clusters' operations. It says
// whether there was any. The pod `left` stays as it is.
func (m *world) endPassing(left string) bool {
	db, wereUp := &m.db, slices.ContainsFunc(m.pods, isUp)
	away := m.founded && db.Contact == model.No || db.Recovered == model.No
	lacking := db.Health.Colour == model.Yellow || db.Health.Colour == model.Red
	found := slices.ContainsFunc(db.Answers, func(a gates.Answer) bool { return len(a.Found) > 0 })
	moving := found || db.Unassigned+db.Relocating+db.Initializing+db.Snapshots > 0
	there := len(m.disrupted) > 0 || away || lacking || moving
	m.disrupted = nil
	if db.Contact == model.No {
		db.Contact = model.Yes
	}
	db.Recovered = model.Yes
	db.Unassigned, db.Relocating, db.Initializing, db.Snapshots = 0, 0, 0, 0
	if found {
		db.Answers = model.NothingFound()
	}
	for i := range db.Shards {
		if s := &db.Shards[i]; s.Node != "" {
			if s.To != "" {
				s.Node = s.To
			}
			s.State, s.To = "STARTED", ""
		}
	}
	grew := m.endGrowing()
	there = m.arrive(left) || grew || there
	// Pods that are away are recreated, and join, before anything is said to lack.
	m.happen()
	m.happen()
	before := db.Health
	db.Health = model.Health{Colour: model.Green, Rows: before.Rows}
	if lacks, tables := m.allocate(true); lacks > 0 && before.Colour == model.Yellow {
		// More copies are desired than have a place: no waiting brings them.
		db.Health.Colour, db.Health.Underreplicated, db.Health.Tables, db.Unassigned = model.Yellow, int64(lacks), tables, lacks
	}
	if there {
		m.steady()
	}
	m.recover(wereUp)
	return there
}

// leftAsItIs is the pod at which a restart has stopped: it does not come back by itself. "" for none.
func leftAsItIs(record *model.Record) string {
	if op := record.Operation; op != nil && op.Restart != nil && op.Step == model.StepStopped {
		return op.Restart.Pod
	}
	return ""
}

// arrive brings pods that are on their way to where they go.
func (m *world) arrive(left string) bool {
	there := false
	m.pods = slices.DeleteFunc(m.pods, func(p pod) bool {
		there = there || p.Terminating
		s := m.set(p.Set)
		return p.Terminating && (s == nil || p.Ordinal >= s.Replicas)
	})
	for i := range m.pods {
		p := &m.pods[i]
		if p.Terminating {
			m.renew(p.Name) // it comes back onto its volume, which has its copies
			continue
		}
		onItsWay := p.Name != left && (p.Waiting == "" || p.Waiting == "ContainerCreating" || p.Waiting == "PodInitializing")
		if onItsWay && (!p.Ready || !p.joined) && !strings.HasPrefix(p.UID, madeHere) {
			m.up(p)
			there = true
		}
	}
	return there
}

// recover has copies be missing for a moment after a full outage, which ends with the first pod that is up.
func (m *world) recover(wereUp bool) {
	if !wereUp && m.founded && slices.ContainsFunc(m.pods, isUp) {
		m.recovering = recoveryLooks
	}
}

func isUp(p pod) bool { return p.joined }

func (m *world) up(p *pod) {
	p.Ready, p.joined, p.Waiting, p.Message, p.Phase = true, true, "", "", "Running"
	if p.Started.IsZero() {
		p.Started = m.now
	}
}

// recoverFailing lets failing pods come up after all, where no decision brings them up.
func (m *world) recoverFailing(left string) bool {
	there := false
	for i := range m.pods {
		if p := &m.pods[i]; p.Name != left && (!p.Ready || !p.joined) {
			m.up(p)
			there = true
		}
	}
	if there {
		m.steady()
	}
	return there
}

// supply makes the users' Secrets, the licence's and the repository's that are not there, or lack a
// key; it says whether there was any.
func (m *world) supply() bool {
	keys := make([]model.SecretKey, 0, len(m.desired.Users)+1)
	for _, u := range m.desired.Users {
		keys = append(keys, u.Secret)
	}
	if l := m.desired.License; l != nil {
		keys = append(keys, *l)
	}
	if b := m.desired.Backups; b != nil {
		for _, s := range b.Repository.Secrets {
			keys = append(keys, model.SecretKey{Name: s.Ref.Name, Key: s.Ref.Key})
		}
	}
	made := false
	for _, k := range keys {
		i := slices.IndexFunc(m.secrets, func(s model.Secret) bool { return s.Name == k.Name })
		if i >= 0 && m.secrets[i].Exists && slices.Contains(m.secrets[i].Keys, k.Key) {
			continue
		}
		if !made {
			m.secrets, made = slices.Clone(m.secrets), true
		}
		if i < 0 {
			i, m.secrets = len(m.secrets), append(m.secrets, model.Secret{Name: k.Name})
		}
		s := &m.secrets[i]
		s.Exists, s.Keys = true, append(slices.Clone(s.Keys), k.Key)
		s.Version = model.SecretVersion{UID: cmp.Or(s.Version.UID, m.next(madeHere)), ResourceVersion: m.next("")}
	}
	return made
}

// steady has the cluster be as it is for long.
func (m *world) steady() {
	if m.founded {
		before := m.reading(nil)
		before.At = m.now.Add(-longEnough)
		m.stable = m.stable.Next(&before)
	}
}
