package reports

import (
	"fmt"
	"net"
)

// Address is HOST:PORT of the receiver; "" where none is configured.
func (c Config) Address() (string, error) {
	p, err := c.check()
	if err != nil {
		return "", fmt.Errorf("configure the webhook: %w", err)
	}
	if p.url == nil {
		return "", nil
	}
	port := p.url.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[p.url.Scheme]
	}
	return net.JoinHostPort(p.url.Hostname(), port), nil
}
