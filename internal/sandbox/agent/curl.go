package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// metadataAddress is where cloud providers answer a machine's questions about
// itself; crate-operator's pods ask there for their zone.
const metadataAddress = "169.254.169.254"

// ownHost is the pod's address where host names the pod itself or another of the
// sandbox's loopback addresses; false for what lies outside.
func (c *container) ownHost(host string) (string, bool) {
	own := c.worker.podAddress().String()
	switch host {
	case "localhost", "127.0.0.1", "::1", "0.0.0.0", c.worker.name:
		return own, true
	}
	address, err := netip.ParseAddr(host)
	return host, err == nil && address.IsLoopback()
}

// inside is the address that clients inside the pod speak from. It alone is
// local to its node: a simulated one holds it so, and a real CrateDB, whose
// `_local_` is exactly 127.0.0.1 (HostBasedAuthentication, 6.4), is told so.
func (w *worker) inside() netip.Addr { return w.podAddress() }

// httpClient speaks from the given address. As curl, it does not follow
// redirections by itself.
func httpClient(from netip.Addr, tlsConfig *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if from.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: tlsConfig, DisableKeepAlives: true, Proxy: nil,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// curlOptions are the options that the sandbox's curl takes.
type curlOptions struct {
	url, method, body, user, output, writeOut, authority string
	headers                                              http.Header
	fail, insecure, include, silent, showError           bool
	limit                                                time.Duration
}

// curlValues are the options that take a value.
var curlValues = map[string]string{
	"o": "output", "w": "write-out", "m": "max-time", "u": "user", "H": "header", "X": "request", "d": "data", "A": "user-agent",
}

func (i *invocation) curlOptions() (curlOptions, error) {
	o := curlOptions{headers: http.Header{}}
	args := i.args[1:]
	next := func(name string) (string, error) {
		if len(args) == 0 {
			return "", fmt.Errorf("option --%s: requires parameter", name)
		}
		value := args[0]
		args = args[1:]
		return value, nil
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case strings.HasPrefix(arg, "--"):
			name, value, given := strings.Cut(arg[2:], "=")
			var err error
			if curlTakesValue(name) && !given {
				value, err = next(name)
			}
			if err == nil {
				err = o.set(name, value)
			}
			if err != nil {
				return o, err
			}
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			for at := 1; at < len(arg); at++ {
				letter := arg[at : at+1]
				if name, ok := curlValues[letter]; ok {
					value := arg[at+1:]
					var err error
					if value == "" {
						value, err = next(name)
					}
					if err == nil {
						err = o.set(name, value)
					}
					if err != nil {
						return o, err
					}
					break
				}
				if err := o.set(letter, ""); err != nil {
					return o, err
				}
			}
		default:
			o.url = arg
		}
	}
	if o.url == "" {
		return o, errors.New("no URL specified")
	}
	if !strings.Contains(o.url, "://") {
		o.url = "http://" + o.url
	}
	return o, nil
}

func curlTakesValue(name string) bool {
	switch name {
	case "output", "write-out", "max-time", "user", "header", "request", "data", "data-raw", "connect-timeout",
		"cacert", "retry", "retry-delay", "user-agent", "url":
		return true
	}
	return false
}

func (o *curlOptions) set(name, value string) error {
	switch name {
	case "output":
		o.output = value
	case "write-out":
		o.writeOut = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(value)
	case "max-time":
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("option --max-time: %q is no number", value)
		}
		o.limit = time.Duration(seconds * float64(time.Second))
	case "user":
		o.user = value
	case "header":
		key, text, _ := strings.Cut(value, ":")
		o.headers.Add(key, strings.TrimSpace(text))
	case "request":
		o.method = value
	case "data", "data-raw":
		o.body = value
	case "cacert":
		o.authority = value
	case "url":
		o.url = value
	case "f", "fail", "fail-with-body":
		o.fail = true
	case "k", "insecure":
		o.insecure = true
	case "i", "include":
		o.include = true
	case "I", "head":
		o.method, o.include = http.MethodHead, true
	case "s", "silent":
		o.silent = true
	case "S", "show-error":
		o.showError = true
	case "O", "remote-name":
		o.output = "/downloaded"
	case "L", "location", "v", "verbose", "4", "g", "globoff", "compressed", "no-progress-meter",
		"connect-timeout", "retry", "retry-delay", "user-agent", "http1.1":
	default:
		return fmt.Errorf("option %s: the sandbox's curl does not know it", name)
	}
	return nil
}

