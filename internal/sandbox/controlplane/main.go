// Command stevedore-controlplane is a Kubernetes control plane in one binary:
// its first argument chooses the component, the rest are that component's own
// flags. Each component runs as a process of its own, because their flags and
// metrics registries collide inside one.
//
// It lives in a nested module so that the main go.mod stays small, and it
// imports nothing of the main module.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = `usage: stevedore-controlplane COMPONENT [flags]

COMPONENT is one of: etcd, kube-apiserver, kube-controller-manager, kube-scheduler`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	component := os.Args[1]
	os.Args = append([]string{component}, os.Args[2:]...)
	switch component {
	case "etcd":
		if err := runEtcd(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
			os.Exit(1)
		}
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "stevedore-controlplane: unknown component %q\n%s\n", component, usage)
		os.Exit(2)
	}
}
