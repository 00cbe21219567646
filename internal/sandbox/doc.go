// Package sandbox runs a real Kubernetes control plane on this machine, with a
// node agent that runs CrateDB pods as processes: for the demo, the end-to-end
// tests and the benchmarks. It needs Linux, but neither root nor containers.
//
// # What runs
//
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler are processes
// of one binary (controlplane, a nested module that `make` builds). The node
// agent (package agent) runs inside the calling process and serves all of the
// sandbox's Node objects.
//
//	Start ── claims 127.x.0.0/16 ── certificates ── etcd, API server, … ── Node objects ── agent
//
// Each sandbox owns one /16 of the loopback network, claimed by binding an
// abstract Unix socket, which the kernel releases whatever way the process ends.
// The control plane listens on 127.x.0.1, the nodes on 127.x.0.10 and up, each
// pod on an address of its own from 127.x.1.1 up. So sandboxes live side by side
// and every CrateDB node keeps its usual ports.
//
// # What is the same as on any cluster, and what is not
//
// exec, logs, port-forward, probes, volume claims, ConfigMaps, Secrets, init
// containers, restarts and graceful termination work as a user of the API sees
// them. Not the same:
//
//   - The container crate runs a simulated node, or a real CrateDB where
//     Options.CrateDBHome has a release of the image's version. Any other
//     container only pretends to run.
//   - Commands (exec, init containers, probes, hooks) are answered by the agent:
//     crash, curl and a few file commands are known, anything else exits with
//     127 and says so.
//   - A probe's delay and period are honoured up to a second, a crashed
//     container waits 10 seconds at most.
//   - Services have no endpoints, because the API server refuses loopback
//     addresses in EndpointSlices: use the pods' addresses. Names are resolved
//     for CrateDB's discovery only.
//   - Every process on this machine is at 127.0.0.1, which is what a real CrateDB
//     means by _local_: the agent writes the pod's own address in its place, which
//     only commands inside the pod come from.
//   - Service accounts are not mounted into pods.
//   - A volume claim is a folder. Its size is a number that the agent keeps, and that
//     only a simulated node sees: StorageClasses (package agent) has how it grows. Of the
//     class sized it is a file system of that size.
//
// # Faults
//
// The annotation FaultAnnotation (package agent) on a Node or a Pod makes pods
// misbehave; see there.
package sandbox
