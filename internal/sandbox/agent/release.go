package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratehome"
	"stevedore.dev/stevedore/internal/sandbox/process"
)

// maxHeap bounds a real node's heap in bytes, whatever its pod asks for: several
// nodes share one machine.
const maxHeap = 512 << 20

// launchRelease starts a real CrateDB.
func (c *container) launchRelease(args []string, log io.Writer) (instance, error) {
	a := c.worker.agent
	tag, _ := crateImage(c.spec.Image)
	home, err := cratehome.Find(a.o.CrateDBHome, tag)
	if err != nil {
		return nil, err
	}
	configuration, err := c.configuration(home, argument(args, "discovery.srv.query"))
	if err != nil {
		return nil, err
	}
	logs := filepath.Join(c.worker.dir, "logs", "crate-files")
	temporary := filepath.Join(c.worker.dir, "tmp")
	for _, folder := range []string{logs, temporary, c.rootFolder()} {
		err := os.MkdirAll(folder, 0o711)
		if err == nil {
			err = c.worker.own(folder)
		}
		if err != nil {
			return nil, fmt.Errorf("making the folders of a node: %w", err)
		}
	}
	// The logs folder holds the containers' logs too: others may pass.
	if err := os.Chmod(filepath.Dir(logs), 0o711); err != nil {
		return nil, fmt.Errorf("making the folders of a node: %w", err)
	}
	address := c.worker.podAddress().String()
	command := exec.Command(filepath.Join(home, "bin", "crate"),
		c.releaseArguments(args, address, configuration, logs)...)
	command.Dir = c.rootFolder()
	command.Env = append(c.variables().list("PATH="+os.Getenv("PATH")),
		"CRATE_HEAP_SIZE="+c.heap(),
		"CRATE_JAVA_OPTS="+c.javaOptions(address)+" -Djava.io.tmpdir="+temporary,
		"CRATE_DISABLE_GC_LOGGING=1",
		"JAVA_HOME="+filepath.Join(home, "jdk"),
		"HOME="+c.rootFolder(),
	)
	command.Stdout, command.Stderr = log, log
	node, err := a.o.Starter.Start(command, a.identity)
	if err == nil && os.Geteuid() == 0 {
		// See servesNow. That it cannot be done slows others, and ends nothing.
		_ = node.SetPriority(startingPriority)
	}
	return node, err
}

// startingPriority is the nice value of a node until it is ready. In Kubernetes
// each pod has processor time of its own; here one that starts would take it
// from those that serve, which then answer nothing for seconds.
const startingPriority = 10

// servesNow gives a node that has become ready its share.
func servesNow(run instance) {
	if node, ok := run.(*process.Process); ok && os.Geteuid() == 0 {
		_ = node.SetPriority(0)
	}
}

// configuration copies the release's configuration for one node, with a list of
// seeds that follows the discovery service: a release that was built without the
// plugin for SRV records still reads the list.
func (c *container) configuration(home, query string) (string, error) {
	folder := filepath.Join(c.worker.dir, "conf")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making a node's configuration: %w", err)
	}
	for _, name := range []string{"crate.yml", "log4j2.properties"} {
		content, err := os.ReadFile(filepath.Join(home, "config", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		content = bytes.ReplaceAll(content, []byte("address: _local_"), []byte("address: "+c.worker.podAddress().String())) // as in releaseArguments
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o644)
		}
		if err != nil {
			return "", fmt.Errorf("making a node's configuration: %w", err)
		}
	}
	seeds := filepath.Join(folder, "unicast_hosts.txt")
	if err := c.worker.agent.writeSeeds(seeds, query); err != nil {
		return "", err
	}
	c.worker.setSeeds(seeds, query)
	return folder, nil
}

// escapeEval escapes what bin/crate evaluates once more, inside double quotes.
var escapeEval = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// releaseArguments turns the arguments of a pod into those of a process on this
// machine: its own address, its folders, its seeds.
func (c *container) releaseArguments(args []string, address, configuration, logs string) []string {
	replaced := []string{
		"network.host", "network.bind_host", "network.publish_host", "discovery.seed_providers",
		"discovery.srv.query", "discovery.srv.resolver", "path.conf", "path.logs",
	}
	var made []string
	ports := map[string]string{"http.port": "4200", "transport.tcp.port": "4300", "psql.port": "5432"}
	for _, each := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(each, "-C"), "=")
		delete(ports, name)
		if slices.Contains(replaced, name) {
			continue
		}
		if strings.HasPrefix(name, "auth.host_based.config.") && strings.HasSuffix(each, ".address=_local_") {
			// CrateDB means 127.0.0.1, from where everybody on this machine comes; in a
			// network of its own only clients in the pod would.
			each = "-C" + name + "=" + address
		}
		made = append(made, escapeEval.Replace(c.onThisMachine(each)))
	}
	made = append(made, "-Cnetwork.host="+address, "-Cpath.conf="+configuration, "-Cpath.logs="+logs)
	if argument(args, "discovery.seed_providers") != "" {
		made = append(made, "-Cdiscovery.seed_providers=file")
	}
	for _, name := range []string{"http.port", "transport.tcp.port", "psql.port"} {
		if port, ok := ports[name]; ok {
			made = append(made, "-C"+name+"="+port)
		}
	}
	return made
}

// heap is CRATE_HEAP_SIZE, maxHeap at most.
func (c *container) heap() string {
	text, _ := c.variables().lookup("CRATE_HEAP_SIZE")
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		units := map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30}
		if length := len(text); length > 1 {
			if number, bad := strconv.ParseInt(text[:length-1], 10, 64); bad == nil {
				size = number * units[text[length-1]|0x20]
			}
		}
	}
	if size <= 0 || size > maxHeap {
		size = maxHeap
	}
	return strconv.FormatInt(size, 10)
}

// quickStart leaves out Java's second compiler, which pays off after minutes and
// costs half of the processor time of a node's start: here several nodes share
// the machine with everything else, and none lives long.
const quickStart = "-XX:TieredStopAtLevel=1"

// javaOptions drops agents whose files are not there (a pod would have fetched
// them) and binds JMX to the pod's address, where it cannot meet other nodes.
// What the pod asks for comes last, so that it wins.
func (c *container) javaOptions(address string) string {
	text, _ := c.variables().lookup("CRATE_JAVA_OPTS")
	made := []string{quickStart}
	for _, option := range strings.Fields(text) {
		switch {
		case strings.HasPrefix(option, "-javaagent:"):
			file, rest, _ := strings.Cut(strings.TrimPrefix(option, "-javaagent:"), "=")
			host := c.hostPath(file)
			if info, err := os.Stat(host); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
				continue
			}
			option = "-javaagent:" + host
			if rest != "" {
				option += "=" + address + ":" + rest
			}
		case strings.HasPrefix(option, "-Djava.rmi.server.hostname="):
			option = "-Djava.rmi.server.hostname=" + address
		case strings.HasPrefix(option, "-Dcom.sun.management.jmxremote.port="):
			option += " -Dcom.sun.management.jmxremote.host=" + address
		default:
			option = c.onThisMachine(option)
		}
		made = append(made, option)
	}
	return strings.Join(made, " ")
}
