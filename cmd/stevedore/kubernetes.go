package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stevedore.dev/stevedore/internal/record"
)

// kubeFlags find the API server as kubectl does: --kubeconfig, KUBECONFIG,
// ~/.kube/config, and inside of a pod its service account.
type kubeFlags struct {
	kubeconfig, context string
	namespace           string
}

func (k *kubeFlags) add(cmd *cobra.Command, namespace bool) {
	flags := cmd.Flags()
	flags.StringVar(&k.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, ~/.kube/config, or the pod's service account)")
	flags.StringVar(&k.context, "context", "", "context of the kubeconfig")
	complete(cmd, "context", k.contextNames)
	if namespace {
		flags.StringVarP(&k.namespace, "namespace", "n", "", "namespace (default: the context's)")
		complete(cmd, "namespace", k.namespaceNames)
	}
}

func (k *kubeFlags) config() (*rest.Config, string, error) {
	// The API server's own words for such a name are of its paths.
	if strings.Contains(k.namespace, "/") {
		return nil, "", fmt.Errorf("-n %s is no namespace: a cluster is written without -n, as in `stevedore status shop/orders`", k.namespace)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = k.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: k.context}
	if k.namespace != "" {
		overrides.Context.Namespace = k.namespace
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	// client-go passes over files that are not there and then says something
	// else is missing.
	for _, file := range append([]string{k.kubeconfig}, filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))...) {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, "", fmt.Errorf("%w: reading the kubeconfig: %w: correct --kubeconfig or KUBECONFIG", errNoServer, err)
		}
	}
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", k.noServer(rules, err)
	}
	cfg.UserAgent = "stevedore/" + version
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("finding the namespace: %w", err)
	}
	return cfg, namespace, nil
}

// client is one of the kubeconfig's API server, with its namespace. timeout bounds each
// request; zero: nothing does. The server's own fairness bounds how many there are: a
// bound here would outlast a time-out.
func (k *kubeFlags) client(timeout time.Duration) (kubernetes.Interface, string, error) {
	cfg, namespace, err := k.config()
	if err != nil {
		return nil, "", err
	}
	cfg.QPS, cfg.Timeout = -1, timeout
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("making the client for the API server: %w", err)
	}
	return client, namespace, nil
}

// clientFor is a client, and the cluster that a person named.
func (k *kubeFlags) clientFor(text string, timeout time.Duration) (kubernetes.Interface, record.Cluster, error) {
	client, namespace, err := k.client(timeout)
	if err != nil {
		return nil, record.Cluster{}, err
	}
	cluster, err := k.cluster(text, namespace)
	return client, cluster, err
}

// errNoServer is where no API server is named; how each error of finding one begins.
var errNoServer = errors.New("finding the API server")

// noServer says which contexts there are to choose from. Where there is none, nobody
// mistyped one.
func (k *kubeFlags) noServer(rules *clientcmd.ClientConfigLoadingRules, err error) error {
	config, failed := rules.Load()
	if failed != nil || len(config.Contexts) == 0 {
		if clientcmd.IsEmptyConfig(err) {
			err = errors.New("there is no kubeconfig with a context, neither by KUBECONFIG nor at ~/.kube/config") // client-go names variables of its own
		}
		return fmt.Errorf("%w: %w: give --kubeconfig, or run `stevedore sandbox` for one of your own", errNoServer, err)
	}
	contexts := strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", ")
	chosen := cmp.Or(k.context, config.CurrentContext)
	switch {
	case chosen == "":
		return fmt.Errorf("%w: the kubeconfig has no current context: choose one with --context, there are %s", errNoServer, contexts)
	case config.Contexts[chosen] == nil:
		return fmt.Errorf("%w: the kubeconfig has no context %q: there are %s", errNoServer, chosen, contexts)
	}
	return fmt.Errorf("%w of context %q: %w: correct the kubeconfig, or choose another --context, there are %s", errNoServer, chosen, err, contexts)
}
