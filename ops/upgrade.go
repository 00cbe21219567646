package ops

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

func (t *turn) upgrading() bool {
	return t.r.Operation != nil && t.r.Operation.Kind == OperationUpgrade
}

// imageChange is that of the first set that has one; nil when none has.
func (t *turn) imageChange() *Change {
	for i := range t.d.Changes {
		if c := &t.d.Changes[i]; c.Class == ChangeImage {
			return c
		}
	}
	return nil
}

// upgradeDue is true while another version, or another image of the same one, is
// wanted than the cluster was last brought to.
func (t *turn) upgradeDue() bool {
	return t.r.Version != "" && !t.unstarted() && (t.r.Version != t.d.Version || t.imageChange() != nil)
}

// tableAges are those of the tables and partitions.
func (t *turn) tableAges() []gates.TableAge {
	ages := make([]gates.TableAge, 0, len(t.o.Database.Tables))
	for i := range t.o.Database.Tables {
		table := &t.o.Database.Tables[i]
		ages = append(ages, gates.TableAge{Name: table.Name, Created: table.Created})
	}
	return ages
}

// refuseVersion names why the wanted version cannot run on this cluster's data.
// What a version depends on besides is looked at until the upgrade begins.
func (t *turn) refuseVersion() {
	if t.unstarted() || t.r.Version == "" || !t.upgradeDue() && !t.upgrading() && !t.newerStarted() {
		return
	}
	if reason, refused := gates.Downgrade(t.r.HighestVersion, t.d.Version); refused {
		t.refusal(reason)
		return
	}
	reason, refused := gates.VersionPath(t.r.Version, t.d.Version)
	begun := t.upgrading() && t.r.Operation.Upgrade.NewVersion == t.d.Version
	if !refused && !begun && t.r.Version != t.d.Version && t.contact() && t.o.Database.TablesKnown {
		ages := t.tableAges()
		if reason, refused = gates.TablesTooOld(t.r.Version, t.d.Version, ages); !refused {
			reason, refused = gates.ReleaseLosesData(t.d.Version, ages)
		}
	}
	if refused {
		t.refusal(reason)
	}
}

// newerStarted is true when a pod has started a newer minor than is wanted.
func (t *turn) newerStarted() bool {
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; !p.Started.IsZero() && p.Version != "" && gates.CompareMinor(p.Version, t.d.Version) > 0 {
			return true
		}
	}
	return false
}

// wouldGoBack is true of a pod in which a newer minor than its set's template has
// started: its volume is upgraded, and nothing of ours puts it on the older one.
func (t *turn) wouldGoBack(p *Pod, live *ObservedSet) bool {
	return !p.Started.IsZero() && p.Version != "" && live.Version != "" && gates.CompareMinor(p.Version, live.Version) > 0
}

// startUpgrade begins a rolling restart onto another version, or another image,
// where one is wanted; it says whether that is due. A cluster without nodes has
// none to upgrade: what stands still is started as it was.
func (t *turn) startUpgrade() bool {
	if !t.upgradeDue() || t.allRecorded() == 0 {
		return false
	}
	if t.r.Version != t.d.Version {
		if reason, waits := gates.TableAgesKnown(t.r.Version, t.d.Version, t.tableAges(), t.contact() && t.o.Database.TablesKnown); waits {
			t.wait(reason)
			return true
		}
	}
	if reason, waits := gates.DisruptedClusters(t.o.Disrupted, max(t.p.MaxDisruptedClusters, 1)); waits {
		t.wait(reason)
		return true
	}
	if t.aborted() {
		t.refusal(t.upgradeAborted(t.r.Version, t.d.Version))
		return true
	}
	before, at, by := t.asked()
	u := &Upgrade{OldVersion: t.r.Version, NewVersion: t.d.Version, OldRegistry: t.d.ImageRegistry, NewRegistry: t.d.ImageRegistry}
	if c := t.imageChange(); c != nil {
		if colon := strings.LastIndexByte(c.Old, ':'); colon > 0 {
			u.OldRegistry = c.Old[:colon]
		}
	}
	t.r.Operation = &Operation{
		Kind: OperationUpgrade, Step: StepNext, Started: t.now, Revision: t.d.Revision, Upgrade: u,
		Restart: &Restart{Before: before, At: at, By: by, Since: t.now},
	}
	r := t.upgradeReport(*u, "UpgradeStarted", u.words()+" has begun, node by node"+t.soleWords())
	r.Status = StatusInProgress
	t.report(r)
	t.computeBegins()
	return true
}

