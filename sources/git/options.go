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
	// URL is https:// or file://, and http:// for a loopback host only. It may
	// not carry credentials, a query or a fragment.
	URL string

	// Ref is a branch, a tag, a full reference name (refs/…), or a commit, full
	// or abbreviated to at least seven digits. Empty means the branch that the
	// remote's HEAD names.
	Ref string

	// Path is a folder inside of the repository; empty means its root.
	Path string

	// Mirror is a folder that keeps fetched objects between runs. Several
	// sources and processes may share it: each takes a part of its own. Empty
	// means a temporary folder that Close removes.
	Mirror string

	// Credentials are asked before each look, so that they may change; nil means
	// none. They are never sent to a file:// URL, to another host after a
	// redirect, nor over plain http beyond loopback.
	Credentials Credentials

	// CA holds PEM certificates that are trusted besides the system's; CAFile
	// names a file with such, read before each look.
	CA     []byte
	CAFile string

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
	identity string
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
	if inside != "." {
		r.identity += "//" + inside
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
		return unsupported("the URL is empty", "give an https:// or file:// URL")
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		if path.IsAbs(text) || strings.HasPrefix(text, ".") {
			return unsupported("a path is no URL", "write file:// and the absolute path")
		}
		if strings.Contains(text, "@") || strings.Contains(text, ":") {
			return unsupported("Git over ssh is not supported yet", "use https:// with a token")
		}
		return unsupported("the URL has no scheme", "give an https:// or file:// URL")
	}
	switch strings.ToLower(scheme) {
	case "https", "http", "file":
	case "ssh", "git+ssh", "ssh+git":
		return unsupported("Git over ssh is not supported yet", "use https:// with a token")
	case "git":
		return unsupported("git:// is not supported: nothing proves who answers", "use https://")
	default:
		return unsupported("the URL's scheme is not supported", "give an https:// or file:// URL")
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

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
