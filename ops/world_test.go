package ops_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/internal/password"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/scale"
)

// world is a toy of Kubernetes and CrateDB: enough to run decisions to their
// end through the real executors, with a kill or a lost record at any write.
type world struct {
	t       *testing.T
	desired model.Desired
	record  model.Record
	now     time.Time

	sets    []model.ObservedSet
	secrets map[string]*toySecret
	users   map[string]*toyUser
	licence string
	// acknowledged nodes, by name; expects is what each one's expected_data_nodes
	// was when it started, counts what the template says now.
	acknowledged map[string]bool
	expects      map[string]int
	counts       int
	// first is the version that the cluster was made with.
	first     string
	clusterID string
	budgets   map[string]int
	version   int

	// template that is desired now; live are those of the sets.
	template string
	live     map[string]string
	pods     map[string]*toyPod
	// bad templates never come up; of those that are unpullable too, no container
	// ever starts.
	// On those that are sick nodes join, and their pods are never ready.
	bad, unpullable, sick map[string]bool
	// middles are tables that are made midway.
	middles []*toyTable
	// zones of pods; with restartBy: zone those of one may be down together.
	zones map[string]string
	// masters are nodes that take no shards.
	masters map[string]bool
	// persistent and transient are cluster.routing.allocation.enable.
	persistent, transient string
	commands              model.Commands
	toySettings
	toyData
	toyEvidence
	toyVolumes
	toyCompute
	toyDisks
	toyBackups
	toyRestore
	// stable is in memory: a kill loses it.
	stable model.Stability

	// applied is in memory: a kill loses it.
	applied model.Applied

	// leftovers are other objects that are made no more, vanished the clusters that are gone,
	// disrupted those that have nodes down.
	leftovers []model.Leftover
	vanished  model.Vanished
	disrupted []string
	// runs is the rule that finds in CrateDB what it asks for; "" for none.
	runs string

	reports []model.Report
	said    []string
	// statements that crash was given.
	crashed []string
	// writes counts outgoing writes; the killAt-th ends the process, before it
	// takes effect or after. lose drops the record at the same time.
	writes, killAt int
	began          int // the writes before those that are counted
	after, lose    bool
}

type toySecret struct {
	data     map[string][]byte
	version  model.SecretVersion
	labelled bool
}

type toyUser struct {
	password string
	granted  bool
}

var errKilled = errors.New("killed")

type killed struct{}

func newWorld(t *testing.T, desired model.Desired) *world {
	w := &world{
		t: t, desired: desired, first: desired.Version, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		secrets: map[string]*toySecret{}, users: map[string]*toyUser{}, acknowledged: map[string]bool{}, expects: map[string]int{},
		clusterID: "id-1", budgets: map[string]int{},
		template: "t1", live: map[string]string{}, pods: map[string]*toyPod{}, bad: map[string]bool{}, unpullable: map[string]bool{}, sick: map[string]bool{}, persistent: "all",
	}
	for _, u := range desired.Users {
		if w.secrets[u.Secret.Name] == nil {
			w.putSecret(u.Secret.Name, map[string][]byte{u.Secret.Key: []byte("pw-" + u.Name)})
		}
	}
	if l := desired.License; l != nil {
		w.putSecret(l.Name, map[string][]byte{l.Key: []byte("licence-key\n")})
	}
	return w
}

func (w *world) next() string { w.version++; return strconv.Itoa(w.version) }

func (w *world) putSecret(name string, data map[string][]byte) {
	w.secrets[name] = &toySecret{data: data, version: model.SecretVersion{UID: "uid-" + name + w.next(), ResourceVersion: w.next()}}
}

// write is one outgoing write.
func (w *world) write(effect func()) {
	w.writes++
	if w.writes != w.killAt {
		effect()
		return
	}
	if w.after {
		effect()
	}
	if w.lose {
		w.record = model.Record{}
	}
	panic(killed{})
}

// set is the StatefulSet of that name; an empty one where there is none.
func (w *world) set(name string) *model.ObservedSet {
	for i := range w.sets {
		if w.sets[i].Name == name {
			return &w.sets[i]
		}
	}
	return &model.ObservedSet{}
}

