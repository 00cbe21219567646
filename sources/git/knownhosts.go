package git

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"stevedore.dev/stevedore/sources"
)

// knownHosts are the lines of known_hosts files (sshd(8)). They are read here
// and not by x/crypto's knownhosts, which takes files only (a Secret is none)
// and knows one key of a type for a host, so that no host could rotate its key.
type knownHosts []knownHost

type knownHost struct {
	marker   string // "", "cert-authority" or "revoked"
	patterns []string
	key      ssh.PublicKey
}

// parseKnownHosts names the line that cannot be read; where says which file.
func parseKnownHosts(text []byte, where string) (knownHosts, error) {
	var out knownHosts
	number := 0
	for line := range bytes.Lines(text) {
		number++
		// A line by itself, or an error could not be located.
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(line)
		if errors.Is(err, io.EOF) {
			continue // empty or a comment
		}
		if err != nil {
			return nil, &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the known hosts of " + where,
				Err:    fmt.Errorf("line %d is not a host and its key", number),
				Advice: "write lines as ssh-keyscan prints them"}
		}
		out = append(out, knownHost{marker: marker, patterns: hosts, key: key})
	}
	return out, nil
}

// of gives the lines for a host: those with its port, else those without one, as
// ssh does it. Revoked keys are left out; see revoked.
func (k knownHosts) of(host, port string) knownHosts {
	names := []string{host}
	if port != "22" {
		names = []string{"[" + host + "]:" + port, host}
	}
	for _, name := range names {
		var found knownHosts
		for _, line := range k {
			if line.marker != "revoked" && line.matches(name) {
				found = append(found, line)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

func (k knownHosts) revoked(host, port string, key ssh.PublicKey) bool {
	return slices.ContainsFunc(k, func(line knownHost) bool {
		return line.marker == "revoked" && sameKey(line.key, key) && (line.matches(host) || line.matches("["+host+"]:"+port))
	})
}

func (h knownHost) matches(name string) bool {
	matched := false
	for _, pattern := range h.patterns {
		if salted, ok := strings.CutPrefix(pattern, "|1|"); ok {
			matched = matched || hashedAs(salted, name)
			continue
		}
		without, negated := strings.CutPrefix(pattern, "!")
		if !glob(strings.ToLower(without), name) {
			continue
		}
		if negated {
			return false
		}
		matched = true
	}
	return matched
}

// hashedAs compares with "salt|hash", both in base64 (HashKnownHosts of
// ssh_config(5)): HMAC-SHA1 of the name, keyed with the salt.
func hashedAs(salted, name string) bool {
	text, hash, found := strings.Cut(salted, "|")
	salt, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil {
		return false
	}
	want, err := base64.StdEncoding.DecodeString(hash)
	if err != nil {
		return false
	}
	sum := hmac.New(sha1.New, salt)
	sum.Write([]byte(name))
	return hmac.Equal(sum.Sum(nil), want)
}

// glob knows * and ?, which may stand for any character of a name.
func glob(pattern, name string) bool {
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '*':
			for j := 0; j <= len(name)-i; j++ {
				if glob(pattern[i+1:], name[i+j:]) {
					return true
				}
			}
			return false
		case i >= len(name):
			return false
		case pattern[i] != '?' && pattern[i] != name[i]:
			return false
		}
	}
	return len(pattern) == len(name)
}

// algorithms are what the host may prove itself with, so that it shows a key
// that can be compared. SHA-1 signatures (ssh-rsa) are not among them.
func (k knownHosts) algorithms() []string {
	supported := ssh.SupportedAlgorithms().HostKeys
	var out []string
	for _, algorithm := range supported {
		certificate := strings.Contains(algorithm, "-cert-")
		if slices.ContainsFunc(k, func(line knownHost) bool {
			if line.marker == "cert-authority" {
				return certificate // what an authority may sign is up to it
			}
			kind := line.key.Type()
			return kind == algorithm || kind == ssh.KeyAlgoRSA && (algorithm == ssh.KeyAlgoRSASHA256 || algorithm == ssh.KeyAlgoRSASHA512)
		}) {
			out = append(out, algorithm)
		}
	}
	return out
}

// hostKey gives what checks a host's key, and the algorithms to ask it for. A
// host that is not known may show any key: the refusal then names it, so that a
// person can compare.
func (k knownHosts) hostKey(host, port string) (ssh.HostKeyCallback, []string) {
	host = strings.ToLower(host)
	lines := k.of(host, port)
	shown := host
	if port != "22" {
		shown = net.JoinHostPort(host, port)
	}
	refuse := func(reason sources.Reason, what, advice string) error {
		return &sources.Error{Reason: reason, Doing: "checking who answers as " + shown, Err: errors.New(what), Advice: advice}
	}
	check := func(_ string, _ net.Addr, key ssh.PublicKey) error {
		name := key.Type() + " " + ssh.FingerprintSHA256(key)
		if k.revoked(host, port, key) {
			return refuse(sources.HostKeyChanged, "it shows the key "+name+", which known_hosts marks as revoked",
				"do not go on: somebody may stand in between")
		}
		if len(lines) == 0 {
			return refuse(sources.HostKeyUnknown, "known_hosts does not have it; it shows the key "+name,
				"compare that with what the host publishes, then add its line to --known-hosts or to known_hosts of the Secret (ssh-keyscan -p "+port+" "+host+")")
		}
		for _, line := range lines {
			if line.marker == "" && sameKey(line.key, key) {
				return nil
			}
		}
		if certificate, ok := key.(*ssh.Certificate); ok {
			checker := ssh.CertChecker{IsHostAuthority: func(authority ssh.PublicKey, _ string) bool {
				return slices.ContainsFunc(lines, func(line knownHost) bool {
					return line.marker == "cert-authority" && sameKey(line.key, authority)
				})
			}, IsRevoked: func(c *ssh.Certificate) bool { return k.revoked(host, port, c.SignatureKey) }}
			// The names in a certificate have no port.
			if err := checker.CheckHostKey(net.JoinHostPort(host, port), nil, certificate); err != nil {
				return refuse(sources.HostKeyChanged, "its certificate is not of an authority that known_hosts has for it, or not for this name and time",
					"check the @cert-authority line and the host's certificate")
			}
			return nil
		}
		return refuse(sources.HostKeyChanged, "it shows the key "+name+", known_hosts has "+lines.fingerprints(),
			"do not go on before its owner has confirmed a new key: somebody may stand in between; then replace its line in known_hosts")
	}
	if len(lines) == 0 {
		return check, nil
	}
	return check, lines.algorithms()
}

// fingerprints name at most four keys.
func (k knownHosts) fingerprints() string {
	var out []string
	for _, line := range k {
		out = append(out, line.key.Type()+" "+ssh.FingerprintSHA256(line.key))
	}
	if len(out) > 4 {
		out = append(out[:4], fmt.Sprintf("%d more", len(out)-4))
	}
	return strings.Join(out, ", ")
}

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }
