package gates

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

func TestEachRuleIsListedOnceWithItsWords(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All {
		assert.Regexp(t, kebab, r.Name)
		assert.False(t, seen[r.Name], "%s is listed twice", r.Name)
		seen[r.Name] = true
		assert.True(t, strings.HasSuffix(r.Says, "."), "%s: says is a sentence", r.Name)
		assert.NotEmpty(t, r.Source, r.Name)
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	declared := regexp.MustCompile(`(?m)^var (\w+Rule) = Rule\{`)
	rules := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := declared.FindAllSubmatch(text, -1)
		rules += len(found)
		if len(found) > 0 {
			assert.Len(t, found, 1, "%s: one file is one rule", file)
			assert.Less(t, strings.Count(string(text), "\n"), 80, "%s is small", file)
		}
	}
	assert.Len(t, All, rules, "every rule is in All")
}

// holds makes a table's row of a rule that always speaks.
func holds(r Reason) (Reason, bool) { return r, true }

type outcome struct {
	reason Reason
	holds  bool
}

func of(r Reason, h bool) outcome { return outcome{r, h} }

// situations of each rule; the first message of one is its example in the
// documentation.
func situations() []situation {
	return append(asked(), []situation{
		{"paused by its people", of(holds(Paused(true))), PausedRule, true, []string{"resume"}},
		{"released", of(holds(Released())), ReleasedRule, true, nil},
		{"a definition that is gone for long enough", of(RemovalPending(0, time.Time{})), RemovalPendingRule, false, nil},
		{"a definition that is gone by consent", of(RemovalPending(4*time.Minute, time.Time{})), RemovalPendingRule, true, []string{"4m0s", "volumes stay"}},
		{"all sources were read", of(RemovalKnown(true)), RemovalKnownRule, false, nil},
		{"a source was not read yet", of(RemovalKnown(false)), RemovalKnownRule, true, nil},
		{"as many as may go", of(MassRemoval(3, 3, false, []string{"prod/a", "prod/b", "prod/c"})), MassRemovalRule, false, nil},
		{"more than may go", of(MassRemoval(4, 3, false, []string{"prod/a", "prod/b", "prod/c", "prod/d"})), MassRemovalRule, true, []string{"4", "3", "prod/a", "--max-removed"}},
		{"the last one", of(MassRemoval(1, 3, true, []string{"prod/a"})), MassRemovalRule, false, nil},
		{"all of several", of(MassRemoval(2, 3, true, []string{"prod/a", "prod/b"})), MassRemovalRule, true, []string{"all 2", "prod/b"}},
		{"nothing that stays", of(ObjectKept(nil, nil)), ObjectKeptRule, false, nil},
		{"what stays", of(ObjectKept([]string{"ConfigMap c (StatefulSet s)"}, []string{"Secret k"})), ObjectKeptRule, true, []string{"ConfigMap c (StatefulSet s)", "Secret k"}},
		{"a definition that is gone", of(holds(Orphaned("git https://git.example/crate#main:prod", true))), OrphanedRule, true, []string{"git.example", "`stevedore release`"}},
		{"a definition that is gone, of a cluster that was never made", of(holds(Orphaned("git https://git.example/crate#main:prod", false))), OrphanedRule, true, []string{"git.example", "`stevedore forget`"}},
		{"a new name", of(holds(Rename("prod/orders", "prod/sales", "orders"))), RenameRule, true, []string{"prod/orders", "prod/sales"}},
		{"an action that met a certificate of somebody else", of(holds(ActionFailed("set-user", "ada", "pod p: "+Untrusted, 3))), CertificateRule, true, []string{"pod p"}},
		{"an action that failed, whose error begins with it", of(holds(ActionFailed("set-user", "ada", "set-user ada: connection refused", 3))), ActionFailedRule, true, []string{"set-user ada failed (3 times): connection refused"}},
		{"an action that failed", of(holds(ActionFailed("set-user", "ada", "connection refused", 3))), ActionFailedRule, true, []string{"set-user", "ada", "connection refused", "3"}},
		{"all groups at 0", of(holds(Suspend())), SuspendRule, true, []string{"spec.operations.consent"}},
		{"all groups at 0 before the bootstrap", of(holds(SuspendEarly())), SuspendEarlyRule, true, []string{"bootstrap"}},
		{"changes of a suspended cluster", of(holds(Suspended([]string{"crate-data-hot-c: memory", "user ada"}))), SuspendedRule, true, []string{"2 change(s)", "user ada"}},
		{"a group that a suspension drops", of(holds(SuspendedGroup("cold"))), SuspendedRule, true, []string{"cold"}},
		{"an aborted suspension", of(holds(SuspendAborted())), AbortedRule, true, []string{"stevedore resume"}},
		{"an aborted replacement of volumes", of(holds(DrainsAborted(ReplacedStay))), AbortedRule, true, []string{"stevedore resume", "no further claim is deleted"}},
		{"one whose claims are deleted", of(holds(ReplacementAborted("data0-x-0", "x-0"))), AbortedRule, true, []string{"stevedore resume", "data0-x-0", "pod x-0"}},
		{"every pod has ended", of(PodsGone(0, "", "")), PodsGoneRule, false, nil},
		{"a pod that has not", of(PodsGone(2, "crate-data-hot-orders-1", "terminating")), PodsGoneRule, true, []string{"2 pod(s)", "crate-data-hot-orders-1", "terminating"}},
		{"another class", of(holds(Volumes("crate-data-hot-orders", "spec.volumeClaimTemplates[data0].spec.storageClassName", "fast", "slow", false))), VolumesRule, true, []string{"fast", "slow", `set resources.disk.storageClass of its group back to "fast"`}},
		{"another class of the claim debug", of(holds(Volumes("crate-data-hot-orders", "spec.volumeClaimTemplates[debug].spec.storageClassName", "fast", "slow", false))), VolumesRule, true, []string{`set spec.operations.debugVolume.storageClass back to "fast"`}},
		{"another disk", of(holds(Volumes("crate-data-hot-orders", "spec.volumeClaimTemplates[data1]", "", "4 fields", false))), VolumesRule, true, []string{"set resources.disk of its group back to what it was"}},
		{"another class of a cluster that never started", of(holds(Volumes("crate-data-hot-orders", "spec.volumeClaimTemplates[data0].spec.storageClassName", "defualt", "default", true))), VolumesRule, true, []string{"defualt", "stevedore forget"}},
		{"a smaller size", of(holds(VolumeShrink("crate-data-hot-orders", "spec.volumeClaimTemplates[data0].spec.resources.requests.storage", "200Gi", "100Gi", false))), VolumeShrinkRule, true, []string{"200Gi", "100Gi", "cannot become smaller"}},
		{"a smaller size of a cluster that never started", of(holds(VolumeShrink("crate-data-hot-orders", "spec.volumeClaimTemplates[data0].spec.resources.requests.storage", "200Ti", "200Gi", true))), VolumeShrinkRule, true, []string{"stevedore forget"}},
		{"a class that expands", of(ClassExpands([][2]string{{"fast", "data0-crate-data-hot-orders-0"}}, []StorageClass{{Name: "fast", Expands: true}})), ClassExpandsRule, false, nil},
		{"a class that does not expand", of(ClassExpands([][2]string{{"fast", "data0-crate-data-hot-orders-0"}}, []StorageClass{{Name: "fast"}})), ClassExpandsRule, true, []string{"data0-crate-data-hot-orders-0", "the storage class fast does not say allowVolumeExpansion"}},
		{"a class that is gone", of(ClassExpands([][2]string{{"fast", "data0-crate-data-hot-orders-0"}}, nil)), ClassExpandsRule, true, []string{"does not exist"}},
		{"claims without a class", of(ClassExpands([][2]string{{"", "data0-crate-data-hot-orders-0"}}, nil)), ClassExpandsRule, true, []string{"name no storage class"}},
		{"no volume is replaced", of(VolumesReplaced(false, "")), VolumesReplacedRule, false, nil},
		{"volumes are replaced", of(VolumesReplaced(true, "1 of 3 nodes are on volumes as desired, data-hot-1, data-hot-2 not")), VolumesReplacedRule, true, []string{"1 of 3 nodes"}},
		{"no disk is removed", of(DisksRemoved("")), DisksRemovedRule, false, nil},
		{"disks are removed", of(DisksRemoved("1 of 3 nodes do without, data-hot-1; data-hot-2 not yet")), DisksRemovedRule, true, []string{"1 of 3 nodes"}},
		{"every claim has the size", of(VolumesGrow(3, 3, nil)), VolumesGrowRule, false, nil},
		{"claims that grow", of(VolumesGrow(1, 3, []GrowingClaim{{"data0-crate-data-hot-orders-1", 100 << 30, 200 << 30, "its file system follows", ""}, {"data0-crate-data-hot-orders-2", 100 << 30, 200 << 30, "", ""}})), VolumesGrowRule, true, []string{"1 of 3", "has 100.0 GiB of 200.0 GiB (its file system follows)"}},
		{"many claims that grow", of(VolumesGrow(0, 9, make([]GrowingClaim, 9))), VolumesGrowRule, true, []string{"and 4 more"}},
		{"claims that get another class", of(VolumesGrow(1, 3, []GrowingClaim{{"data0-crate-data-hot-orders-1", 100 << 30, 100 << 30, "", "goes from no VolumeAttributesClass to the VolumeAttributesClass gold (its driver changes it)"}, {"data0-crate-data-hot-orders-2", 100 << 30, 200 << 30, "its turn", "goes"}})), VolumesGrowRule, true, []string{"desired size and class", "orders-1 goes from no VolumeAttributesClass", "of 200.0 GiB (its turn) and goes"}},
		{"a VolumeAttributesClass that can be had", of(AttributesUnusable(nil)), AttributesUnusableRule, false, nil},
		{"a VolumeAttributesClass that is not there", of(AttributesUnusable([]string{"data0-crate-data-hot-orders-0: " + AttributesProblem("gold", "fast", []AttributesClass{{"silver", "d"}}, nil)})), AttributesUnusableRule, true, []string{"the VolumeAttributesClass gold does not exist (there are silver)"}},
		{"volumes without a VolumeAttributesClass", of(AttributesStay("", nil)), AttributesStayRule, false, nil},
		{"a VolumeAttributesClass is taken away", of(AttributesStay("gold", []string{"data0-crate-data-hot-orders-0"})), AttributesStayRule, true, []string{"data0-crate-data-hot-orders-0", `"gold" or to another one`}},
		{"a snapshot is due", of(holds(SnapshotFirst("the snapshot of schedule nightly", "after 1h0m0s"))), SnapshotFirstRule, true, []string{"begins after the snapshot of schedule nightly, or after 1h0m0s at the latest"}},
		{"a shrink with an old snapshot", of(holds(SnapshotNewer("shrink", 24*time.Hour, "the newest one, stevedore-nightly-20260102t020000z, is 3 days old", "one is taken first"))), SnapshotNewerRule, true, []string{"the shrink", "24h0m0s", "3 days"}},
		{"tables are fetched", of(holds(RestoreRunning("stevedore-nightly-20260102t020000z", "3 of 20 are there"))), RestoreRunningRule, true, []string{"stevedore-nightly-20260102t020000z", "3 of 20"}},
		{"a drill runs", of(holds(DrillRunning("stevedore-nightly-1", 3, 12, "7 of 9 that come now are there"))), DrillRunningRule, true, []string{"3 of 12 tables"}},
		{"a drill waits", of(holds(DrillWaits("no snapshot has succeeded yet"))), DrillWaitsRule, true, []string{"no snapshot"}},
		{"an operation waits for a drill", of(holds(DrillEnds("grow"))), DrillEndsRule, true, []string{"the operation grow"}},
		{"a drill has failed", of(holds(DrillFailed("stevedore-nightly-1", "doc.a: it could not be fetched"))), DrillFailedRule, true, []string{"stevedore-nightly-1", "doc.a"}},
		{"a table was replaced", of(holds(TableKept("doc.orders is as in snapshot stevedore-nightly-1, and the table before it is kept as stevedore_replaced_0a1b2c_doc.orders", "prod/orders", "doc.orders"))), TableKeptRule, true, []string{"`stevedore restore prod/orders --drop-kept doc.orders`", "--undo doc.orders"}},
		{"tables are restored", of(holds(TablesRestored("stevedore-nightly-1", 0, 2, "they are asked for"))), TablesRestoredRule, true, []string{"0 of 2"}},
		{"a restore that was asked for and waits", of(holds(RestoreAsked("the repository is not ready"))), TablesRestoredRule, true, []string{"asked for", "the repository is not ready"}},
		{"an operation waits for tables", of(holds(RestoreFirst("grow", "stevedore-nightly-1"))), RestoreFirstRule, true, []string{"the operation grow"}},
		{"tables were not restored", of(holds(TablesNotRestored("doc.a: no room"))), TablesNotRestoredRule, true, []string{"no room"}},
		{"a restore waits", of(holds(RestoreWaits("the repository shows no snapshot"))), RestoreWaitsRule, true, []string{"no snapshot"}},
		{"a restore has failed", of(holds(RestoreFailed("1 of 20 tables could not be fetched: doc.a"))), RestoreFailedRule, true, []string{"doc.a"}},
		{"a restore of a cluster that is there", of(holds(RestoreNotNew())), RestoreNotNewRule, true, []string{"has been made already"}},
		{"one is being taken", of(holds(BackupRunning("stevedore-nightly-20260102t020000z", time.Unix(0, 0), "stevedore_0a1b2c3d"))), BackupRunningRule, true, []string{"stevedore-nightly-20260102t020000z", "1970-01-01T00:00:00Z"}},
		{"one waits for an operation", of(holds(BackupWaits("nightly", time.Unix(0, 0), "the operation restart has begun before it"))), BackupWaitsRule, true, []string{"nightly", "the operation restart"}},
		{"the last one was partial", of(holds(BackupFailed("snapshot a ended as PARTIAL: node left"))), BackupFailedRule, true, []string{"PARTIAL"}},
		{"a table is closed", of(holds(BackupUnreadable("doc.archive (closed)", false))), BackupUnreadableRule, true, []string{"no snapshot can have doc.archive"}},
		{"a closed table is left out", of(holds(BackupUnreadable("doc.archive (closed)", true))), BackupUnreadableRule, true, []string{"nor users and settings"}},
		{"somebody else's snapshot is there", of(holds(RepositoryNotOurs("stevedore_0a1b2c3d", "nightly-7"))), RepositoryNotOursRule, true, []string{"nightly-7"}},
		{"its Secret is not there", of(holds(RepositorySecret("shop", "s3, key id"))), RepositorySecretRule, true, []string{"s3, key id"}},
		{"Kubernetes knows no such class", of(holds(AttributesDropped("crate-data-hot-orders"))), AttributesDroppedRule, true, []string{"crate-data-hot-orders", "1.34 or later"}},
		{"a volume that cannot have the class", of(holds(ModifyFailed("data0-crate-data-hot-orders-0", "silver", "gold", "too many IOPS", true))), ModifyFailedRule, true, []string{"stays at the VolumeAttributesClass silver", "too many IOPS", "it cannot be done"}},
		{"a driver that tries again", of(holds(ModifyFailed("data0-crate-data-hot-orders-0", "", "gold", "", false))), ModifyFailedRule, true, []string{"its driver says: nothing", "it tries again"}},
		{"a driver that fails", of(holds(VolumeFailed("data0-crate-data-hot-orders-0", 100<<30, 200<<30, "the array is full"))), VolumeFailedRule, true, []string{"stays at 100.0 GiB", "the array is full", "above 107374182400 bytes"}},
		{"a driver that fails without a word", of(holds(VolumeFailed("data0-crate-data-hot-orders-0", 100<<30, 200<<30, ""))), VolumeFailedRule, true, []string{"its driver says: nothing"}},
		{"a set that was adopted", of(holds(AdoptedTemplate("crate-data-hot-orders", "crate-operator", "shop/orders", []string{"spec.template.spec.containers[crate].lifecycle", "spec.template.spec.containers[crate].readinessProbe"}))), AdoptedTemplateRule, true, []string{"crate-operator", "2 field(s): spec.containers[crate].lifecycle", "stevedore restart shop/orders"}},
		{"and nobody says from where, nor does anything differ", of(holds(AdoptedTemplate("crate-data-hot-orders", "", "shop/orders", nil))), AdoptedTemplateRule, true, []string{"another tool", "nothing but"}},
		{"a disk was added and pods have not restarted", of(DisksDiffer("crate-data-hot-orders", []string{"crate-data-hot-orders-1", "crate-data-hot-orders-2"}, "")), DisksDifferRule, true, []string{"crate-data-hot-orders-1; crate-data-hot-orders-2", "may be evicted"}},
		{"and one does not come back", of(DisksDiffer("crate-data-hot-orders", []string{"crate-data-hot-orders-1"}, "crate-data-hot-orders-3")), DisksDifferRule, true, []string{"crate-data-hot-orders-3 does not come back"}},
		{"all pods have the disk", of(DisksDiffer("crate-data-hot-orders", nil, "")), DisksDifferRule, false, nil},
		{"a claim of a further disk is another node's", of(DiskNotBlank("crate-data-hot-orders", []string{"data1-crate-data-hot-orders-0"})), DiskNotBlankRule, true, []string{"data1-crate-data-hot-orders-0"}},
		{"no claim of a further disk is there", of(DiskNotBlank("crate-data-hot-orders", nil)), DiskNotBlankRule, false, nil},
		{"a StatefulSet whose pod is down", of(holds(SetRecreated("crate-data-hot-orders", "the pod crate-data-hot-orders-1 is not there"))), SetRecreatedRule, true, []string{"crate-data-hot-orders-1 is not there"}},
		{"every node sees it", of(SizeNotVisible(nil)), SizeNotVisibleRule, false, nil},
		{"a node that does not see it", of(SizeNotVisible([]UnseenSize{{"data-hot-0", 100 << 30, 100 << 30, 100 << 30}, {"data-hot-1", 100 << 30, -1, 100 << 30}, {"data-hot-2", 0, 100 << 30, 200 << 30}})), SizeNotVisibleRule, true, []string{"data-hot-0 sees 100.0 GiB, it had 100.0 GiB", "data-hot-1 does not say", "data-hot-2 sees 100.0 GiB, and its claims have 200.0 GiB"}},
		{"every pod has it", of(PodsResize(3, nil)), PodsResizeRule, false, nil},
		{"pods that get other CPU", of(PodsResize(3, []ResizingPod{{"crate-data-hot-orders-1", "crate requests.cpu=750m", true, "node-a", ""}, {"crate-data-hot-orders-2", "crate requests.cpu=750m", false, "node-b", ""}})), PodsResizeRule, true, []string{"2 of 3", "crate-data-hot-orders-1 is to have crate requests.cpu=750m (asked)", "crate-data-hot-orders-2"}},
		{"many pods that get other CPU", of(PodsResize(9, make([]ResizingPod, 9))), PodsResizeRule, true, []string{"and 4 more"}},
		{"a machine without room", of(holds(ResizeDeferred(ResizingPod{"crate-data-hot-orders-1", "crate requests.cpu=4000m", true, "node-a", "Node didn't have enough resource: cpu, requested: 4000, used: 6000, capacity: 8000"}))), ResizeDeferredRule, true, []string{"crate-data-hot-orders-1", "node-a", "used: 6000"}},
		{"a machine without room, without a word", of(holds(ResizeDeferred(ResizingPod{Name: "crate-data-hot-orders-1"}))), ResizeDeferredRule, true, []string{"nobody says why"}},
		{"a machine that can never do it", of(holds(ResizeStopped(ResizingPod{"crate-data-hot-orders-1", "crate requests.cpu=64000m", true, "node-a", "Node didn't have enough capacity: cpu, requested: 64000, capacity: 8000"}))), ResizeStoppedRule, true, []string{"crate-data-hot-orders-1", "node-a", "capacity: 8000"}},
		{"a Role of an older release", of(holds(ResizeNotAllowed("prod", 3))), ResizeNotAllowedRule, true, []string{"3 pod(s)", "namespace prod", "deploy/namespace"}},
		{"an older Kubernetes", of(holds(ResizeNotServed())), ResizeNotServedRule, true, []string{"1.33", "rolling restart"}},
		{"another service name", of(holds(Immutable("crate-data-hot-orders", "spec.serviceName", "a", "b"))), ImmutableRule, true, []string{"spec.serviceName"}},
		{"dedicated masters", of(holds(NewMasters())), NewGroupRule, true, []string{"spec.nodes.master"}},
		{"a user that is gone", of(holds(UserRemoval("ada"))), UserRemovalRule, true, []string{"ada"}},
		{"first owner", of(AnotherOwner("", "a", "", false)), AnotherOwnerRule, false, nil},
		{"same owner", of(AnotherOwner("a", "a", "a", false)), AnotherOwnerRule, false, nil},
		{"another owner", of(AnotherOwner("a", "b", "", false)), AnotherOwnerRule, true, []string{"a", "b", "take-over"}},
		{"taken over", of(AnotherOwner("a", "b", "", true)), AnotherOwnerRule, false, nil},
		{"two at once, nobody's yet", of(AnotherOwner("", "a", "b", true)), AnotherOwnerRule, true, []string{"a", "b"}},
		{"the owner beside another", of(AnotherOwner("a", "a", "b", true)), AnotherOwnerRule, false, nil},
		{"taken over while the owner defines it", of(AnotherOwner("a", "b", "a", true)), AnotherOwnerRule, false, nil},
		{"nothing is adopted", of(AdoptionInProgress(false, "orders")), AdoptionInProgressRule, false, nil},
		{"an adoption has begun", of(AdoptionInProgress(true, "orders")), AdoptionInProgressRule, true, []string{"nothing is made meanwhile", "stevedore adopt orders"}},
		{"no other source", of(DefinedTwice("a", "")), DefinedTwiceRule, false, nil},
		{"another source too", of(DefinedTwice("dir:/a", "dir:/b")), DefinedTwiceRule, true, []string{"dir:/a, which goes on", "in dir:/b is refused", "take-over"}},
		{"no foreign object", of(ObjectNotOurs(nil, "if-unowned", "shop/x", "")), ObjectNotOursRule, false, nil},
		{"a foreign object", of(ObjectNotOurs([]string{"Service crate-x (it belongs to the Helm release shop)"}, "if-unowned", "shop/x", "the Helm release shop")), ObjectNotOursRule, true, []string{"Service crate-x", "release shop", "if-unowned", "cluster shop/x", "another namespace", "spec.operations.adopt"}},
		{"one of crate-operator", of(ObjectNotOurs([]string{"StatefulSet crate-data-hot-x (it belongs to crate-operator (its CrateDB x))"}, "always", "shop/x", "crate-operator (its CrateDB x)")), ObjectNotOursRule, true, []string{"`stevedore adopt shop/x`", "restarts no pod"}},
		{"the right id", of(ForeignClusterID("p", "1", "1")), ForeignClusterIDRule, false, nil},
		{"another id", of(ForeignClusterID("p", "2", "1")), ForeignClusterIDRule, true, []string{"pod p", "2", "1"}},
		{"no cluster yet", of(ForeignClusterID("p", NoCluster, "1")), ForeignClusterIDRule, false, nil},
		{"an id that is not known", of(ForeignClusterID("p", "", "1")), ForeignClusterIDRule, false, nil},
		{"storage classes that are there", of(StorageClassMissing(nil)), StorageClassRule, false, nil},
		{"a storage class that is not", of(StorageClassMissing([]string{"crate-data-hot-x (data0): " + ClassProblem("fast", []StorageClass{{Name: "slow"}}, nil)})), StorageClassRule, true, []string{"crate-data-hot-x (data0)", "fast", "slow"}},
		{"own claim", of(ClaimOfAnotherCluster("c", "1", "1")), ClaimOfAnotherClusterRule, false, nil},
		{"another's claim", of(ClaimOfAnotherCluster("c", "2", "1")), ClaimOfAnotherClusterRule, true, []string{"c", "2", "1"}},
		{"nobody's claim", of(ClaimOfAnotherCluster("c", "", "1")), ClaimOfAnotherClusterRule, true, []string{"stevedore.dev/cluster-id: 1"}},
		{"a claim of the same minor", of(ClaimVersion("c", "5.10.9", "5.10.1")), ClaimVersionRule, false, nil},
		{"a claim of a newer minor", of(ClaimVersion("c", "5.10.0", "5.9.9")), ClaimVersionRule, true, []string{"5.10.0", "5.9.9"}},
		{"lost Secret", of(holds(SystemPasswordLost("shop", "user-system-orders", false))), SystemPasswordLostRule, true, []string{"Secret user-system-orders is gone", "kubectl -n shop create secret generic user-system-orders"}},
		{"a lost key", of(holds(SystemPasswordLost("n", "s", true))), SystemPasswordLostRule, true, []string{"Secret s has no key"}},
		{"another password for system", of(holds(SystemChanged("user-system-orders", 2*time.Second, 10*time.Second))), SystemChangedRule, true, []string{"user-system-orders", "2s", "10s"}},
		{"a password of system that somebody changed", of(holds(SystemRefused("user-system-orders", 90*time.Second))), SystemRefusedRule, true, []string{"user-system-orders", "1m30s", "any new one"}},
		{"a Secret that is not there", of(holds(SecretMissing("shop", "orders-app", "password", "the password of user app", false))), SecretMissingRule, true, []string{"`kubectl -n shop create secret generic orders-app --from-file=password=FILE`"}},
		{"a Secret without key", of(holds(SecretMissing("n", "s", "k", "x", true))), SecretMissingRule, true, []string{"s", "k"}},
		{"a master is ready", of(MasterReady(1, 3, "")), MasterReadyRule, false, nil},
		{"no master is ready", of(MasterReady(0, 3, "p: Pending")), MasterReadyRule, true, []string{"0 of 3", "p: Pending"}},
		{"contact", of(Contact(true, "")), ContactRule, false, nil},
		{"no contact", of(Contact(false, "refused")), ContactRule, true, []string{"refused"}},
		{"contact once refused", of(Contact(true, Untrusted)), CertificateRule, false, nil},
		{"a certificate of somebody else", of(Contact(false, "pod p: "+Untrusted+": unknown authority")), CertificateRule, true, []string{"pod p", "unknown authority"}},
		{"recovered", of(Recovered(true, false, 1, 3)), RecoveredRule, false, nil},
		{"not recovered", of(Recovered(false, true, 1, 3)), RecoveredRule, true, []string{"has not recovered its state yet: 1 of 3"}},
		{"nobody says whether it has recovered", of(Recovered(false, false, 3, 3)), RecoveredRule, true, []string{"it is not known whether", "3 of 3"}},
		{"a fresh reading", of(FreshReading(time.Second, time.Minute)), FreshReadingRule, false, nil},
		{"an old reading", of(FreshReading(time.Hour, time.Minute)), FreshReadingRule, true, []string{"1h0m0s", "1m0s"}},
		{"all joined", of(Joined(3, 3, "", "")), JoinedRule, false, nil},
		{"one missing", of(Joined(2, 3, "p", "why")), JoinedRule, true, []string{"2 of 3", "p (why)"}},
		{"all answer", of(NodesAnswer("")), NodesAnswerRule, false, nil},
		{"one is listed and does not answer", of(NodesAnswer("data-hot-1")), NodesAnswerRule, true, []string{"data-hot-1", "does not answer"}},
		{"others exclude nothing that stays", of(ExclusionVoidsOthers(nil)), ExclusionVoidsOthersRule, false, nil},
		{"others exclude a node by its name", of(ExclusionVoidsOthers([]string{"exclude._name = 'n3' keeps shards off n3: RESET GLOBAL x"})), ExclusionVoidsOthersRule, true, []string{"exclude._name = 'n3'", "RESET GLOBAL x"}},
		{"each name once", of(NodeNameTwice("", "", "")), NodeNameTwiceRule, false, nil},
		{"a process outlived its pod", of(NodeNameTwice("data-hot-1", "id-old", "id-new")), NodeNameTwiceRule, true, []string{"data-hot-1", "id-old", "id-new"}},
		{"all ready", of(PodsReady(3, 3, "", "")), PodsReadyRule, false, nil},
		{"one not ready", of(PodsReady(2, 3, "p", "why")), PodsReadyRule, true, []string{"2 of 3", "p (why)"}},
		{"a member is to be replaced by command", of(holds(ReplacePodWaits("crate-data-hot-c-1", "its node is a member of the cluster, with shards on it as any other"))), ReplacePodRule, true, []string{"crate-data-hot-c-1", "is a member"}},
		{"none has ended", of(NodeEnded(nil)), NodeEndedRule, false, nil},
		{"one has ended", of(NodeEnded([]string{"crate-data-hot-c-1 ended at 02:55:13Z: exit code 137 (OOMKilled)"})), NodeEndedRule, true, []string{"crate-data-hot-c-1 ended at 02:55:13Z", "137"}},
		{"stored as it was applied", of(ChangedByAdmission(nil)), ChangedByAdmissionRule, false, nil},
		{"stored otherwise", of(ChangedByAdmission([]string{"Service crate-orders: spec.type"})), ChangedByAdmissionRule, true, []string{"1 object(s)", "Service crate-orders: spec.type"}},
		{"nothing refused by Kubernetes", of(Applied(nil)), AppliedRule, false, nil},
		{"refused by Kubernetes", of(Applied([]string{"x", "y"})), AppliedRule, true, []string{"2 object", "x; y"}},
		{"three nodes need no licence", of(LicenceMissing("4.4.0", 3, false)), LicenceMissingRule, false, nil},
		{"four nodes need one", of(LicenceMissing("4.4.0", 4, false)), LicenceMissingRule, true, []string{"4.4.0", "3 nodes", "4 are"}},
		{"four nodes with one", of(LicenceMissing("4.4.0", 4, true)), LicenceMissingRule, false, nil},
		{"from 4.5 on none", of(LicenceMissing("4.5.0", 9, false)), LicenceMissingRule, false, nil},
		{"checks done", of(NodeChecks(true, 0)), NodeChecksRule, false, nil},
		{"checks open", of(NodeChecks(true, 2)), NodeChecksRule, true, []string{"2 node"}},
		{"checks not known", of(NodeChecks(false, 0)), NodeChecksRule, true, []string{"could not be read"}},
		{"the next hotfix", of(VersionPath("6.4.2", "6.4.3")), VersionPathRule, false, nil},
		{"a hotfix back", of(VersionPath("6.4.3", "6.4.0")), VersionPathRule, false, nil},
		{"back a minor is the downgrade's", of(VersionPath("6.4.3", "6.3.7")), VersionPathRule, false, nil},
		{"a minor left out", of(VersionPath("6.2.7", "6.4.3")), VersionPathRule, true, []string{"6.2.7 runs", "6.3 (6.3.2 or newer), then 6.4.3"}},
		{"across majors step by step", of(VersionPath("5.9.4", "6.2.7")), VersionPathRule, true, []string{"5.10 (5.10.1 or newer), then 6.0 (6.0.6 or newer), then 6.1 (6.1.4 or newer), then 6.2.7"}},
		{"no way is known", of(VersionPath("3.3.5", "4.0.2")), VersionPathRule, true, []string{"knows no rolling upgrade", "back to 3.3.5"}},
		{"no old tables", of(TablesTooOld("5.10.8", "6.0.6", []TableAge{{"doc.t", "5.0.0"}})), TablesTooOldRule, false, nil},
		{"old tables", of(TablesTooOld("5.10.8", "6.0.6", []TableAge{{"doc.old", "4.8.4"}, {"doc.t", "5.2.0"}})), TablesTooOldRule, true, []string{"doc.old of 4.8.4", "1 table", "before 5.0", "INSERT INTO"}},
		{"old tables for 5.x", of(TablesTooOld("4.8.4", "5.0.1", []TableAge{{"doc.old", "3.3.0"}, {"doc.t", "4.0.0"}})), TablesTooOldRule, true, []string{"doc.old of 3.3.0", "1 table", "before 4.0"}},
		{"old tables within a major", of(TablesTooOld("5.9.1", "5.10.8", []TableAge{{"doc.old", "4.8.4"}})), TablesTooOldRule, false, nil},
		{"ages known", of(TableAgesKnown("5.10.8", "6.0.6", []TableAge{{"doc.t", "5.2.0"}}, true)), TableAgesKnownRule, false, nil},
		{"an age unknown", of(TableAgesKnown("5.10.8", "6.0.6", []TableAge{{"doc.t", ""}}, true)), TableAgesKnownRule, true, []string{"1 table", "doc.t", "6.0.6"}},
		{"no table read", of(TableAgesKnown("5.10.8", "6.0.6", nil, false)), TableAgesKnownRule, true, []string{"could not be read"}},
		{"ages that do not matter", of(TableAgesKnown("6.3.7", "6.4.3", []TableAge{{"doc.t", ""}}, false)), TableAgesKnownRule, false, nil},
		{"ages for a release that loses data", of(TableAgesKnown("6.2.7", "6.3.1", nil, false)), TableAgesKnownRule, true, []string{"6.3.1"}},
		{"a release that loses data, of tables that are new", of(ReleaseLosesData("6.3.1", []TableAge{{"doc.t", "5.5.0"}})), ReleaseLosesDataRule, false, nil},
		{"a release that loses data", of(ReleaseLosesData("6.3.1", []TableAge{{"doc.t", "5.4.8"}})), ReleaseLosesDataRule, true, []string{"6.3.1", "doc.t of 5.4.8", "6.3.2 or newer"}},
		{"a release that loses data, an age unknown", of(ReleaseLosesData("6.0.5", []TableAge{{"doc.t", ""}})), ReleaseLosesDataRule, true, []string{"not known", "6.0.6 or newer"}},
		{"a fixed release", of(ReleaseLosesData("6.3.2", []TableAge{{"doc.t", "5.4.8"}})), ReleaseLosesDataRule, false, nil},
		{"a stopped upgrade", of(holds(UpgradeStopped("p", "CrashLoopBackOff", time.Minute, "6.3.7", "6.4.3", true))), UpgradeStoppedRule, true, []string{"1m0s", "CrashLoopBackOff", "6.4.3", "does not go back"}},
		{"a stopped upgrade that never started", of(holds(UpgradeStopped("p", "ImagePullBackOff", time.Minute, "6.3.7", "6.4.3", false))), UpgradeStoppedRule, true, []string{"ImagePullBackOff", "take the change back"}},
		{"a stopped hotfix", of(holds(UpgradeStopped("p", "x", time.Minute, "6.4.2", "6.4.3", true))), UpgradeStoppedRule, true, []string{"take the change back"}},
		{"the version runs", of(VersionRunning("p", "6.4.3", "6.4.3")), VersionRunningRule, false, nil},
		{"another version runs", of(VersionRunning("p", "6.3.7", "6.4.3")), VersionRunningRule, true, []string{"pod p", "6.3.7", "6.4.3"}},
		{"no version said", of(VersionRunning("p", "", "6.4.3")), VersionRunningRule, true, []string{"not said"}},
		{"a downgrade", of(Downgrade("5.10.1", "5.9.9")), DowngradeRule, true, []string{"5.10.1", "5.9.9"}},
		{"an older hotfix", of(Downgrade("5.10.9", "5.10.1")), DowngradeRule, false, nil},
		{"nothing started", of(Downgrade("", "5.10.1")), DowngradeRule, false, nil},
		{"the cluster's name", of(ClusterName("a", "a")), ClusterNameRule, false, nil},
		{"another cluster's name", of(ClusterName("a", "b")), ClusterNameRule, true, []string{`"a"`, `"b"`}},
		{"TLS off", of(TLS(true, false)), TLSRule, true, []string{"off"}},
		{"TLS as it was", of(TLS(true, true)), TLSRule, false, nil},
		{"a restart in a bootstrap", of(holds(RestartAfterBootstrap("s"))), BootstrapFirstRule, true, []string{"s", "bootstrap"}},
		{"a rolling update", of(holds(UpdateStrategy("s", "spec.updateStrategy.type"))), UpdateStrategyRule, true, []string{"spec.updateStrategy.type"}},
		{"a range of replicas that comes to too few", of(holds(NodeCannotLeave([]string{"crate-data-hot-orders-0"}, []string{"doc.t (number_of_replicas '0-all' comes to 2 copies, write.wait_for_active_shards is 3)"}))), NodeCannotLeaveRule, true, []string{"crate-data-hot-orders-0", "comes to 2 copies"}},
		{"copies that do not come back", of(holds(CopiesDoNotReturn([]string{"crate-data-hot-orders-0"}, []string{"doc.t (routing.allocation.enable of the table is 'none')"}))), CopiesReturnRule, true, []string{"crate-data-hot-orders-0", "doc.t (routing", "unhealable: proceed"}},
		{"no write waits", of(WritesWait("p", nil)), WritesWaitRule, false, nil},
		{"writes wait", of(WritesWait("crate-data-hot-orders-0", []string{"doc.t (ALL)"})), WritesWaitRule, true, []string{"crate-data-hot-orders-0", "doc.t (ALL)"}},
		{"less memory", of(LessMemory("hot", [2]int64{4 << 30, 1 << 30}, [2]int64{1 << 30, 256 << 20}, &HeapInUse{Node: "data-hot-1", Used: 600 << 20, Max: 1 << 30})), LessMemoryRule, true, []string{"hot", "1.0 GiB instead of 4.0 GiB", "256.0 MiB", "data-hot-1 uses about 640.0 MiB of its heap of 1.0 GiB", "more than it gets"}},
		{"less memory, and nobody knows what is in use", of(LessMemory("hot", [2]int64{4 << 30, 1 << 30}, [2]int64{1 << 30, 256 << 20}, &HeapInUse{Unknown: 3})), LessMemoryRule, true, []string{"is not known"}},
		{"a smaller heap", of(LessMemory("hot", [2]int64{4 << 30, 4 << 30}, [2]int64{2 << 30, 1 << 30}, &HeapInUse{Node: "data-hot-1", Used: 1 << 20, Max: 2 << 30})), LessMemoryRule, true, []string{"a heap of 1.0 GiB instead of 2.0 GiB"}},
		{"more memory", of(LessMemory("hot", [2]int64{1 << 30, 4 << 30}, [2]int64{1 << 30, 1 << 30}, &HeapInUse{})), LessMemoryRule, false, nil},
		{"each shard has another copy", of(OnlyCopies("p", nil)), OnlyCopiesRule, false, nil},
		{"only copies", of(OnlyCopies("crate-data-hot-orders-0", []string{"doc.t"})), OnlyCopiesRule, true, []string{"crate-data-hot-orders-0", "doc.t", "reads of them fail"}},
		{"tables that keep their shards", of(holds(TableHeld([]string{"doc.t (none)"}, []string{`ALTER TABLE "doc"."t" RESET ("routing.allocation.enable")`}))), TableHeldRule, true, []string{"doc.t (none)", "ALTER TABLE"}},
		{"a shard without a place", of(holds(ShardHasNoPlace([]string{"doc.t (data-hot-0: another copy of the shard is there)"}))), ShardPlaceRule, true, []string{"doc.t (data-hot-0"}},
		{"green", of(HealthGreen("green", false, 0, 0, nil, nil)), HealthGreenRule, false, nil},
		{"yellow", of(HealthGreen("yellow", false, 0, 2, []string{"a", "b", "c", "d", "e", "f"}, nil)), HealthGreenRule, true, []string{"yellow", "2 without", "a, b, c, d, e, …"}},
		{"a yellow of which CrateDB says why", of(HealthGreen("yellow", false, 0, 1, []string{"doc.t"}, []string{"doc.t: cannot allocate (data-hot-0: the node is above the low watermark)"})), HealthGreenRule, true, []string{"CrateDB says: doc.t: cannot allocate (data-hot-0"}},
		{"a settled yellow by policy", of(HealthGreen("yellow", true, 0, 2, nil, nil)), HealthGreenRule, false, nil},
		{"red is never settled", of(HealthGreen("red", true, 1, 0, nil, nil)), HealthGreenRule, true, []string{"1 shards missing"}},
		{"unknown is not green", of(HealthGreen("unknown", true, 0, 0, nil, nil)), HealthGreenRule, true, []string{"unknown"}},
		{"all copies", of(ReplicasComplete("t", "0-1", 2, 2)), ReplicasCompleteRule, false, nil},
		{"a range that has shrunk", of(ReplicasComplete("doc.t", "0-1", 1, 2)), ReplicasCompleteRule, true, []string{"doc.t", "1 started", "2", "0-1"}},
		{"another pod is down", of(holds(OtherPodDown("p", "terminating"))), OtherPodDownRule, true, []string{"p", "terminating"}},
		{"unreplicated, allowed", of(Unreplicated("p", []string{"doc.t"}, false)), UnreplicatedRule, false, nil},
		{"unreplicated, refused", of(Unreplicated("p", []string{"doc.t"}, true)), UnreplicatedRule, true, []string{"doc.t", "1 table"}},
		{"everything has a copy", of(Unreplicated("p", nil, true)), UnreplicatedRule, false, nil},
		{"no Node takes a pod", of(NodeFits("p-1", "of 3 Nodes: 3 × cordoned", "")), NodeFitsRule, true, []string{"p-1", "3 × cordoned"}},
		{"a pod mounts a claim that does not exist", of(NodeFits("p-1", "", "backups")), NodeFitsRule, true, []string{"p-1", "PersistentVolumeClaim backups, which it mounts, does not exist"}},
		{"each pod has a Node, or nobody knows", of(NodeFits("", "", "")), NodeFitsRule, false, nil},
		{"nothing moves", of(ShardsMoving(0, 0)), ShardsMovingRule, false, nil},
		{"shards move", of(ShardsMoving(2, 1)), ShardsMovingRule, true, []string{"2 shards", "1 initializing"}},
		{"no master, and two of three voters are away", of(holds(NoMaster(1, 3, []string{"m-0", "m-2"}))), NoMasterRule, true, []string{"of 3 master-eligible nodes 1 answer", "in m-0, m-2"}},
		{"no master in an election", of(holds(NoMaster(3, 3, nil))), NoMasterRule, true, []string{"3 answer"}},
		{"a stable master", of(MasterStable(Elapsed{Time: 2 * time.Minute, Needed: 2 * time.Minute})), MasterStableRule, false, nil},
		{"a new master", of(MasterStable(Elapsed{Time: 5 * time.Second, Needed: 2 * time.Minute})), MasterStableRule, true, []string{"for 2m0s (masterStableFor)"}},
		{"a new master, and nothing has changed since", of(MasterStable(Elapsed{Time: 30 * time.Second, Needed: 2 * time.Minute, Unchanged: 30 * time.Second, UnchangedNeeded: 30 * time.Second})), MasterStableRule, false, nil},
		{"stable", of(StableFor("p", Elapsed{Time: time.Minute, Needed: time.Minute})), StableForRule, false, nil},
		{"not stable yet", of(StableFor("p", Elapsed{Time: time.Second, Needed: time.Minute})), StableForRule, true, []string{"for 1m0s (stableFor)"}},
		{"the cluster state has not changed for long enough", of(StableFor("p", Elapsed{Time: 12 * time.Second, Needed: time.Minute, Unchanged: 10 * time.Second, UnchangedNeeded: 10 * time.Second})), StableForRule, false, nil},
		{"the cluster state has changed lately", of(StableFor("p", Elapsed{Time: 50 * time.Second, Needed: time.Minute, Unchanged: 2 * time.Second, UnchangedNeeded: 10 * time.Second})), StableForRule, true, []string{"1m0s", "; 10s in which"}},
		{"the clock alone counts", of(StableFor("p", Elapsed{Time: 12 * time.Second, Needed: time.Minute, Unchanged: time.Hour})), StableForRule, true, []string{"1m0s"}},
		{"no snapshot", of(SnapshotRunning(true, 0, "")), SnapshotRunningRule, false, nil},
		{"a snapshot", of(SnapshotRunning(true, 1, "")), SnapshotRunningRule, true, []string{"1 snapshot"}},
		{"allocation on", of(AllocationEnabled("all", "all")), AllocationEnabledRule, false, nil},
		{"allocation off", of(AllocationEnabled("none", "all")), AllocationEnabledRule, true, []string{"none", "all"}},
		{"allocation unknown", of(AllocationEnabled("", "all")), AllocationEnabledRule, true, []string{"could not be read"}},
		{"a cluster that lacks what is seen", of(ClusterHealth("", "yellow", false, false, 0, 2, 0, 2)), ClusterHealthRule, false, nil},
		{"a hidden table that lacks copies", of(ClusterHealth("", "yellow", false, true, 0, 2, 0, 1)), ClusterHealthRule, true, []string{"yellow", "2 lack copies", "0 and 1"}},
		{"a hidden yellow by policy", of(ClusterHealth("", "yellow", true, true, 0, 2, 0, 1)), ClusterHealthRule, false, nil},
		{"tables are red", of(TablesRed(true, 2, []string{"doc.a", "doc.b"}, []string{"doc.a", "doc.b", "doc.c"}, false, nil)), TablesRedRule, true, []string{"RED", "2 shard(s) have no primary, of doc.a, doc.b; also not green: doc.c"}},
		{"tables are red, and others are yellow that a published reading does not tell apart", of(TablesRed(true, 2, nil, []string{"doc.a", "doc.b"}, false, nil)), TablesRedRule, true, []string{"2 shard(s) have no primary; also not green: doc.a, doc.b"}},
		{"tables are red that nobody sees", of(TablesRed(true, 1, nil, nil, true, nil)), TablesRedRule, true, []string{"RED", "does not see"}},
		{"tables are red, and nothing uses a claim", of(TablesRed(true, 1, []string{"doc.a"}, nil, false, []string{"data1-p-0"})), TablesRedRule, true, []string{"of doc.a; CrateDB has written on volume claims that no pod uses", "may be there: data1-p-0"}},
		{"no table is red", of(TablesRed(false, 0, nil, nil, false, nil)), TablesRedRule, false, nil},
		{"a hidden red by policy", of(ClusterHealth("", "red", true, true, 1, 0, 0, 0)), ClusterHealthRule, true, []string{"red", "1 shards are missing"}},
		{"a cluster whose health was not read", of(ClusterHealth("sys.cluster_health could not be read: refused", "unknown", false, false, 0, 0, 0, 0)), ClusterHealthRule, true, []string{"not known", "refused"}},
		{"all is read", of(DetailKnown(true, "")), DetailKnownRule, false, nil},
		{"no tables", of(DetailKnown(false, "sys.shards could not be read: refused")), DetailKnownRule, true, []string{"tables", "sys.shards could not be read"}},
		{"a repository that hangs", of(SnapshotRunning(false, 0, "repository nightly does not answer")), SnapshotRunningRule, true, []string{"unknown", "repository nightly does not answer"}},
		{"the nodes are read", of(NodesKnown(true, "")), NodesKnownRule, false, nil},
		{"the nodes are not read", of(NodesKnown(false, "sys.nodes does not answer in time: timeout")), NodesKnownRule, true, []string{"sys.nodes does not answer in time"}},
		{"privileges are read", of(PrivilegesKnown(true, "")), PrivilegesKnownRule, false, nil},
		{"privileges are not read", of(PrivilegesKnown(false, "sys.roles could not be read: refused")), PrivilegesKnownRule, true, []string{"sys.roles could not be read"}},
		{"nothing is denied", of(SystemDenied(nil, nil)), SystemDeniedRule, false, nil},
		{"tables that are hidden", of(SystemDenied([]string{"DQL on schema secret is denied to system"}, []string{`REVOKE DQL ON SCHEMA "secret" FROM "system"`})), SystemDeniedRule, true, []string{"DQL on schema secret is denied to system", `Run: REVOKE DQL ON SCHEMA "secret" FROM "system"`}},
		{"a pod on its way", of(holds(PodReturns("p", "terminating"))), PodReturnsRule, true, []string{"terminating"}},
		{"a pod that cannot start", of(holds(PodCannotStart("p", "ErrImagePull: no such image"))), PodReturnsRule, true, []string{"went for its restart and cannot start: ErrImagePull"}},
		{"a controller that sleeps", of(ControllerBehind("crate-data-hot-orders", 5, 4)), ControllerBehindRule, true, []string{"crate-data-hot-orders", "generation 4", "5 is applied"}},
		{"a controller that has seen all", of(ControllerBehind("crate-data-hot-orders", 5, 5)), ControllerBehindRule, false, nil},
		{"a hidden hold", of(holds(HoldHidden())), HoldHiddenRule, true, []string{"RESET GLOBAL"}},
		{"a changed hold", of(holds(HoldChanged("none", "primaries", "all"))), HoldChangedRule, true, []string{"none", "primaries", "all"}},
		{"an unreadable hold", of(holds(HoldChanged("", "primaries", "all"))), HoldChangedRule, true, []string{"cannot be read"}},
		{"a setting under a transient one", of(holds(SettingNotEffective("stats.jobs_log_size", "20000", "5000", ""))), SettingNotEffectiveRule, true, []string{"20000", "5000", "RESET GLOBAL \"stats.jobs_log_size\""}},
		{"a setting that one node has not", of(holds(SettingNotEffective("stats.jobs_log_size", "20000", "5000", "crate-data-hot-c-1"))), SettingNotEffectiveRule, true, []string{"20000", "5000", "crate-data-hot-c-1"}},
		{"a keystore that is another", of(holds(SecretChanged("orders-tls", "spec.cluster.ssl.keystore", 3))), SecretChangedRule, true, []string{"orders-tls", "spec.cluster.ssl.keystore", "3 pod", "stevedore restart"}},
		{"a setting that somebody changed", of(holds(SettingChanged("stats.jobs_log_size", "20000", "5000"))), SettingChangedRule, true, []string{"20000", "5000", "theirs is left"}},
		{"an allocation lock of nobody", of(holds(UnexplainedHold("primaries"))), UnexplainedHoldRule, true, []string{"primaries", "stevedore release"}},
		{"a stopped restart", of(holds(RestartStopped("p", "CrashLoopBackOff", time.Minute))), RestartStoppedRule, true, []string{"1m0s", "CrashLoopBackOff"}},
		{"an aborted restart", of(holds(Aborted(2))), AbortedRule, true, []string{"2 pod"}},
		{"an aborted upgrade", of(holds(AbortedUpgrade("6.3.7", "6.4.3", 2, 1))), AbortedRule, true, []string{"2 still", "6.4.3", "6.4.3"}},
		{"no other cluster", of(DisruptedClusters(nil, 1)), DisruptedClustersRule, false, nil},
		{"fewer than may be", of(DisruptedClusters([]string{"prod/a"}, 2)), DisruptedClustersRule, false, nil},
		{"another cluster", of(DisruptedClusters([]string{"prod/a"}, 1)), DisruptedClustersRule, true, []string{"prod/a", "at most 1", "--max-disrupted-clusters"}},
		{"budget closed by pods", of(holds(BudgetClosed(2, nil))), BudgetClosedRule, true, []string{"2 pod"}},
		{"a claim of a pod that is being deleted", of(holds(ClaimBeingDeleted("data0-crate-data-hot-c-1", "crate-data-hot-c-1", NobodyAgreed))), ClaimBeingDeletedRule, true, []string{"data0-crate-data-hot-c-1", "pod crate-data-hot-c-1", "replace-volume"}},
		{"one with the only copies", of(holds(ClaimBeingDeleted("d", "p", SoleCopiesOn([]string{"doc.t"})))), ClaimBeingDeletedRule, true, []string{"doc.t", "replicas"}},
		{"no claim is being deleted", of(VolumeGoes(nil)), VolumeGoesRule, false, nil},
		{"a volume that goes with its pod", of(VolumeGoes([]string{"data0-crate-data-hot-c-1 of pod crate-data-hot-c-1"})), VolumeGoesRule, true, []string{"data0-crate-data-hot-c-1 of pod"}},
		{"budget closed by a volume", of(holds(BudgetClosedForVolume())), BudgetClosedRule, true, []string{"claim"}},
		{"budget closed by tables", of(holds(BudgetClosed(0, []string{"doc.t"}))), BudgetClosedRule, true, []string{"doc.t"}},
		{"raised by hand", of(holds(Raised("s", 5, 3))), RaisedRule, true, []string{"from 3 to 5"}},
		{"three masters of five", of(MasterQuorum("master", true, 5, 3, false)), MasterQuorumRule, false, nil},
		{"two dedicated masters", of(MasterQuorum("master", true, 3, 2, true)), MasterQuorumRule, true, []string{"3 dedicated masters", "2 are desired"}},
		{"two of a master-eligible group", of(MasterQuorum("hot", false, 3, 2, false)), MasterQuorumRule, true, []string{"group hot", "two-masters"}},
		{"two by consent", of(MasterQuorum("hot", false, 3, 2, true)), MasterQuorumRule, false, nil},
		{"one, whatever the consent", of(MasterQuorum("hot", false, 2, 1, true)), MasterQuorumRule, true, []string{"group hot", "2 nodes", "with 1"}},
		{"the names of a group are changed", of(holds(NamesStay("hot", "crate", `{"claim":"cratedb-data"}`, ""))), NamesStayRule, true, []string{"group hot", "StatefulSet crate", "cratedb-data", "stevedore's own"}},
		{"the masters are gone from the definition", of(holds(MasterGroupStays("master", 3))), MasterGroupStaysRule, true, []string{"group master", "3 node"}},
		{"a group that is gone", of(holds(GroupRemoval("cold", 2))), GroupRemovalRule, true, []string{"group cold", "2 node", "remove-group"}},
		{"another number of replicas", of(holds(ReplicasLive("s", 4, 5))), ReplicasLiveRule, true, []string{"4 replicas", "5 are"}},
		{"the allocation is known", of(AllocationKnown(true)), AllocationKnownRule, false, nil},
		{"the allocation is not known", of(AllocationKnown(false)), AllocationKnownRule, true, nil},
		{"copies that do not fit", of(holds(ReplicasDoNotFit([]string{"doc.t (number_of_replicas '2' needs 3 node(s), it may use 2)"}, 2, []string{`ALTER TABLE "doc"."t" SET (number_of_replicas = '1-2')`}, 3))), ReplicasDoNotFitRule, true, []string{"2 data node", "1 table", "doc.t (number", "To go on, run ALTER TABLE", "or keep at least 3 data nodes"}},
		{"copies that no number of replicas makes fit", of(holds(ReplicasDoNotFit([]string{"doc.t (x)"}, 2, nil, 0))), ReplicasDoNotFitRule, true, []string{"To go on, keep more of the nodes"}},
		{"the last of a zone", of(holds(LastOfZone([]string{"zone c"}, []string{"doc.t"}))), LastOfZoneRule, true, []string{"zone c", "doc.t"}},
		{"the last of a zone that is forced", of(holds(ForcedZone([]string{"zone c"}, []string{"doc.t"}, []string{"cluster.routing.allocation.awareness.force.zone.values (c)"}))), LastOfZoneRule, true, []string{"zone c", "doc.t", "force.zone.values (c)", "in a commit of its own"}},
		{"a password that ends in a line break", of(holds(PasswordUnusable("app", "password", "the password of user ada", "it ends in a line break"))), PasswordUnusableRule, true, []string{"app", "password", "ada", "line break"}},
		{"one that works all the same", of(holds(PasswordOdd("app", "password", "the password of user ada", "it ends in a line break"))), PasswordOddRule, true, []string{"app", "ada", "is left"}},
		{"a name that others exclude", of(holds(ExcludedByOthers([]string{"exclude._name = 'n3' keeps shards off n3: RESET GLOBAL x", "b"}))), ExcludedByOthersRule, true, []string{"exclude._name = 'n3'", "RESET GLOBAL x", "; b"}},
		{"a grown node that others exclude", of(holds(GrownExcluded([]string{"exclude._name = 'n3' keeps shards off n3: RESET GLOBAL x"}))), GrownExcludedRule, true, []string{"have joined", "RESET GLOBAL x"}},
		{"a table's own filters", of(holds(TableFilter([]string{"doc.t"}, ""))), TableFilterRule, true, []string{"doc.t", "extend-table-filters"}},
		{"a table's own filters that differ", of(holds(TableFilter([]string{"doc.t"}, "make its partitions the same"))), TableFilterRule, true, []string{"make its partitions the same"}},
		{"a table's own require decides alone", of(holds(TableFilterDecides([]string{"doc.t: ALTER a", "doc.u: ALTER b", "doc.v: ALTER c", "doc.w: ALTER d"}))), TableFilterDecidesRule, true, []string{"4 table(s)", "doc.t: ALTER a; and doc.u", "…"}},
		{"shards that do not fit on smaller volumes", of(holds(VolumesTooSmall("the shards of all nodes", 3<<30, 1<<30, "85%", 2))), VolumesTooSmallRule, true, []string{"3.0 GiB", "1.0 GiB", "85%", "2 node", "larger volumes"}},
		{"bytes that do not fit", of(holds(DiskDoesNotFit("the data of all tables", 3<<30, 1<<30, "85%", 2))), DiskDoesNotFitRule, true, []string{"3.0 GiB", "1.0 GiB", "85%", "2 node"}},
		{"shards that do not fit", of(holds(ShardsDoNotFit("the cluster", 30, 10, 2, "cluster.max_shards_per_node"))), ShardsDoNotFitRule, true, []string{"30", "10 each", "20 in all"}},
		{"draining", of(holds(Draining("data-hot-4", 3, 2048, 1, 2, 4))), DrainingRule, true, []string{"3 shard", "2.0 KiB", "data-hot-4", "1 relocating", "2 initializing", "4 unassigned"}},
		{"drained once", of(holds(DrainedOnce("data-hot-4", nil))), DrainingRule, true, []string{"data-hot-4: empty", "second reading"}},
		{"copies stay by leave-zone", of(holds(DrainedOnce("data-hot-4", []string{"doc.t"}))), DrainingRule, true, []string{"data-hot-4: with copies of doc.t, each of which is started on a node that stays too"}},
		{"a drain that stands still", of(holds(DrainBlocked(3, 10, "data-hot-4", 0, time.Date(2026, 3, 4, 12, 3, 15, 0, time.UTC), []string{"doc.t: cannot move"}))), DrainBlockedRule, true, []string{"3 shard", "10 B", "since 12:03:15 UTC", "doc.t: cannot move", "`stevedore abort`"}},
		{"nobody says why", of(holds(DrainBlocked(0, 0, "data-hot-4", 2, time.Time{}, nil))), DrainBlockedRule, true, []string{"2 are unassigned", "gives no reason"}},
		{"a leaving node that is away", of(holds(LeavingNode("data-hot-4", "p-4"))), LeavingNodeRule, true, []string{"data-hot-4", "p-4"}},
		{"a table that is hidden from system", of(holds(SuperuserSeesShards("p-4", []string{"secret.t (started on data-hot-4)"}))), SuperuserSeesShardsRule, true, []string{"p-4", "secret.t (started on data-hot-4)", "revoke"}},
		{"many of them", of(holds(SuperuserSeesShards("p-4", []string{"a", "b", "c", "d", "e", "f"}))), SuperuserSeesShardsRule, true, []string{"a, b, c, d, e, …"}},
		{"folders that are left", of(holds(VolumeHasShards("p-4", []string{"/data/data0/nodes/0/indices/EayxmsNfQlmuHLeNf6vNxQ/2"}))), VolumeHasShardsRule, true, []string{"1 shard folder(s)", "p-4", "EayxmsNfQlmuHLeNf6vNxQ/2"}},
		{"no way to ask", of(holds(EvidenceMissing("p-4", "exec is forbidden", "there is no ls"))), EvidenceMissingRule, true, []string{"p-4", "exec is forbidden", "there is no ls"}},
		{"not asked yet", of(holds(EvidenceUnread("p-4"))), EvidenceMissingRule, true, []string{"p-4", "asked next"}},
		{"a pod on its way out", of(holds(NodesGone("pod p-4"))), NodesGoneRule, true, []string{"pod p-4"}},
		{"a hidden exclusion", of(holds(ExclusionHidden())), ExclusionHiddenRule, true, []string{"SET GLOBAL TRANSIENT"}},
		{"exclusions on their way back", of(holds(ExclusionsReturn("s", 2))), ExclusionsReturnRule, true, []string{"2 node", "s"}},
		{"an exclusion that stays", of(holds(ExclusionStays("x-0"))), ExclusionsReturnRule, true, []string{"pod x-0"}},
		{"an exclusion of nobody", of(holds(UnexplainedExclusion("a,b"))), UnexplainedExclusionRule, true, []string{"'a,b'", "stevedore release"}},
		{"an aborted shrink", of(holds(ShrinkAborted("crate-data-hot-c at 5 of 3"))), ShrinkAbortedRule, true, []string{"crate-data-hot-c at 5 of 3"}},
	}...)
}

