package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/sources/git"
)

// commitStatusFlags say where commit statuses go.
type commitStatusFlags struct {
	platform    string
	url         string
	repository  string
	tokenFile   string
	tokenSecret string
	context     string
	target      string
}

func (c *commitStatusFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.platform, "commit-status", "", "post commit statuses to the repository's server: github, gitlab, gitea or auto (default: none)")
	flags.StringVar(&c.url, "commit-status-url", "", "base of its API (default: from --git, such as https://HOST/api/v4)")
	flags.StringVar(&c.repository, "commit-status-repository", "", "OWNER/NAME there (default: from --git)")
	flags.StringVar(&c.tokenFile, "commit-status-token-file", "", "file with a token that may write commit statuses, or folder with the file token")
	flags.StringVar(&c.tokenSecret, "commit-status-token-secret", "", "Secret with the key token, in "+names.DaemonNamespace+" or as NAMESPACE/NAME")
	flags.StringVar(&c.context, "commit-status-context", "stevedore", "what statuses are called: this for a source, and with /NAMESPACE/NAME after it for a cluster")
	flags.StringVar(&c.target, "commit-status-target-url", "", "link of each status; {namespace} and {cluster} in it are replaced")
}

// statusKeys are what commitStatus of an entry may say.
var statusKeys = map[string]func(*commitStatusFlags) *string{
	"platform":    func(c *commitStatusFlags) *string { return &c.platform },
	"url":         func(c *commitStatusFlags) *string { return &c.url },
	"repository":  func(c *commitStatusFlags) *string { return &c.repository },
	"tokenFile":   func(c *commitStatusFlags) *string { c.tokenSecret = ""; return &c.tokenFile },
	"tokenSecret": func(c *commitStatusFlags) *string { c.tokenFile = ""; return &c.tokenSecret },
	"context":     func(c *commitStatusFlags) *string { return &c.context },
	"targetURL":   func(c *commitStatusFlags) *string { return &c.target },
}

// read takes what an entry of a file of sources says over what the command line
// says; the platform none turns statuses off.
func (c *commitStatusFlags) read(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("it is a map, with a platform")
	}
	var problems []error
	pairs(n, func(key, value *yaml.Node) {
		if field, known := statusKeys[key.Value]; !known {
			problems = append(problems, fmt.Errorf("it has no %s", key.Value))
		} else if err := value.Decode(field(c)); err != nil {
			problems = append(problems, fmt.Errorf("%s: %s", key.Value, plainYAML(err)))
		}
	})
	if c.platform == "none" {
		*c = commitStatusFlags{}
	}
	return errors.Join(problems...)
}

// open makes the client; the zero value where no platform is named. Remote is
// --git.
func (c *commitStatusFlags) open(remote string, cfg *rest.Config) (daemon.CommitStatus, error) {
	none := daemon.CommitStatus{}
	if c.platform == "" {
		if c.url != "" || c.repository != "" || c.tokenFile != "" || c.tokenSecret != "" || c.target != "" {
			return none, errors.New("--commit-status-… is given without --commit-status: write which API it is, github, gitlab, gitea or auto")
		}
		return none, nil
	}
	if remote == "" {
		return none, errors.New("--commit-status goes with --git: a directory has no commits")
	}
	location, err := c.locate(remote)
	if err != nil {
		return none, fmt.Errorf("--commit-status: %w", err)
	}
	token, err := c.token(cfg)
	if err != nil {
		return none, err
	}
	if c.target != "" && !strings.HasPrefix(c.target, "https://") && !strings.HasPrefix(c.target, "http://") {
		return none, errors.New("--commit-status-target-url is no http or https URL")
	}
	client, err := forge.New(forge.Config{
		Platform: location.Platform, API: location.API, Repository: location.Repository, Token: token, Version: version,
	})
	if err != nil {
		return none, fmt.Errorf("--commit-status: %w", err)
	}
	return daemon.CommitStatus{Poster: client, Context: c.context, TargetURL: c.target}, nil
}

// locate asks --git only for what is not given.
func (c *commitStatusFlags) locate(remote string) (forge.Location, error) {
	if c.platform != "auto" && c.url != "" && c.repository != "" {
		return forge.Location{Platform: forge.Platform(c.platform), API: c.url, Repository: c.repository}, nil
	}
	location, err := forge.Locate(c.platform, remote)
	if err != nil {
		return location, fmt.Errorf("%w (--commit-status-url and --commit-status-repository say it apart from --git)", err)
	}
	if c.url != "" {
		location.API = c.url
	}
	if c.repository != "" {
		location.Repository = c.repository
	}
	return location, nil
}

func (c *commitStatusFlags) token(cfg *rest.Config) (forge.Token, error) {
	switch {
	case c.tokenFile != "" && c.tokenSecret != "":
		return nil, errors.New("--commit-status-token-file and --commit-status-token-secret are both given: choose one")
	case c.tokenFile != "":
		return tokenFromFile(c.tokenFile), nil
	case c.tokenSecret == "":
		return nil, errors.New("--commit-status needs a token: give --commit-status-token-file or --commit-status-token-secret")
	}
	namespace, name := names.DaemonNamespace, c.tokenSecret
	if before, after, found := cut(c.tokenSecret); found {
		namespace, name = before, after
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for --commit-status-token-secret: %w", err)
	}
	return func(ctx context.Context) (string, error) {
		secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
		}
		login, err := git.LoginFromSecret(secret.Data)
		return login.Password, err
	}, nil
}

// tokenFromFile reads it each time, as credentials for Git are read.
func tokenFromFile(file string) forge.Token {
	credentials := git.CredentialsFromFile(file)
	return func(ctx context.Context) (string, error) {
		login, err := credentials.Login(ctx)
		return login.Password, err
	}
}
