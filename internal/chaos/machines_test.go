package chaos

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnMachinesEachFaultBefallsOneOperationAndTheSeedChoosesWhich(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		befell := map[Fault]int{}
		order := ""
		for _, step := range OnMachines("v", seed).Steps {
			befell[step.Fault]++
			order += string(step.Fault) + ","
		}
		assert.Equal(t, map[Fault]int{PowerCut: 1, CableCut: 1, KubeletKilled: 1, DiskFilled: 1, DaemonKilled: 1}, befell)
		orders[order] = true
	}
	assert.Greater(t, len(orders), 10)
}

// What an application is told while a machine is away is no fault of stevedore's.
func TestAvailabilityIsJudgedOnlyWhereNoNodeIsTaken(t *testing.T) {
	failing := Meter{Writes: Kind{Statements: 100, Failed: 50}}
	for fault, judged := range map[Fault]bool{NoFault: true, DaemonKilled: true, NodeKilled: false, PowerCut: false, CableCut: false, KubeletKilled: false, DiskFilled: false} {
		r := Report{Rows: []Row{{Voyage: "v", Fault: fault, Replicated: failing}}}
		r.judge("v")
		assert.Equal(t, judged, len(r.Violations) > 0, fault)
	}
}
