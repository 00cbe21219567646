// Command stevedore-node is what a Kubernetes node runs, in one binary: its first
// argument chooses the component, the rest are that component's own flags.
//
// It lives in a nested module so that the main go.mod stays small, and it
// imports nothing of the main module.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const usage = `usage: stevedore-node COMPONENT [flags]

COMPONENT is one of: kubelet, kube-proxy`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	component := os.Args[1]
	os.Args = append([]string{component}, os.Args[2:]...)
	switch component {
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kube-proxy":
		os.Exit(cli.Run(proxy.NewProxyCommand()))
	default:
		fmt.Fprintf(os.Stderr, "stevedore-node: unknown component %q\n%s\n", component, usage)
		os.Exit(2)
	}
}
