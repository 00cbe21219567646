package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/check"
	"stevedore.dev/stevedore/internal/plaintext"
	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

// exitProblem: check has found what would go wrong.
const exitProblem = 2

func newCheck() *cobra.Command {
	var (
		kube      kubeFlags
		rendering renderFlags
		filter    string
		output    string
		failOn    string
	)
	cmd := &cobra.Command{
		Use:   "check [PATH]",
		Short: "Say before the first push whether this Kubernetes cluster takes what a folder makes",
		Long: `check looks at the Kubernetes cluster of the kubeconfig: its version, your rights and
the daemon's, storage classes, Pod Security, Nodes, quotas, DNS names, what others have
there, and whether the receiver of webhooks that WEBHOOK_URL names can be reached. With
PATH it looks for the clusters that are defined there. One line each: ok, unknown (what
you may not read, for one) or problem, with what to do.

It changes nothing and sends nothing to the receiver. Where no API server answers, it
says so and checks what needs none.`,
		Example: `  stevedore check clusters/
  stevedore check clusters/ --cluster prod/orders -o json`,
		Args: takesAtMostOne("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("--output %q is not known: write text or json", output)
			}
			if failOn != "" && failOn != string(check.Unknown) {
				return fmt.Errorf("--fail-on %q is not known: write unknown; a problem fails anyway", failOn)
			}
			var found []check.Finding
			var clusters []check.Cluster
			if len(args) > 0 {
				var err error
				if clusters, found, err = definedIn(cmd, &rendering, args[0], filter); err != nil {
					return err
				}
			}
			more, err := checked(cmd, &kube, clusters)
			if err != nil {
				return err
			}
			found = append(found, more...)
			err = printFindings(cmd, found, output)
			if unknown := func(f check.Finding) bool { return f.State == check.Unknown }; err == nil && failOn != "" && slices.ContainsFunc(found, unknown) {
				return exitCode(planprint.ExitFailOn)
			}
			return err
		},
	}
	kube.add(cmd, true)
	rendering.add(cmd)
	rendering.addTrust(cmd)
	flags := cmd.Flags()
	flags.StringVar(&filter, "cluster", "", "only this one: NAME or NAMESPACE/NAME")
	flags.StringVarP(&output, "output", "o", "text", "text or json")
	flags.StringVar(&failOn, "fail-on", "", "unknown: exit code 3 where something is unknown and nothing is a problem")
	complete(cmd, "cluster", rendering.inFolder)
	cmd.ValidArgsFunction = oneFolder
	return cmd
}

// definedIn are the clusters of a folder; its problems are printed, and are a finding.
func definedIn(cmd *cobra.Command, rendering *renderFlags, path, filter string) ([]check.Cluster, []check.Finding, error) {
	renderer, err := rendering.renderer(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = renderer.Close() }()
	rendered, good, err := renderPath(cmd, renderer, path, filter, noPins)
	if err != nil {
		return nil, nil, err
	}
	finding := check.Finding{State: check.OK, Check: "definitions", Subject: path, Message: fmt.Sprintf("%d cluster(s) are defined, and nothing is wrong with them", len(rendered))}
	if !good {
		finding.State, finding.Message, finding.Do = check.Problem, "something is wrong with the definitions: it is printed to standard error", "correct it, and look with: stevedore validate "+path
	}
	var clusters []check.Cluster
	for _, one := range rendered {
		var users []model.User
		for _, user := range one.cluster.Definition.Spec.Users {
			users = append(users, model.User{Name: user.Name, Secret: model.SecretKey(user.Password)})
		}
		cluster, err := checkedCluster(one)
		if err != nil {
			return nil, nil, err
		}
		cluster.Users = users
		cluster.Version = one.cluster.Definition.Spec.Cluster.Version
		if backups := one.cluster.Definition.Spec.Backups; backups != nil {
			for _, secret := range backups.Repository.Secrets {
				cluster.Repository = append(cluster.Repository, model.SecretKey(secret.Ref))
			}
		}
		clusters = append(clusters, cluster)
	}
	return clusters, []check.Finding{finding}, nil
}

// checked asks the API server, where there is one.
func checked(cmd *cobra.Command, kube *kubeFlags, clusters []check.Cluster) ([]check.Finding, error) {
	offline := func(why error) []check.Finding {
		return append([]check.Finding{{
			State: check.Unknown, Check: "kubernetes", Subject: "API server", Message: fmt.Sprintf("no cluster is looked at: %v", why),
			Do: "name one with --kubeconfig or --context",
		}}, check.Offline(clusters)...)
	}
	cfg, namespace, err := kube.config()
	if err != nil {
		if kube.kubeconfig != "" || kube.context != "" || os.Getenv("KUBECONFIG") != "" {
			return nil, err // one was named
		}
		return offline(err), nil
	}
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for the API server: %w", err)
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		if _, unreachable := errors.AsType[*net.OpError](err); unreachable {
			return offline(err), nil
		}
	}
	receivers, err := receivers()
	if err != nil {
		return nil, err
	}
	options := check.Options{REST: cfg, Client: client, Clusters: clusters, Receivers: receivers}
	if kube.namespace != "" || len(clusters) == 0 {
		options.Namespaces = []string{namespace}
	}
	return check.Run(cmd.Context(), options), nil
}

// receivers are where the receivers of reports are that the environment names.
func receivers() ([]reports.Address, error) {
	configs, err := reports.ConfigsFromEnv(os.LookupEnv, os.ReadFile)
	if err != nil {
		return nil, err
	}
	var out []reports.Address
	for _, config := range configs {
		address, err := config.Address()
		if err != nil {
			return nil, err
		}
		out = append(out, address)
	}
	return out, nil
}

func printFindings(cmd *cobra.Command, found []check.Finding, output string) error {
	count := map[check.State]int{}
	for _, one := range found {
		count[one.State]++
	}
	out := cmd.OutOrStdout()
	if output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(found); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	} else {
		for _, one := range found {
			line := fmt.Sprintf("%-8s %-16s %s: %s", one.State, one.Check, one.Subject, one.Message)
			if one.Do != "" {
				line += " → " + one.Do
			}
			// What the API server says may have anything in it.
			if _, err := fmt.Fprintln(out, plaintext.Text(strings.ReplaceAll(line, "\n", " "))); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
		if _, err := fmt.Fprintf(out, "%d ok, %d unknown, %d problem(s)\n", count[check.OK], count[check.Unknown], count[check.Problem]); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	if count[check.Problem] > 0 {
		return exitCode(exitProblem)
	}
	return nil
}

// takesAtMostOne is for verbs whose argument may be left out.
func takesAtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return takesOne(what)(cmd, args)
		}
		return nil
	}
}
