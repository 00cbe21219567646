// Package git gives snapshots of a Git repository without a checkout: a cheap
// look at the remote's references, a kept bare mirror, and a file tree that is
// read from its objects. Git is never executed.
package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// Options say what to follow and how much of it to take. Only URL is required.
type Options struct {
	// URL is https://, ssh:// (or user@host:path, as git takes it) or file://, and
	// http:// for a loopback host only. It may not carry credentials, a query or
	// a fragment; the user of ssh is none.
	URL string

	// Ref is a branch, a tag, a full reference name (refs/…), or a commit, full
	// or abbreviated to at least seven digits; or "semver:" and a range, which
	// means the tag with the highest version in it. Empty means the branch that
	// the remote's HEAD names.
	Ref string

	// OnRewrite says what becomes of a reference whose history was rewritten;
	// empty means HoldRewrite.
	OnRewrite OnRewrite

	// Path is a folder inside of the repository; empty means its root.
	Path string

	// Mirror is a folder that keeps fetched objects between runs. Several
	// sources and processes may share it: each takes a part of its own. Empty
	// means a temporary folder that Close removes. It also remembers what was
	// followed: without it, a restart follows whatever is there.
	Mirror string

	// Credentials are asked before each look, so that they may change; nil means
	// none. They are never sent to a file:// URL, to another host after a
	// redirect, nor over plain http beyond loopback.
	Credentials Credentials

	// CA holds PEM certificates that are trusted besides the system's; CAFile
	// names a file with such, read before each look.
	CA     []byte
	CAFile string

	// KnownHosts are lines of a known_hosts file (sshd(8)), KnownHostsFile names
	// a file with such, read before each look; the credentials may have some too.
	// ssh:// needs the host's key in one of them.
	KnownHosts     []byte
	KnownHostsFile string

	// Timeout ends a whole look with its fetch; zero means 5 minutes.
	// LookTimeout ends the listing of references; zero means 30 seconds.
	Timeout, LookTimeout time.Duration

	// MaxBytes bounds what one fetch may transfer; zero means 512 MiB.
	MaxBytes int64

	// Limits bound the tree.
	Limits tree.Limits

	// Log tells of damaged mirrors and rewritten history; nil logs nothing.
	Log *slog.Logger
}

// remote is what a checked URL means.
type remote struct {
	url      string // for the transport
	dir      string // of a file:// URL
	ssh      *secureShell
	identity string // with the path inside

	repository string // without it
}

