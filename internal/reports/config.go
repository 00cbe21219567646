package reports

import (
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

// Config says where webhooks go. Zero value: nowhere.
type Config struct {
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

// crateOperatorPrefix is what crate-operator reads the same variables with.
const crateOperatorPrefix = "CRATEDB_OPERATOR_"

// ConfigFromEnv reads WEBHOOK_URL, WEBHOOK_USERNAME, WEBHOOK_PASSWORD,
// WEBHOOK_SECRET and WEBHOOK_CA_FILE. Each of the first four may be given as a
// file instead (WEBHOOK_URL_FILE, …: a mounted Secret), a trailing newline is
// dropped; and each may carry crate-operator's prefix CRATEDB_OPERATOR_. A
// value given twice is an error, as is everything else that is wrong: all at
// once, and none of them shows a value.
func ConfigFromEnv(lookup func(string) (string, bool), readFile func(string) ([]byte, error)) (Config, error) {
	var problems []error
	one := func(name string) string {
		var value, from string
		for _, variable := range []string{name, name + "_FILE", crateOperatorPrefix + name, crateOperatorPrefix + name + "_FILE"} {
			text, ok := lookup(variable)
			if !ok || text == "" {
				continue
			}
			if from != "" {
				problems = append(problems, fmt.Errorf("%s and %s are both set: unset one of them", from, variable))
				continue
			}
			from = variable
			if strings.HasSuffix(variable, "_FILE") {
				content, err := readFile(text)
				if err != nil {
					problems = append(problems, fmt.Errorf("read the file that %s names: %w", variable, err))
					continue
				}
				text = strings.TrimRight(string(content), "\r\n")
			}
			value = text
		}
		return value
	}
	config := Config{
		URL: Secret(one("WEBHOOK_URL")), Username: one("WEBHOOK_USERNAME"),
		Password: Secret(one("WEBHOOK_PASSWORD")), Secret: Secret(one("WEBHOOK_SECRET")),
	}
	for _, variable := range []string{"WEBHOOK_CA_FILE", crateOperatorPrefix + "WEBHOOK_CA_FILE"} {
		name, ok := lookup(variable)
		if !ok || name == "" {
			continue
		}
		content, err := readFile(name)
		if err != nil {
			problems = append(problems, fmt.Errorf("read the file that %s names: %w", variable, err))
			continue
		}
		config.CA = content
	}
	if len(problems) == 0 {
		if _, err := config.check(); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return Config{}, fmt.Errorf("configure the webhook: %w", errors.Join(problems...))
	}
	return config, nil
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
	if c.URL == "" {
		if c.Username != "" || c.Password != "" || c.Secret != "" || len(c.CA) > 0 {
			return p, errors.New("WEBHOOK_URL is not set, though other WEBHOOK_… variables are: set it, or unset them")
		}
		return p, nil
	}
	// url.Parse's error quotes the URL.
	address, err := url.Parse(string(c.URL))
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" {
		return p, errors.New("WEBHOOK_URL is no http or https URL: write https://HOST/PATH")
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
			return p, errors.New("the file that WEBHOOK_CA_FILE names has no PEM certificate")
		}
	}
	return p, nil
}

// redacted is what may be printed of a webhook's URL: scheme and host. Paths
// carry tokens at many receivers.
func redacted(address *url.URL) string {
	text := address.Scheme + "://" + address.Host
	if (address.Path != "" && address.Path != "/") || address.RawQuery != "" {
		text += "/…"
	}
	return text
}
