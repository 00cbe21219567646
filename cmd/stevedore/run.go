package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

func newRun() *cobra.Command {
	var (
		kube          kubeFlags
		source        sourceFlags
		pushes        receiverFlags
		rendering     renderFlags
		namespaces    []string
		connect       string
		databaseCA    string
		listen        string
		once          bool
		look          time.Duration
		logFormat     string
		verbose       bool
		lease         daemon.LeaseOptions
		policy        model.Policy
		parallelWrite int
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep clusters as a repository or a directory says",
		Long: `run follows a source, or several (--config), and keeps their clusters as they say,
until it is told to stop. Several may run: the one that holds the Lease acts.

Webhooks are configured by WEBHOOK_URL, WEBHOOK_USERNAME, WEBHOOK_PASSWORD and
WEBHOOK_SECRET, or files with them (WEBHOOK_URL_FILE, …), with or without the
prefix CRATEDB_OPERATOR_. Channels that get the reports too are configured in the
same way: ` + reports.Help() + `.`,
		Example: `  stevedore run --git https://git.example.com/team/clusters --git-credentials-secret stevedore-git
  stevedore run --dir ./clusters --once`,
		Args: takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			heap := newCollector()
			log, err := newLog(cmd.ErrOrStderr(), logFormat, verbose)
			if err != nil {
				return err
			}
			logOfClient(log)
			if policy.MaxDisruptedClusters < 1 {
				return errors.New("--max-disrupted-clusters must be at least 1")
			}
			if policy.MaxRemoved < 1 {
				return errors.New("--max-removed must be at least 1; no cluster is deleted whose definition did not consent to it")
			}
			if !slices.Contains([]string{lifecycle.AdoptNever, lifecycle.AdoptUnowned, lifecycle.AdoptAlways}, policy.Adoption) {
				return fmt.Errorf("--adoption %q is not known: write never, if-unowned or always", policy.Adoption)
			}
			config, err := rendering.config()
			if err != nil {
				return err
			}
			if rendering.untrusted {
				// Better now than at the first commit.
				child, err := rendering.renderer(cmd.Context())
				if err != nil {
					return err
				}
				_ = child.Close()
			}
			if connect != string(daemon.ConnectPod) && connect != string(daemon.ConnectPortForward) {
				return fmt.Errorf("--connect %q is not known: write pod or port-forward", connect)
			}
			roots, err := readRoots(databaseCA)
			if err != nil {
				return err
			}
			targets, err := reports.ConfigsFromEnv(os.LookupEnv, os.ReadFile)
			if err != nil {
				return err
			}
			cfg, _, err := kube.config()
			if err != nil {
				return err
			}
			followed, err := source.openAll(cfg, cmd.InOrStdin(), log)
			if err != nil {
				return err
			}
			var identities []string
			for _, one := range followed {
				identities = append(identities, one.Identity())
				defer func() {
					if err := one.Close(); err != nil {
						log.Warn("source cannot be closed", "source", one.Identity(), "error", err)
					}
				}()
			}
			received, err := pushes.options(cfg)
			if err != nil {
				return err
			}
			if lease.Identity == "" {
				lease.Identity = identity()
			}
			log.Info("stevedore starts", "version", version, "sources", strings.Join(identities, " "), "connect", connect)
			defer log.Info("stevedore stops; it holds no Lease any more")
			return daemon.Run(cmd.Context(), daemon.Options{
				Sources: followed, REST: cfg, Namespaces: namespaces, Render: config, Renderer: rendering.confined(config),
				Policy: policy, Connect: daemon.Connect(connect), DatabaseCA: roots, Lease: lease, Listen: listen, Receiver: received,
				Once: once, Interval: look, MaxConcurrentWrites: parallelWrite, Newcomers: heap.hear, Version: version, Log: log,
			}, targets)
		},
	}
	kube.add(cmd, false)
	source.add(cmd)
	source.statuses.add(cmd)
	pushes.add(cmd)
	rendering.add(cmd)
	cmd.Flags().BoolVar(&rendering.untrusted, "untrusted", false, "render each snapshot and each cluster in a process that can open no file and no socket")
	flags := cmd.Flags()
	flags.StringSliceVarP(&namespaces, "namespace", "n", nil, "namespaces to watch from the start, besides those of definitions: there a cluster without a definition is noticed")
	flags.StringVar(&connect, "connect", defaultConnect(), "how databases are reached: pod (by the pod's address) or port-forward (through the API server)")
	flags.StringVar(&databaseCA, "database-ca-file", "", "PEM certificates that the databases' certificates are verified against")
	flags.StringVar(&listen, "listen", ":8080", "address of /metrics, /healthz and /readyz; empty: none")
	flags.BoolVar(&once, "once", false, "end when each cluster is as its definition says, or cannot get there by itself (exit code 1)")
	flags.DurationVar(&look, "look-interval", 8*time.Second, "time between two looks at a cluster where nothing happens; what only the database shows is seen this late")
	flags.StringVar(&logFormat, "log-format", "text", "text or json")
	flags.BoolVarP(&verbose, "verbose", "v", false, "log more")
	flags.StringVar(&lease.Namespace, "lease-namespace", names.DaemonNamespace, "namespace of the Lease")
	flags.StringVar(&lease.Name, "lease-name", names.FieldManager, "name of the Lease")
	flags.StringVar(&lease.Identity, "lease-identity", "", "who holds it (default: host name and process)")
	flags.DurationVar(&lease.Duration, "lease-duration", 15*time.Second, "how long a Lease lasts that is not renewed")
	flags.IntVar(&policy.MaxDisruptedClusters, "max-disrupted-clusters", 1, "clusters that one commit may disrupt at the same time")
	flags.IntVar(&policy.MaxRemoved, "max-removed", lifecycle.DefaultMaxRemoved, "clusters of a source that may be gone at the same time and still be deleted, by their consent delete-cluster")
	flags.StringVar(&policy.Adoption, "adoption", lifecycle.AdoptUnowned, "which objects that exist and that others made become a cluster's: never, if-unowned or always (a definition's own wins)")
	flags.IntVar(&parallelWrite, "max-concurrent-writes", 16, "clusters that write to the API server at the same time")
	flags.DurationVar(&policy.BootstrapTimeout, "bootstrap-timeout", 0, "when a bootstrap is reported as failed; it goes on (default 30m, a definition's own wins)")
	for _, wait := range []struct {
		name  string
		value *time.Duration
		usage string
	}{
		{"restart-timeout", &policy.RestartTimeout, "when a rolling restart is reported as failed; it goes on (default 1h, a definition's own wins)"},
		{"pod-timeout", &policy.PodTimeout, "how long the first pod on a new template may take to join before the template goes back (default 15m, never more than the restart's timeout)"},
		{"stable-for", &policy.StableFor, "how long the cluster has to be green with the same nodes before the next step (default 1m, or 5s in which no node reports a change of the cluster state; a definition's own wins)"},
		{"master-stable-for", &policy.MasterStableFor, "how long the master has to be the same before an operation begins (default 2m, or 30s in which no node reports a change of the cluster state; a definition's own wins)"},
		{"budget-timeout", &policy.BudgetTimeout, "how long the disruption budget of data nodes may stand at 0 before an event says so (default 30m, a definition's own wins)"},
		{"removal-delay", &policy.RemovalDelay, "how long a definition that consented to delete-cluster has to be gone before its cluster is deleted (default 5m)"},
		{"offline-after", &policy.OfflineAfter, "how long a file system may not follow its volume before the volume's driver counts as one that works offline (default 5m)"},
		{"reading-age", &policy.ReadingAge, "how old a reading of the database may be for a step that takes a node down (default 2m)"},
	} {
		flags.DurationVar(wait.value, wait.name, 0, wait.usage)
	}
	flags.DurationVar(&policy.ScaleTimeout, "scale-timeout", 0, "when a grow is reported as failed; it goes on (default 1h, a definition's own wins)")
	return cmd
}

// defaultConnect: inside of a cluster the pods' addresses can be reached.
func defaultConnect() string {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return string(daemon.ConnectPod)
	}
	return string(daemon.ConnectPortForward)
}

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%d", host, os.Getpid(), time.Now().UnixNano()%1_000_000)
}

func newLog(out io.Writer, format string, verbose bool) (*slog.Logger, error) {
	options := &slog.HandlerOptions{}
	if verbose {
		options.Level = slog.LevelDebug
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(out, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return nil, fmt.Errorf("--log-format %q is not known: write text or json", format)
}

func readRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading --database-ca-file: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading --database-ca-file %s: it has no PEM certificate", file)
	}
	return roots, nil
}
