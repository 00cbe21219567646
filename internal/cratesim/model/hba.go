package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Protocol is what an auth.host_based entry may name.
type Protocol string

// The protocols of host-based authentication.
const (
	HTTP Protocol = "http"
	PG   Protocol = "pg"
)

type hbaEntry struct {
	key                             string
	user, address, method, protocol string
	ssl                             string // on, off, optional
	prefix                          netip.Prefix
}

const hbaPrefix = "auth.host_based.config."

// parseHBA reads auth.host_based.config.* in CrateDB's order: by key, as text, so "10"
// stands before "2".
func parseHBA(settings map[string]string) ([]hbaEntry, error) {
	byKey := map[string]*hbaEntry{}
	var keys []string
	for _, name := range sortedKeys(settings) {
		rest, ok := strings.CutPrefix(name, hbaPrefix)
		if !ok {
			continue
		}
		key, field, ok := strings.Cut(rest, ".")
		if !ok {
			return nil, fmt.Errorf("java.lang.IllegalArgumentException: unknown setting [%s]", name)
		}
		e := byKey[key]
		if e == nil {
			e = &hbaEntry{key: key, method: "trust", ssl: "optional"}
			byKey[key] = e
			keys = append(keys, key)
		}
		v := settings[name]
		switch field {
		case "user":
			e.user = v
		case "address":
			e.address = v
		case "method":
			e.method = v
		case "protocol":
			e.protocol = v
		case "ssl":
			switch strings.ToLower(v) {
			case "on", "true":
				e.ssl = "on"
			case "off", "false":
				e.ssl = "off"
			case "optional":
			default:
				return nil, fmt.Errorf("java.lang.IllegalArgumentException: %s is not a valid HBA SSL setting", v)
			}
		}
	}
	slices.Sort(keys)
	var out []hbaEntry
	for _, k := range keys {
		e := byKey[k]
		if e.method == "jwt" && e.protocol != "http" {
			return nil, fmt.Errorf("java.lang.IllegalArgumentException: protocol must be set to http when using jwt auth method")
		}
		if p, err := netip.ParsePrefix(e.address); err == nil {
			e.prefix = p.Masked()
		} else if a, err := netip.ParseAddr(e.address); err == nil {
			e.prefix = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, *e)
	}
	return out, nil
}

// Client is who connects.
type Client struct {
	User     string
	Address  string // without a port
	Protocol Protocol
	TLS      bool
	Password string
	// Credential is what the client can show: "password" (also for none), "jwt".
	Credential string
}

// entry finds the first entry that fits. _local_ is only the node's own address: on a
// machine where every address is a loopback one, each client would look local otherwise.
func (n *Node) entry(c Client) *hbaEntry {
	addr, addrErr := netip.ParseAddr(c.Address)
	for i := range n.hba {
		e := &n.hba[i]
		if e.user != "" && e.user != c.User {
			continue
		}
		switch {
		case e.address == "":
		case e.address == "_local_":
			if c.Address != n.Address {
				continue
			}
		case !e.prefix.IsValid() || addrErr != nil || !e.prefix.Contains(addr.Unmap()):
			continue
		}
		if e.protocol != "" && e.protocol != string(c.Protocol) {
			continue
		}
		if e.ssl == "on" && !c.TLS || e.ssl == "off" && c.TLS {
			continue
		}
		if !n.shows(c, e.method) {
			continue
		}
		return e
	}
	return nil
}

// shows reports whether a client has what a method asks for: an entry that it cannot
// satisfy is passed over (ConnectionProperties, from 5.8 on). Over the PostgreSQL protocol
// the password is asked for later; over HTTP one that is missing or empty is none.
func (n *Node) shows(c Client, method string) bool {
	switch method {
	case "trust":
		return true
	case "jwt":
		return c.Credential == "jwt"
	case "password":
		if c.Credential == "jwt" {
			return false
		}
		return c.Protocol == PG || c.Password != "" || !n.Version.AtLeast(5, 8)
	}
	return false
}

// NeedsPassword reports whether the client's entry is of the password method, so that the
// server has to ask. The error is that no entry fits.
func (n *Node) NeedsPassword(c Client) (bool, *Error) {
	if !settingBool(n.setting("auth.host_based.enabled", "false")) {
		return false, nil
	}
	e := n.entry(c)
	if e == nil {
		words := fmt.Sprintf(`No valid auth.host_based entry found for host "%s", user "%s". Did you enable TLS in your client?`, c.Address, c.User)
		if c.Protocol == HTTP {
			words = fmt.Sprintf(`No valid auth.host_based.config entry found for host "%s", user "%s", protocol "http". Did you enable TLS in your client?`, c.Address, c.User)
		}
		err := errorOf("", "28000", 401, 0, "%s", words)
		err.Fatal = true
		return false, err
	}
	if e.method == "jwt" {
		err := errorOf("", "28000", 401, 0, `jwt authentication failed for user "%s". The simulator cannot verify tokens`, c.User)
		err.Fatal = true
		return false, err
	}
	return e.method == "password", nil
}

// Authenticate lets a client in or says in CrateDB's words why not.
func (n *Node) Authenticate(c Client) (*User, *Error) {
	ask, err := n.NeedsPassword(c)
	if err != nil {
		return nil, err
	}
	u := n.User(c.User)
	method := "trust"
	ok := u != nil && !u.role
	if ask {
		method = "password"
		ok = ok && u.hasSecret && u.password == c.Password && c.Password != ""
	}
	if !ok {
		err := errorOf("", "28000", 401, 0, `%s authentication failed for user "%s"`, method, c.User)
		err.Fatal = true
		return nil, err
	}
	return u, nil
}

// Alive reports whether the session's user still exists; CrateDB answers the next
// statement of a dropped user's open session with the error.
func (u *User) Alive() *Error {
	if u.dropped {
		return errorOf("IllegalStateException", "XX000", 500, 5000, `User "%s" was dropped`, u.Name)
	}
	return nil
}
