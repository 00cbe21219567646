// Package realnodes runs a Kubernetes cluster with real nodes on one Linux machine:
// the sandbox's control plane, and for each node a containerd, a kubelet and a
// kube-proxy in namespaces of its own, on a disk of its own. It needs root and
// Debian's packages; docs/sandbox.md says what for, and what it costs.
//
// # A world that ends whole
//
// A program that uses this package calls Isolate first. That starts the same
// program once more in network, mount, process and host name namespaces of its
// own, the world, waits for its end and puts the machine back:
//
//	program ── world's init ── the same program, in which Isolate returns
//	                             ├─ etcd, API server, …, CoreDNS
//	                             └─ node's init ── containerd, kubelet, …, pods
//
// The kernel ends every process of a namespace with its first one, and with the
// last process the bridges, routes, iptables rules and mounts in it. So nothing has
// to be undone by anybody, and a run that fails, panics or is killed leaves no more
// than one that ends well. What a namespace does not hold are control groups and
// the sysctls that kubelets and CrateDB's init containers set for the whole machine:
// these the outer program puts back, or the next run, where it was killed.
package realnodes
