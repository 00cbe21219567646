// Package forge talks to the servers that host Git repositories: GitHub, GitLab
// and Gitea (Forgejo too). It posts commit statuses and keeps one comment in a
// pull request. It decides nothing, and shows its token to that server only.
package forge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// Platform is which API a server speaks.
type Platform string

const (
	GitHub Platform = "github"
	GitLab Platform = "gitlab"
	// Gitea is the API of Forgejo too.
	Gitea Platform = "gitea"
)

// Token gives the token of the moment. It is asked before each request, so that
// one that is replaced is taken up.
type Token func(ctx context.Context) (string, error)

// Config says which repository, where, and as whom. All but Timeout, Pace and
// Version are required; Locate makes the first three of a remote's URL.
type Config struct {
	Platform Platform
	// API is the base of the API's addresses: https://api.github.com,
	// https://HOST/api/v3 (GitHub Enterprise), /api/v4 (GitLab), /api/v1 (Gitea).
	// http is for loopback hosts only.
	API string
	// Repository is OWNER/NAME, with GitLab's subgroups before the name; GitLab
	// takes a project's number too.
	Repository string
	Token      Token
	// Timeout of one request, connecting included; 0 means 10 s.
	Timeout time.Duration
	// Pace is the least time between two writes; 0 means what the platform asks
	// for (GitHub: a second), a negative one none.
	Pace time.Duration
	// Version goes into the User-Agent.
	Version string
}

// Location is where a repository is.
type Location struct {
	Platform   Platform
	API        string
	Repository string
}

// Locate finds the API of the server that a remote's URL names: https://,
// ssh:// or HOST:PATH as Git writes it. A platform of "auto" is guessed by the
// host's name, which works for the public servers and for hosts that are called
// after what they run.
func Locate(platform, remote string) (Location, error) {
	scheme, host, folder, err := splitRemote(remote)
	if err != nil {
		return Location{}, err
	}
	found := Location{Platform: Platform(platform), Repository: folder}
	if platform == "auto" {
		if found.Platform = guess(host); found.Platform == "" {
			return Location{}, fmt.Errorf("which API %s speaks cannot be told by its name: write github, gitlab or gitea instead of auto", host)
		}
	}
	server := scheme + "://" + host
	switch found.Platform {
	case GitHub:
		found.API = server + "/api/v3"
		if host == "github.com" {
			found.API = "https://api.github.com"
		}
	case GitLab:
		found.API = server + "/api/v4"
	case Gitea:
		// It may stand in a folder of its host; a repository is always two levels.
		above := path.Dir(path.Dir(folder))
		if above != "." {
			server += "/" + above
			found.Repository = strings.TrimPrefix(folder, above+"/")
		}
		found.API = server + "/api/v1"
	default:
		return Location{}, fmt.Errorf("the platform %q is not known: write github, gitlab, gitea or auto", platform)
	}
	return found, found.check()
}

func (l Location) check() error {
	if GitLab == l.Platform && regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(l.Repository) {
		return nil
	}
	parts := strings.Split(l.Repository, "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("the repository %q is not OWNER/NAME", l.Repository)
		}
	}
	if len(parts) < 2 || len(parts) > 2 && l.Platform != GitLab {
		return fmt.Errorf("the repository %q is not OWNER/NAME", l.Repository)
	}
	return nil
}

var scpLike = regexp.MustCompile(`^(?:[^/@:]+@)?([^/:@]+):([^/].*)$`)

func splitRemote(remote string) (scheme, host, folder string, err error) {
	clean := func(folder string) string { return strings.TrimSuffix(strings.Trim(folder, "/"), ".git") }
	if m := scpLike.FindStringSubmatch(remote); m != nil && !strings.Contains(remote, "://") {
		return "https", strings.ToLower(m[1]), clean(m[2]), nil
	}
	// url.Parse's error quotes the URL, which may hold a password.
	u, err := url.Parse(remote)
	if err != nil || u.Hostname() == "" {
		return "", "", "", errors.New("the repository's URL names no server: give https://HOST/OWNER/NAME or ssh://git@HOST/OWNER/NAME")
	}
	host = strings.ToLower(u.Host)
	switch strings.ToLower(u.Scheme) {
	case "https":
		return "https", host, clean(u.Path), nil
	case "http":
		return "http", host, clean(u.Path), nil
	case "ssh", "git+ssh":
		// The port is that of SSH.
		return "https", strings.ToLower(u.Hostname()), clean(u.Path), nil
	}
	return "", "", "", errors.New("the repository's URL is neither https:// nor ssh://")
}

func guess(host string) Platform {
	name, _, _ := strings.Cut(host, ":")
	switch {
	case name == "github.com", strings.Contains(name, "github"):
		return GitHub
	case strings.Contains(name, "gitlab"):
		return GitLab
	case name == "codeberg.org", strings.Contains(name, "gitea"), strings.Contains(name, "forgejo"):
		return Gitea
	}
	return ""
}

// checkAPI reads the address of an API. A token travels encrypted, or not
// beyond this machine.
func checkAPI(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the API's address is no https:// URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the API's address has a user, a query or a fragment: leave them out, and give the token as a file")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("the API's address http://%s would carry the token unencrypted: write https://", u.Host)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