type situation struct {
	name string
	got  outcome
	rule Rule
	want bool
	says []string
}

func TestARuleSpeaksWhenItHoldsAndGivesItsNumbers(t *testing.T) {
	for _, c := range situations() {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.got.holds)
			if !c.want {
				assert.Equal(t, Reason{}, c.got.reason)
				return
			}
			assert.Equal(t, c.rule.Name, c.got.reason.Name)
			for _, words := range c.says {
				assert.Contains(t, c.got.reason.Message, words)
			}
		})
	}
}

func TestVersionsCompareByNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b         string
		minor, whole int
	}{
		{"5.10.1", "5.9.9", 1, 1}, {"5.10.1", "5.10.2", 0, -1}, {"4.4", "4.4.0", 0, 0},
		{"6.0.0", "5.10.9", 1, 1}, {"6.4.0-SNAPSHOT", "6.4.0", 0, 0}, {"", "1.0", -1, -1}, {"99999999999999999999.0", "1.0", 1, 1},
	} {
		assert.Equal(t, c.minor, sign(CompareMinor(c.a, c.b)), "%s %s", c.a, c.b)
		assert.Equal(t, c.whole, sign(Compare(c.a, c.b)), "%s %s", c.a, c.b)
		assert.Equal(t, -c.whole, sign(Compare(c.b, c.a)), "%s %s", c.b, c.a)
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestWhichVersionsTakeALicence(t *testing.T) {
	for version, want := range map[string]bool{"3.1.9": false, "3.2.0": true, "4.4.3": true, "5.2.11": true, "5.3.0": false, "5.10.0": false, "6.4.3": false} {
		assert.Equal(t, want, TakesLicence(version), version)
	}
}
