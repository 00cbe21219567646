package lifecycle

import (
	"cmp"
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// SystemUser takes a new cluster to the point where `system` logs in: its Secret, a ready master,
// the licence before the first user, then the user by exec. After bootstrap it only looks.
func SystemUser(t *pass.Pass) {
	if len(t.Record.Sets) == 0 {
		return
	}
	access.Relicence(t)
	secret := t.Secret(t.SystemSecret())
	key := model.SecretKey{Name: secret.Name, Key: access.SystemKey}
	if !secret.Has(access.SystemKey) {
		// A Secret without the key is never overwritten: somebody may still know what was in it.
		if t.Record.ClusterID != "" || t.Record.Bootstrap.Done || secret.Exists {
			t.Refuse(gates.SystemPasswordLost(t.Desired.Namespace, secret.Name, secret.Exists))
			return
		}
		t.Harmless(model.Action{Kind: model.ActionCreateSystemSecret, Secret: key})
		return
	}
	if t.Record.Bootstrap.Done {
		access.SystemLogin(t, secret)
		return
	}
	if why := secret.Unusable[access.SystemKey]; why != "" && t.Record.Bootstrap.System.UID == "" {
		t.Refuse(gates.PasswordUnusable(secret.Name, access.SystemKey, "the password of the system user", why))
		return
	}
	pod, ok := access.ReadyMaster(t)
	if !ok {
		repairUnstarted(t)
		return
	}
	if !licence(t, pod) {
		return
	}
	made := t.Record.Bootstrap.System
	if made.UID != secret.Version.UID || t.Observed.Database.SystemLogin == model.LoginRefused {
		t.Harmless(model.Action{Kind: model.ActionSetSystemUser, Pod: pod, User: "system", Secret: key, SecretVersion: secret.Version})
		return
	}
	t.Waits(gates.Contact(t.Contact(), t.Observed.Database.Error))
}

// licence is done before the first user, because below 4.5 a cluster of more
// than three nodes refuses every other statement.
func licence(t *pass.Pass, pod string) bool {
	if t.Record.Bootstrap.Licence != model.LicenceUnset {
		return true
	}
	takes := gates.TakesLicence(t.Desired.Version)
	if t.Desired.License == nil || !takes {
		if t.Waits(gates.LicenceMissing(t.Desired.Version, t.AllNodes(), t.Desired.License != nil && takes)) {
			return false
		}
		t.Record.Bootstrap.Licence = model.LicenceNotNeeded
		t.Record.License = t.Desired.License
		t.Report(model.Report{Reason: "LicenceNotNeeded", Status: model.StatusSuccess, Message: licenceWords(t.Desired.Version, t.Desired.License != nil)})
		return true
	}
	secret := t.Secret(t.Desired.License.Name)
	if !secret.Has(t.Desired.License.Key) {
		t.Wait(gates.SecretMissing(t.Desired.Namespace, t.Desired.License.Name, t.Desired.License.Key, "the licence", secret.Exists))
		return false
	}
	t.Harmless(model.Action{Kind: model.ActionSetLicense, Pod: pod, Secret: *t.Desired.License, SecretVersion: secret.Version, Version: t.Desired.Version})
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

// repairUnstarted recreates a pod of a cluster that never started, once its definition is
// corrected: under OnDelete it would stay on the template that cannot run.
func repairUnstarted(t *pass.Pass) {
	going := func(p *model.Pod) bool { return p.Terminating }
	if t.Rejected || !aim.Unstarted(&t.View) || !aim.Applied(&t.View) || t.AnyPod(going) {
		return
	}
	for p := range model.Each(t.Observed.Pods) {
		live := t.Live(p.Set)
		if live == nil || !live.Ours || live.ObservedGeneration != live.Generation || live.UpdateRevision == "" {
			continue
		}
		if p.Started.IsZero() && !p.Ready && p.Revision != "" && p.Revision != live.UpdateRevision {
			t.Decision.Disruptive = &model.Action{Kind: model.ActionRecreatePod, Pod: p.Name, PodUID: p.UID}
			return
		}
	}
}

// Bootstrap ends when every node has joined and every user is made; the cluster id is recorded
// then.
func Bootstrap(t *pass.Pass) {
	if !view.Bootstrapping(&t.View) {
		return
	}
	for _, s := range t.Record.Sets {
		if w := t.DesiredSet(s.Name); w != nil && w.Replicas > s.Replicas {
			t.Wait(gates.BootstrapFirst(s.Name, s.Replicas, w.Replicas))
		}
		if view.PendingRestart(&t.View, s.Name) && !aim.Unstarted(&t.View) {
			t.Wait(gates.RestartAfterBootstrap(s.Name))
		}
	}
	if bootstrapEnds(t) {
		made := t.Nodes(view.BootstrapSets(&t.View))
		t.Record.ClusterID = t.ExpectedID()
		t.Record.Bootstrap.Done = true
		t.Record.Version = oldestRunning(&t.View)
		t.Record.Operation = nil
		t.Record.AllowedCIDRs = CIDRs(t.Desired.AllowedCIDRs)
		aim.RebuildAsked(t)
		reportMade(t, made)
		return
	}
	if view.Restoring(&t.View) {
		return // how long that takes depends on the data
	}
	limit := model.First(t.Desired.Operations.BootstrapTimeout, t.Policy.BootstrapTimeout, model.DefaultBootstrapTimeout)
	aim.Timeout(t, limit, "bootstrap-timeout", model.Report{Event: model.EventFeedback, Operation: "create", Action: "create", Reason: "BootstrapTimedOut", Message: "the bootstrap"})
}

// reportMade reports the end of a bootstrap: success only where every desired node has joined.
func reportMade(t *pass.Pass, c view.Count) {
	unmade, _ := access.Unmade(&t.View)
	words := fmt.Sprintf("of CrateDB %s, %s and system", t.Record.Version, aim.NumberOf(len(t.Desired.Users)-len(unmade), "user"))
	made := fmt.Sprintf("cluster %s has been made: %s %s", t.Desired.ClusterName, aim.NumberOf(c.Joined, "node"), words)
	r := model.Report{Event: model.EventFeedback, Operation: "create", Action: "create", Reason: "BootstrapIncomplete", Warning: true}
	switch {
	case c.Joined < c.Expected:
		r.Names = []string{gates.JoinedRule.Name}
		r.Message = fmt.Sprintf("cluster %s has been made with %d of %d nodes %s; it goes on without pod %s (%s), which what is desired by now may bring up", t.Desired.ClusterName, c.Joined, c.Expected, words, c.NotJoined, c.NotJoinedWhy)
		aim.Outcome(t, model.OperationBootstrap, model.StatusFailure, gates.JoinedRule.Name, r)
	case len(unmade) > 0:
		r.Message = made + "; it goes on without the user(s) " + strings.Join(unmade, ", ") + ", who could not be made and are made as soon as that is possible"
		aim.Outcome(t, model.OperationBootstrap, model.StatusFailure, "users", r)
	default:
		r.Reason, r.Warning, r.Message = "BootstrapSucceeded", false, made
		aim.Outcome(t, model.OperationBootstrap, model.StatusSuccess, "", r)
	}
}

func bootstrapEnds(t *pass.Pass) bool {
	if !t.Contact() || t.Record.Bootstrap.System.UID == "" || t.Record.Bootstrap.Licence == model.LicenceUnset {
		return false
	}
	c := t.Nodes(view.BootstrapSets(&t.View))
	if !aim.OnlyTemplateHelps(&t.View, view.BootstrapSets(&t.View)) && t.Waits(gates.Joined(c.Joined, c.Expected, c.NotJoined, c.NotJoinedWhy)) {
		return false
	}
	db := &t.Observed.Database
	_, waits := access.Unmade(&t.View)
	return !t.Waits(gates.Recovered(db.Recovered != model.No && db.MasterNode != "", db.Recovered == model.No, c.Joined, c.Expected)) && !waits && !view.Restoring(&t.View)
}

// oldestRunning is the effective version at the end of a bootstrap: another one may
// have been pushed midway, and what has started on the first is upgraded. A pod that is
// just being made is of its set's, and one of a group that is to go is not upgraded.
func oldestRunning(v *view.View) string {
	oldest := ""
	older := func(set, version string) {
		stays := view.Recorded(v.Record.Sets, set) != nil && v.DesiredSet(set) != nil
		if stays && version != "" && (oldest == "" || gates.Compare(version, oldest) < 0) {
			oldest = version
		}
	}
	for i := range v.Observed.Pods {
		older(v.Observed.Pods[i].Set, v.Observed.Pods[i].Version)
	}
	for i := range v.Observed.Sets {
		older(v.Observed.Sets[i].Name, v.Observed.Sets[i].Version)
	}
	return cmp.Or(oldest, v.Record.Version)
}

// CIDRs are the allowed CIDRs as the record has them, joined by commas.
func CIDRs(list []string) string { return strings.Join(list, ",") }
