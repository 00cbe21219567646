package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"stevedore.dev/stevedore/sources"
)

// Login is what a server is shown, and what it is known by. It prints without
// its secrets.
type Login struct {
	Username string // may be empty with a token
	Password string // or a token: Git hosts take it as the password

	PrivateKey []byte // for ssh, as ssh-keygen writes it
	Passphrase string // of PrivateKey; empty when it has none
	KnownHosts []byte // lines of a known_hosts file, for ssh

	Certificate, Key []byte // the client's, in PEM, for https
	CA               []byte // PEM certificates that are trusted besides the system's, for https
}

// String hides the secret, and the name too: some hosts take a token as the name.
func (Login) String() string { return "[credentials]" }

// GoString hides the secret.
func (Login) GoString() string { return "git.Login{[credentials]}" }

// LogValue hides the secret.
func (Login) LogValue() slog.Value { return slog.StringValue("[credentials]") }

// Credentials give the login of the moment. They are asked before each look.
type Credentials interface {
	Login(ctx context.Context) (Login, error)
}

// CredentialsFunc makes a function Credentials.
type CredentialsFunc func(ctx context.Context) (Login, error)

// Login calls the function.
func (f CredentialsFunc) Login(ctx context.Context) (Login, error) { return f(ctx) }

// maxCredential is far above any token that is in use.
const maxCredential = 64 << 10

// CredentialsFromFile reads name each time. A folder holds the files of a
// mounted Secret (see LoginFromSecret); a file holds a private key of ssh
// without a passphrase, or one line, "user:password" or a token.
func CredentialsFromFile(name string) Credentials {
	return CredentialsFunc(func(context.Context) (Login, error) {
		login, err := readLogin(name)
		if err != nil {
			return Login{}, &sources.Error{Reason: sources.CredentialsUnreadable, Doing: "reading the Git credentials of " + name, Err: err,
				Advice: "give a file with a private key or one line, user:password or a token, or a folder with the keys of a Secret as files"}
		}
		return login, nil
	})
}

func readLogin(name string) (Login, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Login{}, pathless(err)
	}
	if !info.IsDir() {
		text, err := readSmall(name)
		if err != nil {
			return Login{}, err
		}
		return parseLogin(text)
	}
	data := map[string][]byte{}
	for _, key := range secretKeys {
		text, err := readSmall(filepath.Join(name, key))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Login{}, fmt.Errorf("%s: %w", key, err)
		}
		data[key] = []byte(text)
	}
	return LoginFromSecret(data)
}

var secretKeys = []string{"username", "password", "token", "identity", "ssh-privatekey", "known_hosts", "ca.crt", "tls.crt", "tls.key"}

// LoginFromSecret reads the keys of a Secret's data as Flux lays them out. For
// https: token, or username and password (the type kubernetes.io/basic-auth);
// tls.crt and tls.key, a client certificate; ca.crt, the host's authority. For
// ssh: identity (or ssh-privatekey, the type kubernetes.io/ssh-auth), password
// for its passphrase, and known_hosts; identity.pub is not read. White space
// around words, which files tend to end with, is cut off.
func LoginFromSecret(data map[string][]byte) (Login, error) {
	get := func(key string) string { return strings.TrimSpace(string(data[key])) }
	login := Login{
		Username: get("username"), Password: get("password"),
		CA: data["ca.crt"], Certificate: data["tls.crt"], Key: data["tls.key"], KnownHosts: data["known_hosts"],
	}
	token := get("token")
	for _, key := range []string{"identity", "ssh-privatekey"} {
		if len(login.PrivateKey) == 0 {
			login.PrivateKey = data[key]
		}
	}
	switch {
	case len(login.PrivateKey) > 0 && token != "":
		return Login{}, errors.New("there are both a token and an ssh key (identity); leave one")
	case len(login.PrivateKey) > 0:
		return Login{PrivateKey: login.PrivateKey, Passphrase: login.Password, KnownHosts: login.KnownHosts}, nil
	case token != "" && login.Password != "":
		return Login{}, errors.New("there are both a token and a password; leave one")
	case token != "":
		login.Password = token
	}
	if (len(login.Certificate) > 0) != (len(login.Key) > 0) {
		return Login{}, errors.New("of tls.crt and tls.key one is missing")
	}
	if login.Password == "" && len(login.Certificate) == 0 && len(login.CA) == 0 {
		return Login{}, errors.New("there is neither a token nor a password, neither an ssh key (identity) nor a client certificate (tls.crt)")
	}
	return login, login.check()
}

func parseLogin(text string) (Login, error) {
	text = strings.TrimSpace(text)
	var login Login
	if strings.HasPrefix(text, "-----BEGIN ") && strings.Contains(text, "PRIVATE KEY-----") {
		return Login{PrivateKey: []byte(text + "\n")}, nil
	}
	switch user, password, found := strings.Cut(text, ":"); {
	case text == "":
		return Login{}, errors.New("the file is empty")
	case strings.Contains(text, "://"):
		return Login{}, errors.New("the file holds a URL")
	case found && (user == "" || password == ""):
		return Login{}, errors.New("the user or the password is empty")
	case found:
		login = Login{Username: user, Password: password}
	default:
		login = Login{Password: text}
	}
	return login, login.check()
}

func (l Login) check() error {
	if strings.ContainsAny(l.Username+l.Password, "\r\n\x00") {
		return errors.New("there is more than one line")
	}
	if strings.Contains(l.Username, ":") {
		return errors.New("the user's name has a colon, which HTTP cannot carry")
	}
	return nil
}

func readSmall(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", pathless(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxCredential {
		return "", errors.New("not a small file")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", pathless(err)
	}
	return string(data), nil
}

// pathless keeps a path from being said twice.
func pathless(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// hide takes a login's secrets out of a text that strangers may have written.
func (l Login) hide(text string) string {
	for _, secret := range []string{l.Password, l.Passphrase, l.Username} {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "[hidden]")
		}
	}
	return text
}
