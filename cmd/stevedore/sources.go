package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/sources/directory"
	"stevedore.dev/stevedore/sources/git"
)

// sourceFlags say where definitions come from.
type sourceFlags struct {
	url, ref, path    string
	interval          time.Duration
	credentialsFile   string
	credentialsSecret string
	caFile            string
	mirror            string
	timeout           time.Duration
	maxBytes          int64
	dir               string
	quiet             time.Duration
}

func (s *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.url, "git", "", "URL of a Git repository, https:// or file://, without credentials")
	flags.StringVar(&s.ref, "ref", "", "branch, tag or commit (default: the repository's own default branch)")
	flags.StringVar(&s.path, "path", "", "folder inside of the repository")
	flags.DurationVar(&s.interval, "interval", time.Minute, "time between two looks at the repository")
	flags.StringVar(&s.credentialsFile, "git-credentials-file", "", "file with a token or user:password, or folder with the files token, or username and password")
	flags.StringVar(&s.credentialsSecret, "git-credentials-secret", "", "Secret with the keys token, or username and password, in "+names.DaemonNamespace+" or as NAMESPACE/NAME")
	flags.StringVar(&s.caFile, "git-ca-file", "", "PEM certificates to trust besides the system's")
	flags.StringVar(&s.mirror, "git-mirror", "", "folder that keeps what was fetched between starts (default: a temporary one)")
	flags.DurationVar(&s.timeout, "git-timeout", 5*time.Minute, "end of a look at the repository, its fetch included")
	flags.Int64Var(&s.maxBytes, "git-max-bytes", 512<<20, "most bytes that one fetch may transfer")
	flags.StringVar(&s.dir, "dir", "", "watch this directory instead of a repository")
	flags.DurationVar(&s.quiet, "dir-quiet", 500*time.Millisecond, "how long the directory must not have changed before it is taken")
}

// open makes the source; the caller closes it.
func (s *sourceFlags) open(cfg *rest.Config, log *slog.Logger) (daemon.Source, error) {
	switch {
	case s.url != "" && s.dir != "":
		return daemon.Source{}, errors.New("--git and --dir are both given: choose one")
	case s.url == "" && s.dir == "":
		return daemon.Source{}, errors.New("no source: give --git URL or --dir DIR")
	case s.dir != "":
		source, err := directory.New(directory.Options{Dir: s.dir, Quiet: s.quiet, Log: log})
		if err != nil {
			return daemon.Source{}, err
		}
		// A directory tells of its changes; the interval is only a fallback.
		return daemon.Source{Source: source, Interval: s.interval}, nil
	}
	credentials, err := s.credentials(cfg)
	if err != nil {
		return daemon.Source{}, err
	}
	source, err := git.New(git.Options{
		URL: s.url, Ref: s.ref, Path: s.path, Mirror: s.mirror, Credentials: credentials, CAFile: s.caFile,
		Timeout: s.timeout, MaxBytes: s.maxBytes, Log: log,
	})
	if err != nil {
		return daemon.Source{}, err
	}
	return daemon.Source{Source: source, Interval: s.interval}, nil
}

func (s *sourceFlags) credentials(cfg *rest.Config) (git.Credentials, error) {
	switch {
	case s.credentialsFile != "" && s.credentialsSecret != "":
		return nil, errors.New("--git-credentials-file and --git-credentials-secret are both given: choose one")
	case s.credentialsFile != "":
		return git.CredentialsFromFile(s.credentialsFile), nil
	case s.credentialsSecret == "":
		return nil, nil
	}
	namespace, name := names.DaemonNamespace, s.credentialsSecret
	if before, after, found := cut(s.credentialsSecret); found {
		namespace, name = before, after
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for --git-credentials-secret: %w", err)
	}
	return git.CredentialsFunc(func(ctx context.Context) (git.Login, error) {
		secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return git.Login{}, fmt.Errorf("reading Secret %s/%s for Git: %w", namespace, name, err)
		}
		return git.LoginFromSecret(secret.Data)
	}), nil
}
