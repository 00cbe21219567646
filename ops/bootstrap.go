package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// SystemKey is the key of the system user's password in its Secret.
const SystemKey = "password"

// bootstrapping is true from the creation of the sets until the cluster id is
// recorded.
func (t *turn) bootstrapping() bool {
	return !t.r.Bootstrap.Done && t.r.Operation != nil && t.r.Operation.Kind == OperationBootstrap
}

// systemUser takes a new cluster to the point where `system` logs in: its
// Secret, a ready master, the licence before the first user, then the user by
// exec. After bootstrap it only looks.
func (t *turn) systemUser() {
	if len(t.r.Sets) == 0 {
		return
	}
	t.relicence()
	secret := t.secret(t.systemSecret())
	key := SecretKey{Name: secret.Name, Key: SystemKey}
	if !secret.has(SystemKey) {
		// A Secret without the key is never overwritten: somebody may still know
		// what was in it.
		if t.r.ClusterID != "" || t.r.Bootstrap.Done || secret.Exists {
			t.refusal(gates.SystemPasswordLost(secret.Name, secret.Exists))
			return
		}
		t.harmless(Action{Kind: ActionCreateSystemSecret, Secret: key})
		return
	}
	if t.r.Bootstrap.Done {
		t.systemLogin(secret)
		return
	}
	if !t.bootstrapping() {
		return
	}
	if why := secret.Unusable[SystemKey]; why != "" && t.r.Bootstrap.System.UID == "" {
		t.refusal(gates.PasswordUnusable(secret.Name, SystemKey, "the password of the system user", why))
		return
	}
	pod, ok := t.readyMaster()
	if !ok {
		t.repairUnstarted()
		return
	}
	if !t.licence(pod) {
		return
	}
	made := t.r.Bootstrap.System
	if made.UID != secret.Version.UID || t.o.Database.SystemLogin == LoginRefused {
		t.harmless(Action{Kind: ActionSetSystemUser, Pod: pod, User: "system", Secret: key, SecretVersion: secret.Version})
		return
	}
	if reason, waits := gates.Contact(t.contact(), t.o.Database.Error); waits {
		t.wait(reason)
	}
}

// readyMaster is the first pod that may become master and is ready; a wait if
// there is none. One that runs is asked all the same.
func (t *turn) readyMaster() (string, bool) {
	wanted, first, running := 0, "", ""
	for _, s := range t.r.Sets {
		w := t.wanted(s.Name)
		if w == nil || !w.MasterEligible {
			continue
		}
		wanted += s.Replicas
		for ordinal := range s.Replicas {
			p := t.pod(s.Name, ordinal)
			if p != nil && p.Ready && !p.Terminating {
				return p.Name, true
			}
			if p != nil && running == "" && t.upLong(p) {
				running = p.Name
			}
			if first == "" {
				first = podName(s.Name, ordinal) + ": " + t.podState(podName(s.Name, ordinal), p)
			}
		}
	}
	if reason, waits := gates.MasterReady(0, wanted, first); waits {
		t.wait(reason)
	}
	return running, running != ""
}

// licence is done before the first user, because below 4.5 a cluster of more
// than three nodes refuses every other statement.
func (t *turn) licence(pod string) bool {
	if t.r.Bootstrap.Licence != LicenceUnset {
		return true
	}
	takes := gates.TakesLicence(t.d.Version)
	if t.d.License == nil || !takes {
		if reason, waits := gates.LicenceMissing(t.d.Version, t.allNodes(), t.d.License != nil && takes); waits {
			t.wait(reason)
			return false
		}
		t.r.Bootstrap.Licence = LicenceNotNeeded
		t.r.License = t.d.License
		t.report(Report{Reason: "LicenceNotNeeded", Status: StatusSuccess, Message: licenceWords(t.d.Version, t.d.License != nil)})
		return true
	}
	secret := t.secret(t.d.License.Name)
	if !secret.has(t.d.License.Key) {
		t.wait(gates.SecretMissing(t.d.License.Name, t.d.License.Key, "the licence", secret.Exists))
		return false
	}
	t.harmless(Action{Kind: ActionSetLicense, Pod: pod, Secret: *t.d.License, SecretVersion: secret.Version, Version: t.d.Version})
	return false
}

