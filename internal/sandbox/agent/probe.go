package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"stevedore.dev/stevedore/internal/sandbox/shell"
)

const (
	// longestProbePause bounds a probe's delay and period, which are meant for
	// machines under load; Options.ProbePause is for these.
	longestProbePause = time.Second
	// unreadyProbePause bounds the period until a probe has succeeded.
	unreadyProbePause = 200 * time.Millisecond
)

// exporterPort is that of the JMX exporter, whose /ready crate-operator's probe
// asks. The exporter is a download; what it would tell is whether CrateDB
// answers.
const exporterPort = "7071"

// probe runs the container's probes until ctx ends.
func (c *container) probe(ctx context.Context) {
	if startup := c.spec.StartupProbe; startup != nil {
		if !c.startUp(ctx, startup) {
			return
		}
	}
	var probes sync.WaitGroup
	defer probes.Wait()
	if liveness := c.spec.LivenessProbe; liveness != nil {
		probes.Add(1)
		go func() {
			defer probes.Done()
			c.repeat(ctx, "Liveness", liveness, func(ok bool) bool {
				if !ok {
					c.declareUnwell()
				}
				return ok
			})
		}()
	}
	if readiness := c.spec.ReadinessProbe; readiness != nil {
		c.repeat(ctx, "Readiness", readiness, func(ok bool) bool {
			c.mu.Lock()
			changed := c.ready != ok
			c.ready = ok
			run := c.instance
			c.mu.Unlock()
			if changed {
				if ok && run != nil {
					servesNow(run)
				}
				c.worker.changed()
			}
			return true
		})
	}
}

func (c *container) startUp(ctx context.Context, probe *corev1.Probe) bool {
	started := false
	c.repeat(ctx, "Startup", probe, func(ok bool) bool {
		started = ok
		if !ok {
			c.declareUnwell()
		}
		return false
	})
	if started {
		c.mu.Lock()
		c.started = true
		c.ready = c.spec.ReadinessProbe == nil
		c.mu.Unlock()
		c.worker.changed()
	}
	return started
}

// declareUnwell has the run ended and begun again.
func (c *container) declareUnwell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.unwell:
	default:
		close(c.unwell)
	}
}

// repeat asks a probe again and again; result hears of each answer that held for
// the probe's thresholds, and ends the repetition by false.
func (c *container) repeat(ctx context.Context, name string, probe *corev1.Probe, result func(ok bool) bool) {
	seconds := func(value, otherwise int32) time.Duration {
		if value == 0 {
			value = otherwise
		}
		return time.Duration(value) * time.Second
	}
	if probe.InitialDelaySeconds > 0 && !pause(ctx, min(seconds(probe.InitialDelaySeconds, 0), longestProbePause)) {
		return
	}
	period := min(seconds(probe.PeriodSeconds, 10), max(c.worker.agent.o.ProbePause, longestProbePause))
	succeeded, failed := int32(0), int32(0)
	reported := false
	for {
		limited, cancel := context.WithTimeout(ctx, seconds(probe.TimeoutSeconds, 1))
		why, ok := c.ask(limited, probe)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if name == "Readiness" && c.worker.fault("never-ready", c.spec.Image) {
			why, ok = "the fault never-ready is set", false
		}
		goOn := true
		if ok {
			succeeded, failed, reported = succeeded+1, 0, false
			if succeeded >= max(1, probe.SuccessThreshold) {
				goOn = result(true)
			}
		} else {
			succeeded, failed = 0, failed+1
			threshold := probe.FailureThreshold
			if threshold == 0 {
				threshold = 3
			}
			if failed >= threshold {
				goOn = result(false)
			}
			if !reported && failed >= threshold {
				reported = true
				c.worker.event(corev1.EventTypeWarning, "Unhealthy", name+" probe failed: "+why)
			}
		}
		rest := period
		if succeeded == 0 {
			rest = min(period, unreadyProbePause)
		}
		if name == "Startup" && !ok {
			rest = min(period, longestProbePause) // its failures are counted, they must not be hurried
		}
		if !goOn || !pause(ctx, rest) {
			return
		}
	}
}

// ask asks once, and says what a kubelet would of a failure: of a command what it printed,
// which may be nothing.
func (c *container) ask(ctx context.Context, probe *corev1.Probe) (said string, ok bool) {
	c.mu.Lock()
	crate := c.crate
	c.mu.Unlock()
	switch {
	case probe.Exec != nil:
		var out strings.Builder
		if code := c.execute(ctx, probe.Exec.Command, shell.Streams{Out: &out, Err: &out}); code != 0 {
			return strings.TrimSpace(out.String()), false
		}
		return "", true
	case !crate:
		return "", true // it only pretends to run
	case probe.HTTPGet != nil:
		said = c.askHTTP(ctx, probe.HTTPGet)
		return said, said == ""
	case probe.TCPSocket != nil:
		address := net.JoinHostPort(c.worker.podAddress().String(), c.port(probe.TCPSocket.Port))
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err.Error(), false
		}
		_ = connection.Close()
		return "", true
	}
	return "the sandbox does not know this kind of probe", false
}

// askHTTP asks from the node's address, as a kubelet does: so a CrateDB with
// host-based authentication answers 401.
func (c *container) askHTTP(ctx context.Context, get *corev1.HTTPGetAction) string {
	port := c.port(get.Port)
	if port == exporterPort {
		return c.askMonitor(ctx)
	}
	return askURL(ctx, c.worker.node.Address, c.url(cmp.Or(strings.ToLower(string(get.Scheme)), "http"), port, get.Path), get.HTTPHeaders)
}

// askMonitor asks CrateDB instead of the exporter, which reads CrateDB's beans: these are the same
// with TLS and without.
func (c *container) askMonitor(ctx context.Context) string {
	said := askURL(ctx, c.worker.inside(), c.url("http", "4200", "/"), nil)
	if said == "" || askURL(ctx, c.worker.inside(), c.url("https", "4200", "/"), nil) == "" {
		return ""
	}
	return said
}

func (c *container) url(scheme, port, path string) string {
	return fmt.Sprintf("%s://%s/%s", scheme, net.JoinHostPort(c.worker.podAddress().String(), port), strings.TrimPrefix(path, "/"))
}

func askURL(ctx context.Context, from netip.Addr, target string, headers []corev1.HTTPHeader) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err.Error()
	}
	for _, header := range headers {
		request.Header.Add(header.Name, header.Value)
	}
	response, err := httpClient(from, &tls.Config{InsecureSkipVerify: true}).Do(request)
	if err != nil {
		return err.Error()
	}
	_ = response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Sprintf("HTTP probe failed with statuscode: %d", response.StatusCode)
	}
	return ""
}

// port is the number of a port that may be given by its name.
func (c *container) port(port intstr.IntOrString) string {
	if port.Type == intstr.String {
		for _, each := range c.spec.Ports {
			if each.Name == port.StrVal {
				return strconv.Itoa(int(each.ContainerPort))
			}
		}
	}
	return port.String()
}
