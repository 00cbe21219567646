package reports

import (
	"fmt"
	"net"
)

// Address is where a target is reached.
type Address struct {
	// Target is its name: "webhook".
	Target string
	// Variable is the environment variable that has its URL.
	Variable string
	// HostPort is HOST:PORT: nothing else of its URL is ever printed.
	HostPort string
}

// Address says where the target is reached; HostPort is "" where none is configured.
func (c Config) Address() (Address, error) {
	out := Address{Target: c.kind().name, Variable: c.kind().variables[0] + "_URL"}
	p, err := c.check()
	if err != nil {
		return out, fmt.Errorf("configure reports by %s: %w", out.Target, err)
	}
	if p.url == nil {
		return out, nil
	}
	port := p.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	}
	out.HostPort = net.JoinHostPort(p.url.Hostname(), port)
	return out, nil
}