func (w *world) nodeNames() []string {
	var names []string
	for _, s := range w.sets {
		for i := range s.Replicas {
			names = append(names, s.Name+"/"+strconv.Itoa(i))
		}
	}
	return names
}

func (w *world) observe() (o model.Observed) {
	o = model.Observed{At: w.now, Commands: w.commands, Applied: w.applied, Sets: append([]model.ObservedSet(nil), w.sets...), Claims: append([]model.Claim(nil), w.Claims...)}
	defer func() { w.seeDiskUse(&o.Database) }()
	defer func() { w.seeVolumes(&o) }()
	defer func() { w.seeDisks(&o) }()
	defer func() { w.seeCompute(&o) }()
	o.Leftovers, o.Vanished, o.Disrupted = append([]model.Leftover(nil), w.leftovers...), w.vanished, w.disrupted
	db := model.Database{At: w.now}
	system := w.secrets["user-system-c"]
	in := system != nil && w.users["system"] != nil && w.users["system"].password == string(system.data["password"])
	if system != nil {
		db.Contact, db.SystemLogin, db.SystemSecret = model.No, model.LoginRefused, system.version
	}
	if in && w.elects() {
		db.Contact, db.SystemLogin, db.Recovered, db.ClusterID, db.MasterNode = model.Yes, model.LoginOK, model.Yes, w.clusterID, "n"
		db.UsersKnown, db.ChecksKnown, db.NodesKnown, db.DeniedKnown = true, true, true, true
		db.Health = model.Health{Colour: model.Green}
		db.TablesKnown, db.SnapshotsKnown, db.Allocation, db.Answers = true, true, w.allocation(), answers(w.runs)
		for name := range w.users {
			db.Users = append(db.Users, name)
		}
	}
	w.control()
	for _, s := range w.sets {
		for i := range w.ordinals(&s) {
			name := s.Name + "-" + strconv.Itoa(i)
			node := s.Name + "/" + strconv.Itoa(i)
			pod := w.seePod(s.Name, i)
			if pod == nil {
				if i < s.Replicas {
					db.Health.Colour = model.Yellow
				}
				continue
			}
			version := w.versionOf(pod.template)
			seen := model.Pod{Settings: pod.settings, Name: name, Set: s.Name, Ordinal: i, NodeName: node, Ready: true, Phase: "Running", Version: version, Started: pod.created, UID: pod.uid, Created: pod.created, Template: w.marked(s.Name, pod.template), Zone: w.zones[name]}
			if w.bad[pod.template] {
				seen.Ready, seen.Waiting = false, "CrashLoopBackOff"
				if w.unpullable[pod.template] {
					seen.Waiting, seen.Started = "ImagePullBackOff", time.Time{}
				} else if pod.highest == "" || gates.Compare(version, pod.highest) > 0 {
					pod.highest = version
				}
				db.Health.Colour = model.Yellow
			}
			member := seen.Ready
			if w.sick[pod.template] {
				seen.Ready, seen.NotReady, seen.Runs = false, "containers with unready status: [crate]", true
				seen.Started = pod.created
			}
			if pod.leaves > 0 {
				seen.Ready, seen.Terminating = false, true
			}
			o.Pods = append(o.Pods, seen)
			if member {
				require.GreaterOrEqual(w.t, gates.CompareMinor(version, pod.highest), 0, "%s is put back on a volume that a newer minor has written to", name)
				pod.highest = version
			}
			if db.Contact == model.Yes && member {
				db.Pods = append(db.Pods, model.PodAnswer{Pod: name, NodeName: node, ClusterID: w.clusterID, Version: version})
				db.Nodes = append(db.Nodes, model.Node{ID: node, Name: node, Version: version})
				if w.expects[node] != len(w.nodeNames()) {
					db.NodeChecks = append(db.NodeChecks, model.NodeCheck{NodeID: node, ID: 1, Acknowledged: w.acknowledged[node]})
				}
			}
		}
	}
	db.MasterNode = masterOf(&db)
	for name, s := range w.secrets {
		seen := model.Secret{Name: name, Exists: true, Version: s.version, Labelled: s.labelled}
		for k, value := range s.data {
			seen.Keys = append(seen.Keys, k)
			if why := password.Unusable(value); why != "" {
				seen.Unusable = map[string]string{k: why}
			}
		}
		o.Secrets = append(o.Secrets, seen)
	}
	for name, v := range w.budgets {
		o.Budgets = append(o.Budgets, model.ObservedBudget{Name: name, MaxUnavailable: v})
	}
	for i := range o.Sets {
		o.Sets[i].Template, o.Sets[i].Settings = split(w.live[o.Sets[i].Name])
		o.Sets[i].Version = w.versionOf(o.Sets[i].Template)
		o.Sets[i].Template = w.marked(o.Sets[i].Name, o.Sets[i].Template)
		o.Sets[i].UID, o.Sets[i].ResourceVersion = "uid-"+o.Sets[i].Name, "1"
	}
	if in {
		w.readSettings(&db, o.Pods)
		w.seeData(&o, &db)
		w.seeBackups(&db)
	}
	w.seeTables(&db)
	if db.Contact == model.Yes {
		db.ClusterHealth = model.Health{Colour: db.Health.Colour, Missing: db.Health.Missing, Underreplicated: db.Health.Underreplicated}
	}
	if w.see != nil {
		w.see(&db)
	}
	w.whole = db.ClusterHealth
	w.stable = w.stable.Next(&db)
	o.Database, o.Stable = db, w.stable
	if x := scale.NeedsEvidence(&w.desired, &o, &w.record); x.Wanted() {
		o.Database.Evidence = execute.Examine(context.Background(), w.tools(), x)
	}
	return o
}

