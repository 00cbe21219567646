package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules that a round before had left open, by their seeds. Each has ended in a violation before the decision
// or the judge was corrected.
func TestWhatWasLeftOpenStaysCorrected(t *testing.T) {
	for seed, name := range map[uint64]string{
		// What was decided wrongly.
		2600006082: "claims are deleted for other volumes, their watch brings nothing, and other volumes are desired no more",
		2200094941: "a claim is deleted whose first pod went before it said whose it is, and its next pod is stuck",
		2800006168: "the same, while the cluster is made and its pod is to be replaced by a command",
		2400031343: "a release meets a StatefulSet whose only pod is lost right after it was recreated",
		2400038793: "the same, and its daemons were killed in between",
		2300035519: "the record is lost while somebody's StatefulSet stands in the place of one whose group has left",
		2400013730: "a pod is held back for its disk, and a restart of another group waits for a pod that cannot start",
		2800005479: "a pod is held back for its disk, and the cluster is being resumed",
		2800008453: "a pod is held back for its disk, and another node is drained for its volume",
		2500022444: "an upgrade begins for a pod whose volume goes anyway, without a newer snapshot",
		2500054862: "a snapshot is asked for in the pass in which a restart begins, and a pod is away",
		2400003525: "a suspension is pushed right before the template does without a disk",
		2400014084: "the same, with other nodes",
		2400007068: "more disks are desired again, and a StatefulSet without pods does not mount them yet",
		2400018833: "the same, and two of them",
		2400034586: "the same, of another group",
		2600010823: "a table has come and is dropped by hand before it is called restored",
		2700029828: "each snapshot is dropped by hand, the record of the repository is lost, and the next one waits for a list",
		2700016502: "a table that cannot be fetched waits for a node whose pod is never ready",
		2500027093: "the record is lost while a snapshot is taken, and nobody says that it is waited for",
		2600015794: "a group left the definition before anything of it was made, and a StatefulSet is recreated for larger claims",
		2400000689: "a grow is reverted before its node has started, and comes again",
		2800028422: "a group leaves the definition whose pods lack a disk, and a restart begins again and again",
		2800028108: "the record of a drill is lost, and the first reading shows only those of its tables that are red",
		2800025464: "the answer to a drill is lost, and then its tables are refused together",
		2900001564: "a copy that takes another table's place cannot be fetched, and the node that is asked to drop it is behind",
		2900006213: "the same, while the record is written as JSON",
		2200118796: "the answer to a write of a template is lost, and a pod goes for the template before in the same pass",
		2800032491: "a cluster is paused whose pods lack a disk, and fewer disks are pushed",
		2800043066: "an exclusion that nothing explains is released while the nodes cannot be read, and others exclude by name",
		2500000365: "an upgrade to more disks is aborted, and its StatefulSet is recreated for larger claims",
		2500003694: "a StatefulSet has a disk back that a pod uses, and the restart goes on only when somebody answers",
		2400004120: "the template has returned while a pod has a further disk, and its StatefulSet is recreated for another class",
		2400028392: "the same, and another version is desired",
		2400032322: "the same, and the cluster is released",
		2300026152: "somebody raises a StatefulSet whose pods lack a disk, and the restart that goes on waits for the contact",
		2800027624: "a StatefulSet has a disk back that a pod uses, and no restart goes on for a while",
		2900017486: "the same, of dedicated masters",
		2300032751: "the number of disks is taken back while a pod is held back, and its StatefulSet has the mark of what no pod has",
		2300046160: "the same, with two disks",
		2400034422: "the same, of a cluster whose driver works offline",
		2800024244: "the same, and nodes leave",
		2900013754: "the same, of four nodes",
		2500004205: "the same, and the volume of another node is lost",
		2000114234: "a set is put on trial by an external change while another one cannot run",
		2800040749: "the record is lost while one set is on trial, and a pod of another one is away",
		3000013515: "the pod that came back without a disk cannot run, and another template comes",
		2900003044: "a group leaves the definition while its pod restarts, and the next pod goes before the cluster has stood",
		2900014167: "the same, in another order of pods",
		2900018536: "the same, while volumes were replaced",
		3000033643: "a volume is lost between the look at an emptied node and the write of its template",
		3000014926: "what people exclude keeps ours while the cluster is released, and then their node is gone",
		3000002809: "the answer to an exchange of names is lost, and the node that is asked then is behind",
		2200129823: "the password of system changes before a suspension, and the resume refuses it for a while",
		5710003824: "a person wants a restart, an upgrade is due, and pods of the second group cannot run",
		5000352200: "the quorum is lost with masters whose template cannot run, and the correction comes to the data nodes first",
		5300045783: "the same, with nodes that are their own masters and whose volumes are replaced",
		5000001218: "there is no master, and pods that cannot start have a further disk that nobody has used",
		5300031569: "the record of a cluster that is being made is lost, and its gateway counts the masters too",
		// Where the judge, the model or its people were wrong.
		5000014450: "a group leaves the definition while its pod is never ready, and others restart for a disk",
		2500023066: "our exclusion is owed again in the moment in which a node goes that people exclude",
		2400015467: "somebody makes a StatefulSet in the place of one that is recreated with fewer disks",
		2400031989: "the same, with other volumes",
		2800012519: "two tables stay of a restore whose answer was lost, and CrateDB names the first only",
		2500003091: "each of nine nodes waits for a snapshot of its own",
		2500003352: "the same, of fifteen",
		2800003341: "the record of an adopted cluster is lost while its StatefulSet is gone",
		2800024166: "the same, and its only pod stays on what it was adopted with",
		2200163655: "a StatefulSet is recreated in a write whose answer is lost, its watch brings nothing, and the cluster is paused",
		2800011355: "a table of a restore stays, and a shard of it is waited for for ever",
		6022007376: "a machine dies that a table includes and that was drained, and an older copy is left on its volume",
		6026013863: "somebody makes an adopted StatefulSet again that says nothing of it, and the record is lost",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