func licenceWords(version string, given bool) string {
	switch {
	case gates.TakesLicence(version) && gates.CompareMinor(version, "4.5") < 0:
		return fmt.Sprintf("licence: not needed (CrateDB %s runs up to %d nodes without one)", version, gates.FreeNodes)
	case given:
		return fmt.Sprintf("licence: not needed (CrateDB %s takes none; the one in the definition was not sent)", version)
	}
	return fmt.Sprintf("licence: not needed (CrateDB %s)", version)
}

// repairUnstarted lets a definition be corrected that never started: under
// OnDelete its pods would stay on the template that cannot run.
func (t *turn) repairUnstarted() {
	if !t.unstarted() || t.blocked {
		return
	}
	for i := range t.o.Pods {
		if t.o.Pods[i].Terminating {
			return
		}
	}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		live := t.live(p.Set)
		if live == nil || !live.Ours || live.ObservedGeneration != live.Generation || !t.applied() {
			continue
		}
		if p.Started.IsZero() && !p.Ready && live.UpdateRevision != "" && p.Revision != "" && p.Revision != live.UpdateRevision {
			t.d2.Disruptive = &Action{Kind: ActionRecreatePod, Pod: p.Name, PodUID: p.UID}
			return
		}
	}
}

// bootstrap ends when every node has joined and every user is made; then the
// cluster id is recorded, once.
func (t *turn) bootstrap() {
	if !t.bootstrapping() {
		return
	}
	for _, s := range t.r.Sets {
		if w := t.wanted(s.Name); w != nil && w.Replicas > s.Replicas {
			t.wait(gates.BootstrapFirst(s.Name, s.Replicas, w.Replicas))
		}
		if t.pendingRestart(s.Name) && !t.unstarted() {
			t.wait(gates.RestartAfterBootstrap(s.Name))
		}
	}
	done := t.bootstrapEnds()
	op := t.r.Operation
	limit := first(t.d.Operations.BootstrapTimeout, t.p.BootstrapTimeout, DefaultBootstrapTimeout)
	switch {
	case done:
		made := t.nodes(t.made())
		t.r.ClusterID = t.expectedID()
		t.r.Bootstrap.Done = true
		t.r.Version = t.oldestRunning()
		t.r.Operation = nil
		t.r.AllowedCIDRs = cidrs(t.d.AllowedCIDRs)
		t.rebuildAsked()
		t.reportMade(made)
	case !op.TimedOut && t.elapsed(op.Started) > limit:
		next := *op
		next.TimedOut = true
		t.r.Operation = &next
		t.outcome(OperationBootstrap, StatusFailure, "bootstrap-timeout", Report{
			Event: EventFeedback, Operation: "create", Action: "create", Reason: "BootstrapTimedOut", Warning: true,
			Message: fmt.Sprintf("the bootstrap has taken more than %s and is still being tried; it waits for: %s", limit, t.words()),
		})
	}
}

// reportMade tells the end of a bootstrap: success only where all that is wanted of it has
// joined.
func (t *turn) reportMade(c count) {
	unmade, _ := t.unmade()
	words := fmt.Sprintf("of CrateDB %s, %s and system", t.r.Version, numberOf(len(t.d.Users)-len(unmade), "user"))
	if len(unmade) > 0 && c.joined == c.wanted {
		t.outcome(OperationBootstrap, StatusFailure, "users", Report{
			Event: EventFeedback, Operation: "create", Action: "create", Reason: "BootstrapIncomplete", Warning: true,
			Message: fmt.Sprintf("cluster %s has been made: %s %s; it goes on without the user(s) %s, who could not be made and are made as soon as that is possible",
				t.d.ClusterName, numberOf(c.joined, "node"), words, strings.Join(unmade, ", ")),
		})
		return
	}
	if c.joined == c.wanted {
		t.outcome(OperationBootstrap, StatusSuccess, "", Report{
			Event: EventFeedback, Operation: "create", Action: "create", Reason: "BootstrapSucceeded",
			Message: fmt.Sprintf("cluster %s has been made: %s %s", t.d.ClusterName, numberOf(c.joined, "node"), words),
		})
		return
	}
	t.outcome(OperationBootstrap, StatusFailure, gates.JoinedRule.Name, Report{
		Event: EventFeedback, Operation: "create", Action: "create", Reason: "BootstrapIncomplete", Warning: true, Names: []string{gates.JoinedRule.Name},
		Message: fmt.Sprintf("cluster %s has been made with %d of %d nodes %s; it goes on without pod %s (%s), which what is wanted by now may bring up", t.d.ClusterName, c.joined, c.wanted, words, c.notJoined, c.notJoinedWhy),
	})
}

