package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/sandbox"
)

func newSandbox() *cobra.Command {
	var (
		options    sandbox.Options
		namespaces []string
		verbose    bool
	)
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run a real Kubernetes control plane with simulated CrateDB nodes on this machine",
		Long: `sandbox starts etcd, an API server, the controller manager and the scheduler,
and runs CrateDB pods as processes on loopback addresses, until it is told to
stop (Ctrl-C); then nothing of it is left. No Docker and no root are needed.

With --cratedb-home (or CRATEDB_HOME), an unpacked release or a folder with one
for each version, pods run the real CrateDB.`,
		Example: `  stevedore sandbox
  CRATEDB_HOME=/path/to/crate-6.4.3 stevedore sandbox --dir ./sandbox`,
		Args: takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLog(cmd.ErrOrStderr(), "text", verbose)
			if err != nil {
				return err
			}
			if verbose {
				options.Log = log
			}
			out := cmd.OutOrStdout()
			options.Progress = func(line string) { fmt.Fprintln(out, line) }
			box, err := sandbox.Start(cmd.Context(), options)
			if err != nil {
				return err
			}
			if err := makeNamespaces(cmd.Context(), box, namespaces); err != nil {
				ctx, cancel := stopContext(time.Minute)
				defer cancel()
				return errors.Join(err, box.Stop(ctx))
			}
			fmt.Fprintf(out, "\nthe sandbox is up, with the namespaces %s; in another terminal:\n\n  export KUBECONFIG=%s\n  %s run --connect pod --dir YOUR_FOLDER\n\nCtrl-C ends it and removes everything\n", strings.Join(namespaces, ", "), box.Kubeconfig(), programAsCalled(os.Args))
			select {
			case <-cmd.Context().Done():
			case <-box.Done():
			}
			ctx, cancel := stopContext(time.Minute)
			defer cancel()
			failed := box.Err()
			fmt.Fprintln(out, "\nthe sandbox is being stopped")
			if err := box.Stop(ctx); err != nil {
				return fmt.Errorf("stopping the sandbox: %w", err)
			}
			if failed == nil {
				fmt.Fprintln(out, "the sandbox has ended, and what it made is removed")
			}
			return failed
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Dir, "dir", "", "folder for its data (default: a temporary one)")
	flags.StringVar(&options.ControlPlane, "controlplane", "", "the stevedore-controlplane binary (default: STEVEDORE_CONTROLPLANE, or beside this one)")
	flags.StringVar(&options.CrateDBHome, "cratedb-home", os.Getenv("CRATEDB_HOME"), "a real CrateDB release, or a folder with one for each version (default: CRATEDB_HOME, else simulated)")
	flags.StringSliceVar(&namespaces, "namespaces", []string{names.DaemonNamespace, "cratedb"}, "namespaces to make: the daemon's, for its Lease, and those of clusters")
	flags.IntVar(&options.Nodes, "nodes", 12, "Node objects, in three zones")
	flags.BoolVarP(&verbose, "verbose", "v", false, "log what goes on inside")
	cmd.AddCommand(&cobra.Command{
		Use:                "cratedb-node",
		Short:              "One simulated CrateDB node; the sandbox starts these",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := cratesim.NodeMain(args); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	})
	return cmd
}

// programAsCalled is how to call this program again: it need not be where the shell looks.
func programAsCalled(args []string) string {
	if len(args) == 0 || args[0] == "" {
		return "stevedore"
	}
	return args[0]
}

// makeNamespaces spares a first look the need of kubectl.
func makeNamespaces(ctx context.Context, box *sandbox.Sandbox, namespaces []string) error {
	client, err := kubernetes.NewForConfig(box.RESTConfig())
	if err != nil {
		return fmt.Errorf("making the client for the sandbox: %w", err)
	}
	for _, name := range namespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making namespace %s in the sandbox: %w", name, err)
		}
	}
	return nil
}
