package mutations

// silenced is a rule whose function never holds anything any more.
func silenced(rule, file, pkg, test string) mutation {
	return mutation{rule, "ops/gates/" + file, "(Reason, bool) {\n", "(Reason, bool) {\n	if true {\n		return Reason{}, false\n	}\n", pkg, test}
}

// before a pod goes down: each gate has its situation in this test.
const beforeAPod = "TestEachGateHoldsAPodBack"

// notSupported shows the refusals of what is never done, or not yet.
const notSupported = "TestWhatIsNotSupportedIsRefusedByNameAndNothingOfItIsApplied"

// aShrink has the situations in which one waits.
const aShrink = "TestAShrinkSaysWhatItWaitsFor"

// rules has each rule of gates.All: silenced in itself where it decides, or in
// the decision where it only gives the words.
var rules = []mutation{
	{"paused", "ops/identity.go", `if !byCommand && (!t.d.Paused || t.commanded.Paused == "false") {`, "if true {", "ops", "TestWhoMayTouchACluster"},
	{"released", "ops/identity.go", `if t.commanded.Released == "" && !t.d.Released || t.commanded.Released == "false" {`, "if true {", "ops", "TestWhoMayTouchACluster"},
	{"orphaned", "ops/identity.go", "	t.refusal(reason)\n	t.returnBudgets()", "	t.returnBudgets()", "ops", "TestWhoMayTouchACluster"},
	silenced("removal-pending", "removal_pending.go", "ops", "TestAClusterIsDeletedOnlyWhenEverythingAllowsIt"),
	silenced("removal-count-known", "removal_known.go", "ops", "TestAClusterIsDeletedOnlyWhenEverythingAllowsIt"),
	silenced("mass-removal", "mass_removal.go", "ops", "TestAClusterIsDeletedOnlyWhenEverythingAllowsIt"),
	silenced("another-owner", "owner.go", "ops", "TestWhoMayTouchACluster"),
	silenced("defined-twice", "defined_twice.go", "ops", "TestTheOwnerGoesOnWhereAnotherSourceDefinesItsCluster"),
	{"rename", "ops/identity.go", `if t.d.RenamedFrom == "" || len(t.r.Sets) > 0 {`, "if true {", "ops", "TestARenameWouldBeAnEmptyDatabase"},
	silenced("object-not-ours", "foreign_object.go", "ops", "TestWhoMayTouchACluster"),
	silenced("foreign-cluster-id", "cluster_id.go", "ops", "TestWhoMayTouchACluster"),
	silenced("claim-of-another-cluster", "claim_cluster.go", "ops", "TestGrowing"),
	silenced("claim-version-unreadable", "claim_version.go", "ops", "TestGrowing"),
	{"system-password-lost", "ops/bootstrap.go", `if t.r.ClusterID != "" || t.r.Bootstrap.Done || secret.Exists {`, "if false {", "ops", "TestUsersAfterBootstrap"},
	{"secret-missing", "ops/users.go", `t.wait(gates.SecretMissing(u.Secret.Name, u.Secret.Key, "the password of user "+u.Name, s.Exists))`, "", "ops", "TestUsersAfterBootstrap"},
	silenced("eligible-master-ready", "master_ready.go", "ops", "TestABootstrapAndARestartSayWhatTheyWaitFor"),
	{"bootstrap-first", "ops/bootstrap.go", "t.wait(gates.BootstrapFirst(s.Name, s.Replicas, w.Replicas))", "", "ops", "TestABootstrapAndARestartSayWhatTheyWaitFor"},
	silenced("no-contact", "contact.go", "ops", beforeAPod),
	silenced("gateway-recovered", "recovered.go", "ops", beforeAPod),
	silenced("fresh-reading", "reading.go", "ops", beforeAPod),
	silenced("nodes-joined", "joined.go", "ops", beforeAPod),
	silenced("pods-ready", "pods_ready.go", "ops", "TestAReasonNamesThePod"),
	silenced("changed-by-admission", "admission.go", "ops", "TestWhatAdmissionChangesIsSaidAndHoldsNothingBack"),
	{"certificate-not-trusted", "ops/gates/contact.go", "	if strings.Contains(why, Untrusted) {\n", "	if false && strings.Contains(why, Untrusted) {\n", "ops/gates", "TestARuleSpeaksWhenItHoldsAndGivesItsNumbers"},
	silenced("object-kept", "object_kept.go", "ops", "TestWhatIsMadeNoMoreIsRemovedOnceAllElseStands"),
	silenced("objects-applied", "applied.go", "ops", "TestAReasonNamesThePod"),
	{"action-failed", "ops/outcome.go", "		t.wait(gates.ActionFailed(string(f.Action.Kind), f.Action.Subject(), f.Message, f.Count))\n", "		_ = f\n", "ops", "TestAReasonNamesThePod"},
	silenced("licence-missing", "licence.go", "ops", "TestABootstrapAndARestartSayWhatTheyWaitFor"),
	silenced("node-checks-acknowledged", "node_checks.go", "ops", "TestSuccessIsToldOnlyOnceItIsTrue"),
	{"budget-closed", "ops/outcome.go", "if b.MaxUnavailable == 0 && c.ready == c.wanted {", "if b.MaxUnavailable < 0 {", "ops", "TestAClosedBudgetIsSaidAndHoldsNothingUp"},
	{"other-pod-down", "ops/restart_gates.go", "p.Terminating || !p.Ready && !t.besides(going, p) {", "false && p.Terminating {", "ops", beforeAPod},
	silenced("health-green", "restart_health.go", "ops", beforeAPod),
	silenced("tables-known", "detail.go", "ops", beforeAPod),
	silenced("replicas-complete", "replicas_complete.go", "ops", beforeAPod),
	silenced("shards-moving", "shards_moving.go", "ops", beforeAPod),
	silenced("snapshot-running", "snapshot_running.go", "ops", beforeAPod),
	silenced("allocation-enabled", "allocation_enabled.go", "ops", beforeAPod),
	silenced("master-stable", "master_stable.go", "ops", beforeAPod),
	silenced("unreplicated-tables", "unreplicated.go", "ops", beforeAPod),
	{"pod-returns", "ops/restart_pod.go", "t.wait(gates.PodReturns(r.Pod, state))", "_ = state", "ops", "TestABootstrapAndARestartSayWhatTheyWaitFor"},
	silenced("stable-for", "stable_for.go", "ops", "TestABootstrapAndARestartSayWhatTheyWaitFor"),
	{"restart-stopped", "ops/restart_pod.go", "t.refusal(t.stopped(op, p))", "", "ops", "TestATemplateThatDoesNotComeUpStopsAtItsFirstPod"},
	{"hold-hidden", "ops/restart_next.go", "t.refusal(gates.HoldHidden())", "", "ops", "TestAHoldThatATransientValueHidesIsTakenBackAndSaid"},
	{"hold-changed", "ops/hold.go", "t.wait(gates.HoldChanged(t.o.Database.Allocation, h.Value, h.Before))", "", "ops", "TestASomebodysValueIsNotOverwritten"},
	{"unexplained-hold", "ops/hold.go", "if value != heldAllocation {", "if value != \"\" {", "ops", "TestAHoldThatNothingExplainsBlocksAndOnlyAReleaseRemovesIt"},
	{"aborted", "ops/restart.go", "t.refusal(gates.Aborted(t.left()))\n\t\tt.r.Operation = nil", "t.r.Operation = nil", "ops", "TestABootstrapAndARestartSayWhatTheyWaitFor"},
	silenced("master-quorum", "master_quorum.go", "ops", aShrink),
	{"master-group-stays", "ops/groups.go", "t.refusal(gates.MasterGroupStays(s.Group, s.Replicas))", "", "ops", notSupported},
	{"group-removal-consent", "ops/groups.go", "t.refusal(gates.GroupRemoval(s.Group, s.Replicas))", "", "ops", aShrink},
	{"new-group-not-supported", "ops/groups.go", "t.refusal(gates.NewMasters())", "", "ops", notSupported},
	silenced("allocation-known", "allocation_known.go", "ops", aShrink),
	{"replicas-live", "ops/shrink.go", "live == nil || live.Replicas != s.Replicas || !live.Ours {", "live == nil {", "ops", aShrink},
	{"replicas-do-not-fit", "ops/forecast.go", "out = append(out, gates.ReplicasDoNotFit(few, len(f.remaining)))", "", "ops", "TestTheForecastSeesPartitionsFiltersZonesShardsAndDisks"},
	{"last-node-of-zone", "ops/forecast.go", "out = append(out, gates.LastOfZone(zones, zoned))", "", "ops", "TestTheForecastSeesPartitionsFiltersZonesShardsAndDisks"},
	{"table-filter-overrides-drain", "ops/forecast.go", "return []Reason{gates.TableFilter(own, \"\")}", "return nil", "ops", "TestTheForecastSeesPartitionsFiltersZonesShardsAndDisks"},
	{"disk-does-not-fit", "ops/forecast.go", "out = append(out, gates.DiskDoesNotFit(what, g.moving, room, s.LowWatermark, len(g.nodes)))", "", "ops", "TestTheForecastSeesPartitionsFiltersZonesShardsAndDisks"},
	{"shards-do-not-fit", "ops/forecast.go", "out = append(out, gates.ShardsDoNotFit(\"the cluster\", total, limit.most, len(f.remaining), limit.name))", "", "ops", "TestTheForecastSeesPartitionsFiltersZonesShardsAndDisks"},
	{"draining", "ops/drain.go", "t.wait(gates.Draining(sh.names(), d.shards, d.bytes, db.Relocating, db.Initializing, db.Unassigned))", "", "ops", aShrink},
	{"drain-blocked", "ops/drain.go", "t.refusal(gates.DrainBlocked(d.shards, d.bytes, sh.names(), db.Unassigned, sh.Still, t.blockers(d)))", "", "ops", aShrink},
	{"leaving-node-away", "ops/drain.go", "			t.wait(gates.LeavingNode(n.Name, n.Pod))\n			return true\n", "			continue\n", "ops", aShrink},
	{"nodes-gone", "ops/exclusion.go", "			t.wait(gates.NodesGone(\"pod \" + p.Name))\n", "", "ops", "TestWhatLeavesStaysExcludedUntilTheLastOfItIsGone"},
	{"exclusion-hidden", "ops/shrink.go", "t.refusal(gates.ExclusionHidden())", "", "ops", "TestAnExclusionThatATransientListHidesIsTakenBackAndSaid"},
	{"exclusions-return", "ops/exclusion.go", "t.wait(gates.ExclusionsReturn(x.Set, len(listed(x.IDs))))", "", "ops", aShrink},
	{"unexplained-exclusion", "ops/exclusion.go", "	t.wait(reason)\n	if t.r.UnexplainedExclusion != list {", "	if t.r.UnexplainedExclusion != list {", "ops", aShrink},
	{"shrink-aborted", "ops/shrink.go", "		t.refusal(gates.ShrinkAborted(t.leftOver(sets)))\n		return true\n", "		return true\n", "ops", aShrink},
	{"system-password-changed", "ops/system.go", "t.wait(gates.SystemChanged(secret.Name, since, systemRefusedAfter))", "", "ops", "TestARefusalOfSystemIsJudgedByItsCause"},
	{"system-login-refused", "ops/system.go", "t.refusal(gates.SystemRefused(secret.Name, since))", "", "ops", "TestARefusalOfSystemIsJudgedByItsCause"},
	{"replicas-raised-by-others", "ops/refusals.go", "t.refusal(gates.Raised(live.Name, live.Replicas, s.Replicas))", "", "ops", notSupported},
	{"suspend-without-consent", "ops/suspend.go", "t.refusal(gates.Suspend())", "", "ops", notSupported},
	{"suspend-before-bootstrap", "ops/suspend.go", "t.refusal(gates.SuspendEarly())", "", "ops", "TestANewClusterCannotBeginSuspended"},
	{"suspended", "ops/suspend.go", "t.wait(gates.Suspended(waiting))", "", "ops", "TestChangesOfASuspendedClusterWaitAndAreNamed"},
	silenced("pods-gone", "pods_gone.go", "ops", "TestASuspendedClusterRestsAndComesBackAsItWas"),
	silenced("version-path", "version_path.go", "ops", notSupported),
	silenced("tables-too-old", "tables_too_old.go", "ops", notSupported),
	silenced("table-ages-known", "table_ages_known.go", "ops", "TestAnUpgradeToAnotherMajorWaitsUntilTheAgesAreKnown"),
	silenced("release-loses-data", "release_loses_data.go", "ops", notSupported),
	{"upgrade-stopped", "ops/upgrade.go", "return gates.UpgradeStopped(", "return gates.RestartStopped(op.Restart.Pod, podState(p), t.podLimit())\n	return gates.UpgradeStopped(", "ops", "TestAnImageThatDoesNotComeUpStopsAtTheFirstPodAndIsCuredForward"},
	silenced("version-running", "version_running.go", "ops", "TestWhatEveryNodeSaysDecidesWhetherAnUpgradeHasSucceeded"),
	{"setting-not-effective", "ops/settings.go", "	case !e.Set.IsZero() || t.setByOthers(e, shown):\n		t.wait(gates.SettingNotEffective(e.Name, e.Value, shown, pod))\n", "	case !e.Set.IsZero() || t.anothers(e, shown):\n", "ops", "TestWhatSomebodyElseHasSetIsLeft"},
	{"secret-changed", "ops/references.go", "		t.wait(reason)\n", "", "ops", "TestASecretThatNodesHaveReadSaysWhatItNeedsWhenItChanges"},
	{"setting-changed", "ops/settings.go", "t.wait(gates.SettingChanged(e.Name, e.Value, shown))", "", "ops", "TestWhatSomebodyElseHasSetIsLeft"},
	{"update-strategy-change", "ops/refusals.go", "t.refusal(gates.UpdateStrategy(c.Set, c.Path))", "", "ops", notSupported},
	silenced("downgrade-refused", "downgrade.go", "ops", notSupported),
	{"volume-change-not-supported", "ops/refusals.go", "t.refusal(gates.Volumes(c.Set, c.Path, c.Old, c.New))", "", "ops", notSupported},
	{"immutable-field", "ops/refusals.go", "t.refusal(gates.Immutable(c.Set, c.Path, c.Old, c.New))", "", "ops", notSupported},
	silenced("cluster-name-change", "cluster_name.go", "ops", notSupported),
	silenced("tls-change-not-supported", "tls.go", "ops", notSupported),
	{"user-removal-not-supported", "ops/users.go", "t.refusal(gates.UserRemoval(r.Name))", "", "ops", "TestUsersAfterBootstrap"},
	silenced("disrupted-clusters", "disrupted_clusters.go", "ops", "TestARestartWaitsForAnotherClustersAndOneThatHasBegunGoesOn"),
}

// unnoticeds are rules that no decision takes, with the reason.
var unnoticeds = []unnoticed{}