// curl asks the pod itself, other pods, or the metadata service that the sandbox
// plays; nothing else can be reached. Exit codes are curl's own.
func curl(ctx context.Context, i *invocation) int {
	o, err := i.curlOptions()
	if err != nil {
		return i.fail(2, "%v", err)
	}
	fail := func(code int, format string, args ...any) int {
		if o.silent && !o.showError {
			return code
		}
		return i.fail(code, "(%d) "+format, append([]any{code}, args...)...)
	}
	target, err := url.Parse(o.url)
	if err != nil {
		return fail(3, "URL rejected: %v", err)
	}
	if target.Hostname() == metadataAddress {
		return i.metadata(target)
	}
	named := target.Hostname()
	host, ok := i.container.ownHost(named)
	if !ok {
		return fail(6, "Could not resolve host: %s (the sandbox reaches only its own pods)", named)
	}
	target.Host = net.JoinHostPort(host, portOf(target))
	if o.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, o.limit)
		defer cancel()
		ctx = limited
	}
	tlsConfig, err := i.tlsConfig(o, named)
	if err != nil {
		return fail(77, "%v", err)
	}
	method := o.method
	if method == "" {
		method = http.MethodGet
		if o.body != "" {
			method = http.MethodPost
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(o.body))
	if err != nil {
		return fail(3, "%v", err)
	}
	request.Header = o.headers
	if o.user != "" {
		name, password, _ := strings.Cut(o.user, ":")
		request.SetBasicAuth(name, password)
	}
	response, err := httpClient(i.container.worker.inside(), tlsConfig).Do(request)
	if err != nil {
		return fail(curlCode(err), "%v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fail(curlCode(err), "reading the answer: %v", err)
	}
	if o.fail && response.StatusCode >= 400 {
		i.writeOut(o, response, len(body))
		return fail(22, "The requested URL returned error: %d", response.StatusCode)
	}
	var out bytes.Buffer
	if o.include {
		fmt.Fprintf(&out, "%s %s\n", response.Proto, response.Status)
		_ = response.Header.Write(&out)
		out.WriteString("\n")
	}
	out.Write(body)
	if err := i.output(o.output, out.Bytes()); err != nil {
		return fail(23, "Failure writing output: %v", err)
	}
	i.writeOut(o, response, len(body))
	return 0
}

func portOf(target *url.URL) string {
	if port := target.Port(); port != "" {
		return port
	}
	if target.Scheme == "https" {
		return "443"
	}
	return "80"
}

func (i *invocation) tlsConfig(o curlOptions, name string) (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: o.insecure, ServerName: name}
	if o.authority != "" {
		content, err := os.ReadFile(i.container.hostPath(o.authority))
		if err != nil {
			return nil, fmt.Errorf("error setting certificate file: %s", o.authority)
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(content)
	}
	return config, nil
}

func (i *invocation) output(name string, content []byte) error {
	switch name {
	case "", "-":
		_, err := i.Out.Write(content)
		return err
	case "/dev/null":
		return nil
	}
	file, err := i.container.open(name, true, false)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

func (i *invocation) writeOut(o curlOptions, response *http.Response, size int) {
	_, _ = io.WriteString(i.Out, strings.NewReplacer(
		"%{http_code}", fmt.Sprintf("%03d", response.StatusCode),
		"%{response_code}", fmt.Sprintf("%03d", response.StatusCode),
		"%{size_download}", strconv.Itoa(size),
	).Replace(o.writeOut))
}

func curlCode(err error) int {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	switch {
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return 28
	case errors.Is(err, syscall.ECONNREFUSED):
		return 7
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &name):
		return 60
	}
	return 56
}

// metadata answers as a cloud provider's metadata service would, with the zone
// of the pod's node.
func (i *invocation) metadata(target *url.URL) int {
	zone := i.container.worker.node.Zone
	switch {
	case strings.Contains(target.Path, "token"):
		zone = "sandbox-token"
	case strings.HasPrefix(target.Path, "/computeMetadata/"):
		zone = "projects/0/zones/" + zone
	}
	_, _ = io.WriteString(i.Out, zone)
	return 0
}
