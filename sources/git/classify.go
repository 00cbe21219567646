package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// classify makes an error that says what to do. What a server wrote is quoted
// only where nothing else is known, short and without secrets.
func classify(ctx context.Context, doing string, err error, login Login) error {
	if e, ok := errors.AsType[*sources.Error](err); ok {
		return e
	}
	e := &sources.Error{Reason: sources.Other, Doing: doing, Err: err}
	known := func(reason sources.Reason, what, advice string) error {
		e.Reason, e.Err, e.Advice = reason, errors.New(what), advice
		return e
	}
	err = unwrapAll(err)

	switch {
	case errors.Is(err, errTooLarge):
		return known(sources.TooLarge, "the transfer is larger than the limit", "use a smaller repository, or raise --git-max-bytes")
	case errors.Is(err, tree.ErrTooLarge):
		e.Reason = sources.TooLarge
		return e
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		if login.Password == "" {
			return known(sources.AuthenticationRefused, "the server wants credentials and none were given",
				"give a token or a user and password with --git-credentials-file or --git-credentials-secret")
		}
		return known(sources.AuthenticationRefused, "the server refused the credentials",
			"check that the token or password is current and may read this repository")
	case errors.Is(err, errKeyMayNot):
		return known(sources.AuthenticationRefused, errKeyMayNot.Error(), "add its public half to the repository, as a deploy key that may read")
	case errors.Is(err, errShallow):
		return known(sources.Incomplete, errShallow.Error(), "run git fetch --unshallow there, or follow the folder with --dir")
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return known(sources.ReferenceNotFound, "the repository is empty", "push a commit to it")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		what := "the repository does not exist, or is hidden from these credentials"
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOENT) || strings.HasPrefix(doing, "listing the references of file:") {
			what = "there is no repository"
		}
		return known(sources.RepositoryNotFound, what, "check the URL; many hosts answer like this to a token that may not read it")
	case errors.Is(err, errNoGit):
		return known(sources.RepositoryNotFound, errNoGit.Error(), "check the URL: it is what git clone takes")
	case errors.Is(err, fs.ErrPermission):
		e.Reason, e.Advice = sources.Unreadable, "let the user that runs stevedore read it"
		return e
	case errors.Is(err, syscall.ENOSPC):
		return known(sources.Other, "the disk is full", "make room for the mirror (--git-mirror)")
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return known(sources.CertificateUnknown, "the server's certificate is signed by an unknown authority",
			"if it is yours, give the authority's certificate in PEM with --git-ca-file")
	}
	if bad, ok := errors.AsType[x509.HostnameError](err); ok {
		return known(sources.CertificateUnknown, "the server's certificate is for another name than "+clean(bad.Host, login), "check the URL's host")
	}
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return known(sources.CertificateUnknown, "the server's certificate is invalid: "+clean(bad.Error(), login),
			"renew it, and check this machine's clock")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return known(sources.CertificateUnknown, "the server's certificate cannot be verified",
			"if it is yours, give the authority's certificate in PEM with --git-ca-file")
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		return known(sources.HostUnreachable, "the host "+clean(dns.Name, login)+" is unknown", "check the URL and the name service")
	}
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		if errors.Is(ctx.Err(), context.Canceled) {
			return known(sources.TimedOut, "the look was cut short: the source is being closed", "")
		}
		return known(sources.TimedOut, "no full answer before the deadline", "the server may be down or slow; --git-timeout raises the deadline of the whole look")
	}
	if status, ok := errors.AsType[*githttp.Err](err); ok {
		code := status.StatusCode()
		what := fmt.Sprintf("the server answered %d %s", code, http.StatusText(code))
		if code >= 500 || code == http.StatusTooManyRequests {
			return known(sources.HostUnreachable, what, "it is tried again by itself")
		}
		return known(sources.Other, what, "check the URL: it is what git clone takes")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" && op.Err != nil {
		// TLS' word for it: the server has sent an alert.
		return known(sources.AuthenticationRefused, "the server refused the TLS connection: "+clean(op.Err.Error(), login),
			"if it wants a client certificate, give tls.crt and tls.key of an authority that it knows in the credentials")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		what := "the connection failed"
		if op.Op == "dial" {
			what = "the host cannot be reached"
		}
		if errno, ok := errors.AsType[syscall.Errno](op.Err); ok {
			what += ": " + errno.Error()
		}
		return known(sources.HostUnreachable, what, "check that the host is up and that the network allows it; it is tried again by itself")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return known(sources.HostUnreachable, "the connection broke before the end", "it is tried again by itself")
	}
	if errors.Is(err, errIncomplete) || errors.Is(err, plumbing.ErrObjectNotFound) {
		e.Reason, e.Err = sources.Incomplete, err
		e.Advice = "run git fsck on the remote's side"
		return e
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Reason, e.Err, e.Advice = sources.PathNotFound, err, "check --path: it is a folder of the repository at that revision, and Git keeps no empty ones"
		return e
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		e.Err = pe
		return e
	}
	e.Err = errors.New(clean(err.Error(), login))
	return e
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// unwrapAll looks into go-git's errors that do not unwrap.
func unwrapAll(err error) error {
	for {
		if u, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
			err = u.Err
			continue
		}
		if p, ok := errors.AsType[*plumbing.PermanentError](err); ok {
			err = p.Err
			continue
		}
		return err
	}
}

// clean makes what a stranger may have written fit for a log line.
func clean(text string, login Login) string {
	text = login.hide(text)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	const most = 300
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