func (o *Options) check() (remote, error) {
	o.Timeout = cmp.Or(o.Timeout, 5*time.Minute)
	o.LookTimeout = cmp.Or(o.LookTimeout, 30*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r, err := parseURL(o.URL)
	if err != nil {
		return remote{}, err
	}
	inside := path.Clean(strings.Trim(filepath.ToSlash(o.Path), "/"))
	if !fs.ValidPath(inside) {
		return remote{}, refuse(sources.PathNotFound, fmt.Errorf("the path %q is not inside of the repository", o.Path),
			"write it relative to the repository's root, without ..")
	}
	o.Path = inside
	r.repository = r.identity
	if inside != "." {
		r.identity += "//" + inside
	}
	switch o.OnRewrite = cmp.Or(o.OnRewrite, HoldRewrite); o.OnRewrite {
	case HoldRewrite, FollowRewrite:
	default:
		return remote{}, refuse(sources.NotSupported, fmt.Errorf("%q is no answer to a rewrite", o.OnRewrite), "write --on-rewrite hold or follow")
	}
	if err := checkRef(o.Ref); err != nil {
		return remote{}, err
	}
	return r, nil
}

func refuse(reason sources.Reason, err error, advice string) error {
	return &sources.Error{Reason: reason, Doing: "reading the options of a Git source", Err: err, Advice: advice}
}

// parseURL never quotes its input before it is known to hold no credentials.
func parseURL(text string) (remote, error) {
	unsupported := func(what, advice string) (remote, error) {
		return remote{}, refuse(sources.NotSupported, errors.New(what), advice)
	}
	if text == "" {
		return unsupported("the URL is empty", "give an https://, ssh:// or file:// URL")
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		if path.IsAbs(text) || strings.HasPrefix(text, ".") {
			return unsupported("a path is no URL", "write file:// and the absolute path")
		}
		if shell, ok := parseShort(text); ok {
			return shell, nil
		}
		return unsupported("the URL has no scheme", "give an https://, ssh:// or file:// URL")
	}
	switch strings.ToLower(scheme) {
	case "https", "http", "file":
	case "ssh", "git+ssh", "ssh+git":
		return parseSSH(rest)
	case "git":
		return unsupported("git:// is not supported: nothing proves who answers", "use https://")
	default:
		return unsupported("the URL's scheme is not supported", "give an https://, ssh:// or file:// URL")
	}
	authority, _, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return unsupported("the URL carries credentials, which would be printed and kept",
			"take them out of the URL and give them in a file (--git-credentials-file) or a Secret (--git-credentials-secret)")
	}
	if strings.ContainsAny(text, "?#") {
		return unsupported("the URL carries a query or a fragment", "take it out; credentials belong in a file or a Secret, the reference in --ref")
	}
	u, err := url.Parse(text)
	if err != nil {
		return unsupported("the URL cannot be read", "check it for spaces and stray percent signs")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = strings.ToLower(u.Host)
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""

	if u.Scheme == "file" {
		if u.Host != "" && u.Host != "localhost" {
			return unsupported("a file:// URL with a host", "write file:// and the absolute path: three slashes in a row")
		}
		if !path.IsAbs(u.Path) {
			return unsupported("a file:// URL without an absolute path", "write file:// and the absolute path: three slashes in a row")
		}
		dir := filepath.Clean(filepath.FromSlash(u.Path))
		return remote{dir: dir, identity: "file://" + filepath.ToSlash(dir)}, nil
	}
	if u.Hostname() == "" {
		return unsupported("the URL has no host", "give an https:// or file:// URL")
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return unsupported("plain http:// is for loopback hosts only: what it carries can be changed on the way", "use https://")
	}
	return remote{url: u.String(), identity: u.String()}, nil
}

// parseSSH reads what stands behind ssh://.
func parseSSH(rest string) (remote, error) {
	unsupported := func(what, advice string) (remote, error) {
		return remote{}, refuse(sources.NotSupported, errors.New(what), advice)
	}
	if strings.ContainsAny(rest, "?#") {
		return unsupported("the URL carries a query or a fragment", "take it out; the reference belongs in --ref")
	}
	authority, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(authority, "@"); at >= 0 && strings.Contains(authority[:at], ":") {
		return unsupported("the URL carries a password, which would be printed and kept", "take it out and use a key (--git-credentials-file or --git-credentials-secret)")
	}
	u, err := url.Parse("ssh://" + rest)
	if err != nil {
		return unsupported("the URL cannot be read", "check it for spaces and stray percent signs")
	}
	shell := &secureShell{user: "git", host: strings.ToLower(u.Hostname()), port: cmp.Or(u.Port(), "22"), path: strings.TrimRight(u.Path, "/")}
	if u.User != nil && u.User.Username() != "" {
		shell.user = u.User.Username()
	}
	switch {
	case !shell.plain():
		return unsupported("the URL's user, host or path is not one that ssh takes", "write ssh://git@host/path")
	case shell.path == "":
		return unsupported("the URL has no path", "write ssh://git@host/path")
	}
	host := shell.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if shell.port != "22" {
		host += ":" + shell.port
	}
	identity := "ssh://" + shell.user + "@" + host + shell.path
	// git too takes /~user for that user's home.
	if strings.HasPrefix(shell.path, "/~") {
		shell.path = shell.path[1:]
	}
	return remote{url: identity, identity: identity, ssh: shell}, nil
}

// parseShort reads user@host:path, whose path begins at the user's home.
func parseShort(text string) (remote, bool) {
	before, inside, found := strings.Cut(text, ":")
	// A colon before the @ is a password's.
	if !found || strings.Contains(before, "/") || strings.Contains(inside, "@") {
		return remote{}, false
	}
	shell := &secureShell{user: "git", host: strings.ToLower(before), port: "22", path: strings.TrimRight(inside, "/")}
	if user, host, found := strings.Cut(before, "@"); found {
		shell.user, shell.host = user, strings.ToLower(host)
	}
	if !shell.plain() || shell.path == "" {
		return remote{}, false
	}
	identity := shell.user + "@" + shell.host + ":" + shell.path
	return remote{url: identity, identity: identity, ssh: shell}, true
}

// plain keeps what a shell, an option parser or a log could misread out.
func (s *secureShell) plain() bool {
	odd := func(text string) bool {
		return strings.HasPrefix(text, "-") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("@\"'`$;|&<>", r) })
	}
	return s.user != "" && s.host != "" && !odd(s.user) && !odd(s.host) && !strings.HasPrefix(s.path, "-") &&
		!strings.ContainsFunc(s.path, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