func (t *turn) bootstrapEnds() bool {
	if !t.contact() || t.r.Bootstrap.System.UID == "" || t.r.Bootstrap.Licence == LicenceUnset {
		return false
	}
	c := t.nodes(t.made())
	if reason, waits := gates.Joined(c.joined, c.wanted, c.notJoined, c.notJoinedWhy); waits && !t.foundedBefore() && !t.madeByUpgrade() && !t.madeByRestart() {
		t.wait(reason)
		return false
	}
	if t.o.Database.Recovered == No || t.o.Database.MasterNode == "" {
		reason, _ := gates.Recovered(false, c.joined, c.wanted)
		t.wait(reason)
		return false
	}
	_, waits := t.unmade()
	return !waits
}

// made are the sets as the bootstrap waits for them: of a cluster that is being made, the
// nodes that are wanted still. What is not leaves as in any shrink, once it is made.
func (t *turn) made() []RecordedSet {
	if !t.bootstrapping() || t.blocked {
		return t.r.Sets
	}
	return t.stillWanted(t.r.Sets)
}

// stillWanted are of these sets the nodes that are wanted by now.
func (t *turn) stillWanted(sets []RecordedSet) []RecordedSet {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Replicas = min(sets[i].Replicas, t.target(sets[i].Name))
	}
	return sets
}

// madeByUpgrade: all that has not joined hangs, and what is wanted by now is of another
// version than it runs. That comes by an upgrade, for which nothing else is due.
func (t *turn) madeByUpgrade() bool {
	return !t.blocked && t.upgradeDue() && t.onlyHang(t.made())
}

// madeByRestart: every node has joined, and what is wanted by now may make ready those of
// their pods that are not. That comes by a restart, for which nothing else is due.
func (t *turn) madeByRestart() bool { return !t.blocked && t.onlyUnready(t.made()) }

// foundedBefore is true of a cluster whose record was lost after its bootstrap:
// the claims carry its id, and no template founds one any more. A node that is
// down does not make it a new one, and what cures that node waits for the end of
// the bootstrap.
func (t *turn) foundedBefore() bool {
	found := false
	for i := range t.o.Sets {
		if live := &t.o.Sets[i]; live.Ours {
			if live.InitialMasters {
				return false
			}
			found = true
		}
	}
	return found && t.r.ClusterID != ""
}

func (t *turn) allRecorded() int {
	n := 0
	for _, s := range t.r.Sets {
		n += s.Replicas
	}
	return n
}

// oldestRunning is the effective version at the end of a bootstrap: another one may
// have been pushed midway, and what has started on the first is upgraded. A pod that is
// just being made is of its set's, and one of a group that is to go is not upgraded.
func (t *turn) oldestRunning() string {
	oldest := ""
	older := func(set, version string) {
		if recorded(t.r.Sets, set) != nil && t.wanted(set) != nil && version != "" && (oldest == "" || gates.Compare(version, oldest) < 0) {
			oldest = version
		}
	}
	for i := range t.o.Pods {
		older(t.o.Pods[i].Set, t.o.Pods[i].Version)
	}
	for i := range t.o.Sets {
		older(t.o.Sets[i].Name, t.o.Sets[i].Version)
	}
	return cmp.Or(oldest, t.r.Version)
}
