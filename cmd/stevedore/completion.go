package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"stevedore.dev/stevedore/internal/record"
)

// completionTimeout is how long a person who pressed the key waits at most.
var completionTimeout = 3 * time.Second

type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// quietly asks something for a completion. What cannot be had completes nothing:
// an error would be written into the line that somebody is typing.
func quietly(cmd *cobra.Command, ask func(ctx context.Context) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	found, err := ask(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	slices.Sort(found)
	return slices.Compact(found), cobra.ShellCompDirectiveNoFileComp
}

// recorded are the clusters that stevedore knows in a namespace; "" is the
// kubeconfig's, all is every one.
func (k *kubeFlags) recorded(ctx context.Context, all bool) ([]record.Cluster, error) {
	client, namespace, err := k.client(completionTimeout)
	if err != nil {
		return nil, err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	return recordedClusters(ctx, client, namespace)
}

// clusterNames completes one CLUSTER: names of the namespace, and once a namespace is
// typed NAMESPACE/NAME.
func (k *kubeFlags) clusterNames(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return quietly(cmd, func(ctx context.Context) ([]string, error) {
		qualified := strings.Contains(typed, "/")
		clusters, err := k.recorded(ctx, qualified)
		var names []string
		for _, cluster := range clusters {
			if qualified {
				names = append(names, cluster.String())
			} else {
				names = append(names, cluster.Name)
			}
		}
		return names, err
	})
}

// namespaceNames are the namespaces with clusters.
func (k *kubeFlags) namespaceNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return quietly(cmd, func(ctx context.Context) ([]string, error) {
		clusters, err := k.recorded(ctx, true)
		var names []string
		for _, cluster := range clusters {
			names = append(names, cluster.Namespace)
		}
		return names, err
	})
}

func (k *kubeFlags) contextNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return quietly(cmd, func(context.Context) ([]string, error) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = k.kubeconfig
		config, err := rules.Load()
		if err != nil {
			return nil, err
		}
		var names []string
		for name := range config.Contexts {
			names = append(names, name)
		}
		return names, nil
	})
}

// inFolder completes --cluster with those of the folder that was typed already,
// rendered as the verb itself would.
func (r *renderFlags) inFolder(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return quietly(cmd, func(ctx context.Context) ([]string, error) {
		if len(args) == 0 {
			return nil, nil
		}
		renderer, err := r.renderer(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = renderer.Close() }()
		distrusted, _ := r.distrusts()
		tree, _, dir, err := readTree(ctx, args[0], r.root, distrusted)
		if err != nil {
			return nil, err
		}
		build, err := renderer.Build(ctx, tree, dir)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, cluster := range build.Clusters {
			names = append(names, cluster.Namespace+"/"+cluster.Name)
		}
		return names, nil
	})
}

// oneFolder completes a PATH that is a folder.
func oneFolder(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// choices are the values of flags that take one of a few words, by flag; the same
// words in every verb that has the flag, unless "verb flag" says otherwise.
var choices = map[string][]string{
	"check fail-on":  {"unknown"},
	"diff output":    {"text", "markdown", "json", "sarif"},
	"render output":  {"yaml", "json"},
	"adopt output":   {"text", "json"},
	"import output":  {"yaml", "json"},
	"status output":  {"yaml", "json"},
	"list output":    {"json"},
	"color":          {"auto", "always", "never"},
	"fail-on":        {"operation", "restart", "refused", "deletion", "unknown"},
	"cloud-provider": {"aws", "azure", "gcp"},
	"connect":        {"pod", "port-forward"},
	"log-format":     {"text", "json"},
	"on-rewrite":     {"hold", "follow"},
	"adoption":       {"never", "if-unowned", "always"},
	"platform":       {"github", "gitlab", "gitea"},
}

// folders are flags that name one.
var folders = []string{"dir", "git-mirror", "out"}

// completeChoices gives a verb's flags what is known of them.
func completeChoices(cmd *cobra.Command) {
	for name, words := range choices {
		verb, flag := cmd.Name(), name
		if before, after, ofVerb := strings.Cut(name, " "); ofVerb {
			if before != verb {
				continue
			}
			flag = after
		}
		complete(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, flag := range folders {
		complete(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		})
	}
}

// complete completes a flag, if the verb has it.
func complete(cmd *cobra.Command, flag string, by completer) {
	if cmd.Flags().Lookup(flag) == nil {
		return
	}
	// An error would say that it is registered twice, which a test would find.
	_ = cmd.RegisterFlagCompletionFunc(flag, by)
}