// pass is one round, as the daemon does it; it returns the decision.
func (w *world) pass() (d model.Decision, err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
			w.applied, w.stable = model.Applied{}, model.Stability{}
			err = errKilled
		}
	}()
	w.now = w.now.Add(time.Second)
	w.desired.Changes = nil
	w.hashes()
	saved := w.savedTemplates()
	for _, s := range w.desired.Sets {
		live, _ := split(w.live[s.Name])
		before, had := split(saved[current(saved, s.Name, live)])
		if before != "" {
			w.desired.Changes = append(w.desired.Changes, settingChanges(s.Name, had, manifest.NewSettingList(w.desired.Settings))...)
		}
		if before != "" && w.versionOf(before) != w.desired.Version {
			w.desired.Changes = append(w.desired.Changes, model.Change{Class: model.ChangeImage, Set: s.Name, Path: "spec.template.spec.containers[crate].image", Old: "old/crate:" + w.versionOf(before)})
		} else if before != "" && w.only() {
			w.desired.Changes = append(w.desired.Changes, w.resizeChanges(saved, s.Name)...)
		} else if before != "" && before != w.wanted() {
			w.desired.Changes = append(w.desired.Changes, model.Change{Class: model.ChangeRestart, Set: s.Name, Path: "spec.template.spec.containers[crate].resources.limits.memory"})
		}
	}
	w.desired.Changes = append(w.desired.Changes, w.fewerChanges()...)
	d = ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	for _, r := range d.Reports {
		w.write(func() { w.reports = append(w.reports, r) })
	}
	if d.Apply {
		d.Record.Saved = w.materialise(saved, d.Effective)
	} else {
		d.Record.Saved = saved
	}
	d.Save = d.Save || !maps.Equal(d.Record.Saved, w.record.Saved)
	require.NoError(w.t, d.Record.Validate(), "what is decided is not taken for damaged")
	if d.Save {
		w.write(func() { w.record = d.Record })
	}
	rec := d.Record
	if d.Apply {
		w.apply(d.Effective, d.Record.Saved)
	}
	for _, a := range d.Actions() {
		result, err := execute.Run(context.Background(), a, w.tools())
		if err != nil {
			continue // decided again from what is seen then
		}
		w.said = append(w.said, result.Message)
		rec = ops.RecordResult(rec, a, result, w.now)
		w.write(func() { w.record = rec })
	}
	return d, nil
}

func (w *world) tools() execute.Tools {
	return execute.Tools{Objects: w, Secrets: w, Database: w, Crash: w, Volume: w, Snapshots: w, Password: func() (string, error) { return "random-" + w.next(), nil }}
}

func (w *world) allocation() string {
	if w.transient != "" {
		return w.transient
	}
	return w.persistent
}