func (u Upgrade) words() string {
	if u.OldVersion == u.NewVersion {
		return fmt.Sprintf("the change of CrateDB %s from the image %s to %s", u.NewVersion, u.OldRegistry, u.NewRegistry)
	}
	return fmt.Sprintf("the upgrade from CrateDB %s to %s", u.OldVersion, u.NewVersion)
}

// RolledBack is true of one that was taken back midway: it ends where it began, and only
// what stands on the image in between is recreated.
func (u Upgrade) RolledBack() bool {
	return u.OldVersion == u.NewVersion && u.OldRegistry == u.NewRegistry
}

func (t *turn) upgradeReport(u Upgrade, reason, message string) Report {
	return Report{Event: EventUpgrade, Operation: "update", Action: "upgrade", Reason: reason, Upgrade: u, Message: message}
}

// aim follows another definition midway: a newer version is gone to, and where the
// old one is wanted again the pods go back to it, which refuseVersion allows only
// where no node has started a newer minor.
func (t *turn) aim(op *Operation) {
	if op.Kind != OperationUpgrade || t.blocked || op.Upgrade.NewVersion == t.d.Version && op.Upgrade.NewRegistry == t.d.ImageRegistry {
		return
	}
	before, u := *op.Upgrade, *op.Upgrade
	u.NewVersion, u.NewRegistry = t.d.Version, t.d.ImageRegistry
	op.Upgrade = &u
	if u.RolledBack() {
		r := t.upgradeReport(before, "UpgradeTakenBack", before.words()+" was taken back by another definition: the pods go back to what they ran")
		r.Status, r.Warning = StatusFailure, true
		t.report(r)
		return
	}
	r := t.upgradeReport(u, "UpgradeStarted", before.words()+" has another aim now: "+u.words())
	r.Status = StatusInProgress
	t.report(r)
}

// versionWaits: the image's name says nothing of what runs.
func (t *turn) versionWaits() bool {
	for _, s := range t.r.Sets {
		if t.wanted(s.Name) == nil {
			continue
		}
		for ordinal := range s.Replicas {
			says, pod := "", podName(s.Name, ordinal)
			if a := t.answer(pod); a != nil {
				says = a.Version
			}
			if reason, waits := gates.VersionRunning(pod, says, t.d.Version); waits {
				t.wait(reason)
				return true
			}
		}
	}
	return false
}

// upgraded ends it.
func (t *turn) upgraded(op *Operation) {
	t.r.Operation, t.r.RestartedAt, t.r.RestartedBy = nil, op.Restart.At, op.Restart.By
	t.r.Version = t.d.Version
	t.computeEnds()
	u := *op.Upgrade
	if u.RolledBack() {
		t.outcome(OperationUpgrade, StatusSuccess, "", Report{
			Event: EventFeedback, Operation: "update", Action: "upgrade", Reason: "UpgradeTakenBack",
			Message: fmt.Sprintf("all nodes run CrateDB %s again, and the cluster is green", u.NewVersion),
		})
		return
	}
	t.outcome(OperationUpgrade, StatusSuccess, "", t.upgradeReport(u, "UpgradeSucceeded",
		fmt.Sprintf("%s has ended: %d pod(s) were restarted one after the other, every node says that it runs %s, and the cluster is green", u.words(), len(op.Restart.Done), u.NewVersion)))
}

// stopped is why the first pod on a new template is left as it is.
func (t *turn) stopped(op *Operation, p *Pod) Reason {
	if op.Kind != OperationUpgrade {
		return gates.RestartStopped(op.Restart.Pod, t.state(op.Restart.Pod, p), t.podLimit())
	}
	started := p != nil && !p.Started.IsZero()
	return gates.UpgradeStopped(op.Restart.Pod, t.state(op.Restart.Pod, p), t.podLimit(), op.Upgrade.OldVersion, op.Upgrade.NewVersion, started)
}

// reportStopped tells it once.
func (t *turn) reportStopped(op *Operation, p *Pod) {
	if op.Kind == OperationUpgrade {
		r := t.upgradeReport(*op.Upgrade, "UpgradeStopped", t.stopped(op, p).Message)
		r.Warning, r.Names = true, []string{gates.UpgradeStoppedRule.Name}
		t.outcome(OperationUpgrade, StatusFailure, gates.UpgradeStoppedRule.Name, r)
	}
}

// upgradeAborted counts by what a pod's image is called; of the same version, by
// its template.
func (t *turn) upgradeAborted(from, to string) Reason {
	upgraded := 0
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Version == to && (from != to || !t.outdated(p) && !t.pendingRestart(p.Set)) {
			upgraded++
		}
	}
	return gates.AbortedUpgrade(from, to, max(t.allRecorded()-upgraded, 0), upgraded)
}
