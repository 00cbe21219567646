package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules in which volumes are replaced, by their seeds. Each has ended in a violation before the
// decision, the judge or the model was corrected.
func TestWhatWasFoundOfReplacedVolumesStaysCorrected(t *testing.T) {
	for seed, name := range map[uint64]string{
		// What was decided wrongly.
		1600000027: "a table has a copy on each node, and the restart of the drained one waits for all of them",
		1600000287: "the consent comes with another class while the cluster is suspended, and nothing is refused yet",
		1600000004: "another class comes while volumes grow, and the growth is called a success",
		1600000032: "the same in a cluster that is suspended, without a consent",
		1600000109: "a larger size comes while volumes become smaller, and the replacement is called a success",
		1600000384: "another version comes when a claim is deleted, and shards come back to its node",
		1600000435: "a group is removed when a claim is deleted, and shards come back to its node",
		1600000512: "the cluster is suspended, and a replacement without a pod is called a success",
		1600001769: "the same when the consent is taken back",
		1600004828: "the consent is taken back right after a claim was deleted",
		1600007550: "a size is pushed back and forth while volumes become smaller",
		1600013834: "the only pod on another class is away, and the growth is called a success",
		2200083532: "a stuck voter goes with its volume, and of two others one is a member",
		2000064980: "of two groups that cannot run one is rolled back for the other, again and again",
		1800145073: "an abort leaves a pod on a template that nobody has tried",
		1600203255: "a table wants all nodes while one is drained for other volumes",
		1600239753: "another value ends an exclusion, and an only copy comes back to a drained node",
		1600023552: "an only copy is sent back to a drained node by a table's filter",
		1500766722: "a restart stops while its pod is recreated for the gateway",
		1700092131: "a group is written back while an upgrade waits for a person",
		// Where the judge or the model was wrong.
		1600026538: "a node on a new volume votes at once",
		1600204081: "a release and a pause in one pass",
		1600033837: "a group whose StatefulSet is going when the record is lost is written back",
		1700157187: "a pod that came by hand has never joined",
		1700077962: "a table that has our filter is hidden, and people change the filter",
		1700079263: "the only data node dies before the cluster has recovered",
		1600000308: "somebody has deleted the claim whose node takes no copy any more",
		1600000494: "somebody deletes a pod, and its process still runs when the daemon looks",
		1600001694: "a volume is lost between a look and a restart",
		1600001735: "a restart for the gateway's counts meets a push that wants the same",
		1600002434: "two voting nodes are on volumes that are too large, and the last push adds none",
		1600002525: "a claim comes back on volumes that have still to grow",
		1600004322: "somebody is to make a StatefulSet while volumes are replaced, again and again",
		1600009837: "a claim that is to be replaced grows for nobody",
		1600016293: "a release in the moment in which it is commanded",
		1600018083: "a size is pushed back while another group's volumes are replaced",
		1600019482: "the last push comes before the StatefulSets are there",
		1600019753: "the record is lost in the moment in which a StatefulSet is recreated for smaller volumes",
		1600023054: "an abort while a node whose claim somebody has deleted is excluded",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