// savedTemplates are the record's, or what is live when it was lost.
func (w *world) savedTemplates() model.Saved {
	if len(w.record.Saved) > 0 {
		return w.record.Saved
	}
	saved := model.Saved{}
	for set, template := range w.live {
		saved[set], saved[set+savedAmounts] = template, string(w.amountsOf[set])
	}
	return saved
}

// materialise does with templates what manifest.Materialise does with objects.
func (w *world) materialise(saved model.Saved, e model.Effective) model.Saved {
	next := model.Saved{}
	for _, s := range e.Sets {
		if s.Absent {
			continue
		}
		if s.Gap {
			next[s.Name] = saved[s.Name]
			continue
		}
		last := saved[current(saved, s.Name, s.Live)]
		if s.Remember {
			next[s.Name+"@before"] = last
			if before, ok := saved[s.Name+"@before"]; ok && !s.RememberAnew {
				next[s.Name+"@before"] = before
			}
		}
		switch before := saved[s.Name+"@before"]; {
		case s.Template == model.TemplateDesired:
			next[s.Name] = join(w.wanted(), manifest.NewSettingList(w.desired.Settings))
		case s.Template == model.TemplateBefore && before != "":
			next[s.Name] = before
		default:
			next[s.Name] = last
		}
		w.keepAmounts(saved, next, s)
		if hash, _ := split(next[s.Name]); s.Live != "" && hash != s.Live {
			next[s.Name+"@live"] = last
		}
	}
	return next
}

// current is the name of what is saved of a set's live template.
func current(saved model.Saved, set, live string) string {
	for _, name := range []string{set, set + "@live", set + "@before"} {
		if hash, _ := split(saved[name]); hash == live && saved[name] != "" {
			return name
		}
	}
	return set
}

func (w *world) apply(e model.Effective, saved model.Saved) {
	if e.Sets[0].Template == model.TemplateDesired && !e.Sets[0].KeepGateway {
		w.counts = 0
		for _, s := range w.desired.Sets {
			w.counts += s.Replicas
		}
	}
	for _, s := range e.Sets {
		if s.Absent || s.Gap {
			continue
		}
		w.keepsUsed(s)
		w.makeAgain(s)
		i := slices.IndexFunc(w.sets, func(o model.ObservedSet) bool { return o.Name == s.Name })
		next := *w.set(s.Name)
		annotated := cluster.Annotate(&next, &s)
		if i >= 0 && !annotated && next.Replicas == s.Replicas && next.InitialMasters == s.InitialMasters && next.Unused == s.Unused &&
			w.live[s.Name] == saved[s.Name] && !w.applyAmounts(s.Name, saved) {
			continue
		}
		w.write(func() {
			if i < 0 {
				next.Name, next.Ours, next.UID, next.InitialMasters = s.Name, true, "uid-"+s.Name, s.InitialMasters
				i, w.sets = len(w.sets), append(w.sets, next)
			}
			require.GreaterOrEqual(w.t, s.Replicas, w.sets[i].Replicas, "A: no apply may lower replicas")
			require.False(w.t, s.InitialMasters && !w.sets[i].InitialMasters, "initial_master_nodes never comes back")
			next.Replicas, next.InitialMasters, next.Unused = s.Replicas, s.InitialMasters, s.Unused
			w.sets[i], w.live[s.Name] = next, saved[s.Name]
			w.setAmounts(s.Name, saved)
		})
	}
	for _, b := range e.Budgets {
		if w.least[b.Name] != b.MinAvailable {
			w.write(func() { w.least[b.Name] = b.MinAvailable })
		}
		if v, ok := w.budgets[b.Name]; !ok || v != b.MaxUnavailable {
			w.write(func() { w.budgets[b.Name] = b.MaxUnavailable })
		}
	}
	w.applied = model.Applied{Revision: w.desired.Revision, Effective: e}
}

// run runs passes until nothing is left to do, restarting after a kill.
func (w *world) run(turns int) model.Decision {
	w.t.Helper()
	for range turns {
		d, err := w.pass()
		if err == nil && d.Verdict == model.Done && !d.Save {
			return d
		}
	}
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Failf(w.t, "not done", "after %d turns: %v, waits %v, refusals %v, actions %v", turns, d.Verdict, d.Waits, d.Refusals, d.Actions())
	return d
}
