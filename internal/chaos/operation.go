package chaos

import (
	"fmt"
	"strings"
)

// Fault is what happens while an operation is under way.
type Fault string

// The faults.
const (
	NoFault      Fault = "none"
	NodeKilled   Fault = "node killed"
	DaemonKilled Fault = "daemon killed"
)

// Step is one operation with one fault.
type Step struct {
	Operation Operation
	Fault     Fault
}

// Voyage is a cluster from its beginning through some operations.
type Voyage struct {
	// Name of its namespace.
	Name string
	// Version it begins with.
	Version string
	Steps   []Step
}

// Operation is a change of the definition that the daemon carries out.
type Operation struct {
	Name string
	// change says what Git wants then.
	change func(*wanted)
	// drop is true for one before which a table is dropped.
	drop bool
	// rests is true for one that takes the cluster away: the application rests.
	rests bool
}

// wanted is what the definition says.
type wanted struct {
	version  string
	nodes    int
	memory   string
	suspends int // nodes that were suspended
}

// The operations.
var (
	Grow    = Operation{Name: "grow", change: func(w *wanted) { w.nodes = 5 }}
	Shrink  = Operation{Name: "shrink", change: func(w *wanted) { w.nodes = 3 }}
	Restart = Operation{Name: "restart", change: func(w *wanted) {
		w.memory = map[string]string{"1Gi": "1088Mi", "1088Mi": "1Gi"}[w.memory]
	}}
	Upgrade = Operation{Name: "upgrade", change: func(w *wanted) { w.version = versionAfter }}
	Suspend = Operation{Name: "suspend", change: func(w *wanted) { w.suspends, w.nodes = w.nodes, 0 }, rests: true}
	Resume  = Operation{Name: "resume", change: func(w *wanted) { w.nodes = w.suspends }, rests: true}
	// Regrow comes after a shrink: the table that is dropped before has copies on
	// the volumes of nodes that are not there.
	Regrow = Operation{Name: "drop, grow", change: func(w *wanted) { w.nodes = 5 }, drop: true}
)

const (
	versionBefore = "6.3.7"
	versionAfter  = "6.4.3"
)

// Full are the voyages of `make chaos`: all operations in turn with nothing
// killed, with a node killed in each, and with the daemon killed in each.
func Full() []Voyage {
	var all []Voyage
	for _, each := range []struct {
		name  string
		fault Fault
	}{{"calm", NoFault}, {"node-killed", NodeKilled}, {"daemon-killed", DaemonKilled}} {
		v := Voyage{Name: each.name, Version: versionBefore}
		for _, operation := range []Operation{Grow, Restart, Shrink, Upgrade, Suspend, Resume, Regrow} {
			v.Steps = append(v.Steps, Step{operation, each.fault})
		}
		all = append(all, v)
	}
	return all
}

// Short is the voyage of `make test`.
func Short() []Voyage {
	return []Voyage{{Name: "short", Version: versionAfter, Steps: []Step{
		{Restart, NodeKilled}, {Grow, DaemonKilled}, {Shrink, NoFault},
	}}}
}

// The short waits make an operation's own time small; the long ones of the
// defaults would only repeat what is there.
const definitionText = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  cluster: {name: %[1]s, imageRegistry: crate, version: %[3]s}
  operations:
    consent: [suspend, extend-table-filters]
    stableFor: 1s
    masterStableFor: 1s
  nodes:
    data:
    - name: hot
      replicas: %[4]d
      resources:
        limits: {cpu: 1, memory: %[5]s}
        disk: {count: 1, size: 16GiB, storageClass: default}
        heapRatio: 0.5
  users:
  - name: %[6]s
    password: {secretKeyRef: {name: %[6]s-password, key: password}}
`

func (w wanted) definition(namespace string) string {
	return fmt.Sprintf(definitionText, cluster, namespace, w.version, w.nodes, w.memory, user)
}

func (w wanted) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d nodes of %s, %s", w.nodes, w.version, w.memory))
}
