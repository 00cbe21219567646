package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
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
	config            string
	url, ref, path    string
	onRewrite         string
	interval          time.Duration
	credentialsFile   string
	credentialsSecret string
	caFile            string
	knownHosts        string
	mirror            string
	timeout           time.Duration
	maxBytes          int64
	dir               string
	quiet             time.Duration
	statuses          commitStatusFlags
}

func (s *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.config, "config", "", "file that names several sources, - for standard input; other flags say what it leaves out")
	flags.StringVar(&s.url, "git", "", "URL of a Git repository, https://, ssh:// or file://, without credentials")
	flags.StringVar(&s.ref, "ref", "", "branch, tag, commit or 'semver:>=1.2.0 <2' (default: the repository's own default branch)")
	flags.StringVar(&s.onRewrite, "on-rewrite", string(git.HoldRewrite), "when a reference's history was rewritten: hold (stay with the last good commit and say so) or follow")
	flags.StringVar(&s.path, "path", "", "folder inside of the repository")
	flags.DurationVar(&s.interval, "interval", time.Minute, "time between two looks at the repository")
	flags.StringVar(&s.credentialsFile, "git-credentials-file", "", "file with a token, user:password or a private key, or folder with the keys of such a Secret as files")
	flags.StringVar(&s.credentialsSecret, "git-credentials-secret", "", "Secret with the keys token, or username and password, or identity and known_hosts, or tls.crt and tls.key; in "+names.DaemonNamespace+" or as NAMESPACE/NAME")
	flags.StringVar(&s.knownHosts, "known-hosts", "", "known_hosts file with the keys of ssh hosts; ssh:// wants it, or the key known_hosts in the Secret")
	flags.StringVar(&s.caFile, "git-ca-file", "", "PEM certificates to trust besides the system's")
	flags.StringVar(&s.mirror, "git-mirror", "", "folder that keeps what was fetched between starts (default: a temporary one)")
	flags.DurationVar(&s.timeout, "git-timeout", 5*time.Minute, "end of a look at the repository, its fetch included")
	flags.Int64Var(&s.maxBytes, "git-max-bytes", 512<<20, "most bytes that one fetch may transfer")
	flags.StringVar(&s.dir, "dir", "", "watch this directory instead of a repository")
	flags.DurationVar(&s.quiet, "dir-quiet", 500*time.Millisecond, "how long the directory must not have changed before it is taken")
}

// openAll makes the sources of the command line or of the file that it names.
// The caller closes them.
func (s *sourceFlags) openAll(cfg *rest.Config, stdin io.Reader, log *slog.Logger) (all []daemon.Source, err error) {
	if s.config == "" {
		source, err := s.open(cfg, log)
		if err != nil {
			return nil, err
		}
		return []daemon.Source{source}, nil
	}
	if s.url != "" || s.dir != "" || s.ref != "" || s.path != "" {
		return nil, errors.New("--config names the sources: --git, --ref, --path and --dir belong into it")
	}
	entries, err := readSources(s.config, stdin, *s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, source := range all {
				_ = source.Close()
			}
			all = nil
		}
	}()
	identities := map[string]string{} // by name
	for _, entry := range entries {
		source, err := entry.open(cfg, log)
		if err != nil {
			return all, fmt.Errorf("%s:%d: source %s: %w", s.config, entry.line, entry.name, err)
		}
		source.CommitStatus.Name = entry.name
		all = append(all, source)
		for name, identity := range identities {
			if identity == source.Identity() {
				return all, fmt.Errorf("%s:%d: source %s is %s, and so is %s: a cluster has one owner", s.config, entry.line, entry.name, identity, name)
			}
		}
		identities[entry.name] = source.Identity()
	}
	for i, entry := range entries {
		for _, name := range entry.dependsOn {
			all[i].DependsOn = append(all[i].DependsOn, identities[name])
		}
	}
	return all, nil
}

// open makes one source; the caller closes it.
func (s *sourceFlags) open(cfg *rest.Config, log *slog.Logger) (daemon.Source, error) {
	switch {
	case s.url != "" && s.dir != "":
		return daemon.Source{}, errors.New("--git and --dir are both given: choose one")
	case s.url == "" && s.dir == "":
		return daemon.Source{}, errors.New("no source: give --git URL, --dir DIR or --config FILE")
	}
	statuses, err := s.statuses.open(s.url, cfg)
	if err != nil {
		return daemon.Source{}, err
	}
	if s.dir != "" {
		// At the start a folder that is not there is mistyped. One that vanishes later comes back.
		switch info, err := os.Stat(s.dir); {
		case errors.Is(err, fs.ErrNotExist):
			return daemon.Source{}, fmt.Errorf("--dir %s: there is no such directory: create it, or correct --dir%s", s.dir, folderInstead(s.dir))
		case err == nil && !info.IsDir():
			return daemon.Source{}, fmt.Errorf("--dir %s: it is no directory: name the folder that the definitions are in", s.dir)
		}
		source, err := directory.New(directory.Options{Dir: s.dir, Quiet: s.quiet, Log: log})
		if err != nil {
			return daemon.Source{}, err
		}
		// A directory tells of its changes; the interval is only a fallback.
		return daemon.Source{Source: source, Interval: s.interval, CommitStatus: statuses}, nil
	}
	credentials, err := s.credentials(cfg)
	if err != nil {
		return daemon.Source{}, err
	}
	source, err := git.New(git.Options{
		URL: s.url, Ref: s.ref, OnRewrite: git.OnRewrite(s.onRewrite), Path: s.path, Mirror: s.mirror, Credentials: credentials, CAFile: s.caFile, KnownHostsFile: s.knownHosts,
		Timeout: s.timeout, MaxBytes: s.maxBytes, Log: log,
	})
	if err != nil {
		return daemon.Source{}, err
	}
	return daemon.Source{Source: source, Interval: s.interval, CommitStatus: statuses}, nil
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
	read, err := secretReader(cfg, s.credentialsSecret)
	if err != nil {
		return nil, err
	}
	return git.CredentialsFunc(func(ctx context.Context) (git.Login, error) {
		data, err := read(ctx)
		if err != nil {
			return git.Login{}, err
		}
		return git.LoginFromSecret(data)
	}), nil
}

// secretReader reads the Secret NAME in the daemon's namespace, or
// NAMESPACE/NAME, each time.
func secretReader(cfg *rest.Config, where string) (func(context.Context) (map[string][]byte, error), error) {
	namespace, name := names.DaemonNamespace, where
	if before, after, found := cut(where); found {
		namespace, name = before, after
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for Secret %s/%s: %w", namespace, name, err)
	}
	return func(ctx context.Context) (map[string][]byte, error) {
		secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
		}
		return secret.Data, nil
	}, nil
}
