package reports

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// Secret is a value that no log, error or JSON shows.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) LogValue() slog.Value         { return slog.StringValue("[redacted]") }
func (Secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// Format keeps %x and %d from showing it too.
func (Secret) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte("[redacted]")) }

// Config says where the reports of a target go. Zero value: nowhere.
type Config struct {
	// format is what kind of target this is; nil: a webhook.
	format *format
	// URL, http or https. Its userinfo serves as Username and Password where
	// those are not set; neither it nor the query is ever printed.
	URL Secret
	// Username and Password, for basic authentication; both empty: none.
	Username string
	Password Secret
	// Secret is the key of X-Signature; empty: no signature.
	Secret Secret
	// CA is a PEM bundle that the receiver's certificate is verified against
	// instead of the system's.
	CA []byte
	// Timeout of one delivery, connecting included; 0 means 10 s.
	Timeout time.Duration
}

// kind is how the target is told.
func (c Config) kind() *format {
	if c.format == nil {
		return webhook
	}
	return c.format
}

// ConfigsFromEnv reads for each kind of target where its reports go: of the webhook
// WEBHOOK_URL, WEBHOOK_USERNAME, WEBHOOK_PASSWORD, WEBHOOK_SECRET and WEBHOOK_CA_FILE. Each
// of the first four may be given as a file instead (WEBHOOK_URL_FILE, …: a mounted Secret), a
// trailing newline is dropped; and each may carry crate-operator's prefix CRATEDB_OPERATOR_.
// A value given twice is an error, as is everything else that is wrong: all at once, and
// none of them shows a value. A target without a URL is left out.
func ConfigsFromEnv(lookup func(string) (string, bool), readFile func(string) ([]byte, error)) ([]Config, error) {
	var configs []Config
	var problems []error
	for _, f := range formats {
		config, err := configFromEnv(f, environment{lookup, readFile})
		switch {
		case err != nil:
			problems = append(problems, err)
		case config.URL != "":
			configs = append(configs, config)
		}
	}
	return configs, errors.Join(problems...)
}

type environment struct {
	lookup   func(string) (string, bool)
	readFile func(string) ([]byte, error)
}

func configFromEnv(f *format, env environment) (Config, error) {
	var problems []error
	fail := func(err error) { problems = append(problems, err) }
	one := func(name string) string { return string(env.one(f, name, true, fail)) }
	config := Config{URL: Secret(one("_URL")), CA: env.one(f, "_CA", false, fail)}
	if f.credentials {
		config.Username, config.Password, config.Secret = one("_USERNAME"), Secret(one("_PASSWORD")), Secret(one("_SECRET"))
	}
	if f != webhook {
		config.format = f
	}
	if len(problems) == 0 {
		if _, err := config.check(); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("configure reports by %s: %w", f.name, errors.Join(problems...))
	}
	return config, nil
}

// one reads a value, from a variable where plain says that it may be in one, or from the file
// that a variable names.
func (env environment) one(f *format, name string, plain bool, fail func(error)) (value []byte) {
	from := ""
	for _, prefix := range f.variables {
		for _, variable := range []string{prefix + name, prefix + name + "_FILE"} {
			file := strings.HasSuffix(variable, "_FILE")
			text, ok := env.lookup(variable)
			if !ok || text == "" || !file && !plain {
				continue
			}
			if from != "" {
				fail(fmt.Errorf("%s and %s are both set: unset one of them", from, variable))
				continue
			}
			from = variable
			if !file {
				value = []byte(text)
				continue
			}
			content, err := env.readFile(text)
			if err != nil {
				fail(fmt.Errorf("read the file that %s names: %w", variable, err))
				continue
			}
			if value = content; plain {
				value = bytes.TrimRight(content, "\r\n")
			}
		}
	}
	return value
}

// parsed is a configuration that can be used.
type parsed struct {
	// url has neither userinfo nor fragment.
	url                *url.URL
	username, password string
	roots              *x509.CertPool
}

func (c Config) check() (parsed, error) {
	var p parsed
	variable := c.kind().variables[0]
	if c.URL == "" {
		if c.Username != "" || c.Password != "" || c.Secret != "" || len(c.CA) > 0 {
			return p, fmt.Errorf("%[1]s_URL is not set, though other %[1]s_… variables are: set it, or unset them", variable)
		}
		return p, nil
	}
	// url.Parse's error quotes the URL.
	address, err := url.Parse(string(c.URL))
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" {
		return p, fmt.Errorf("%s_URL is no http or https URL: write https://HOST/PATH", variable)
	}
	p.username, p.password = c.Username, string(c.Password)
	if address.User != nil {
		if p.username == "" && p.password == "" {
			p.username = address.User.Username()
			p.password, _ = address.User.Password()
		}
		address.User = nil
	}
	address.Fragment, address.RawFragment = "", ""
	p.url = address
	if len(c.CA) > 0 {
		p.roots = x509.NewCertPool()
		if !p.roots.AppendCertsFromPEM(c.CA) {
			return p, fmt.Errorf("the file that %s_CA_FILE names has no PEM certificate", variable)
		}
	}
	return p, nil
}

// redacted is what may be printed of a receiver's URL: scheme and host. Paths
// carry tokens at many receivers.
func redacted(address *url.URL) string {
	text := address.Scheme + "://" + address.Host
	if (address.Path != "" && address.Path != "/") || address.RawQuery != "" {
		text += "/…"
	}
	return text
}
