package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/sandbox/process"
)

// maxHeap bounds a real node's heap in bytes, whatever its pod asks for: several
// nodes share one machine.
const maxHeap = 512 << 20

// unprivileged is who real CrateDB runs as: it refuses to be root.
func unprivileged() (*process.Identity, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"crate", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(found.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(found.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &process.Identity{User: uint32(uid), Group: uint32(gid)}, nil
		}
	}
	return nil, errors.New("running a real CrateDB: it refuses to run as root and there is no user crate or nobody; " +
		"start the sandbox as another user")
}

// versionInName finds a release's version in the name of a folder or a library.
var versionInName = regexp.MustCompile(`(\d+\.\d+\.\d+)`)

// release is the home of the release that serves a version: the exact one, else
// the only one of that minor.
func (a *Agent) release(version string) (string, error) {
	home := a.o.CrateDBHome
	if isRelease(home) {
		// One release, of a version that may not be known: a build of one's own.
		known := versionOfRelease(home)
		if !releaseTag.MatchString(known) || minor(known) == minor(version) {
			return home, nil
		}
		return "", fmt.Errorf("the release in %s is %s, not %s", home, known, version)
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return "", fmt.Errorf("looking for CrateDB releases: %w", err)
	}
	var all, same []string
	for _, entry := range entries {
		folder := filepath.Join(home, entry.Name())
		found := versionInName.FindString(entry.Name())
		if found == "" || !isRelease(folder) {
			continue
		}
		if found == version {
			return folder, nil
		}
		all = append(all, found)
		if minor(found) == minor(version) {
			same = append(same, folder)
		}
	}
	switch {
	case len(same) == 1:
		return same[0], nil
	case len(same) > 1:
		return "", fmt.Errorf("%s has several releases of %s but not %s: unpack that one there", home, minor(version), version)
	case len(all) == 0:
		return "", fmt.Errorf("%s has no CrateDB release: unpack one to %s", home, filepath.Join(home, version))
	}
	slices.Sort(all)
	return "", fmt.Errorf("%s has no release %s, it has %s", home, version, strings.Join(all, ", "))
}

func isRelease(folder string) bool {
	info, err := os.Stat(filepath.Join(folder, "bin", "crate"))
	return err == nil && !info.IsDir()
}

func versionOfRelease(home string) string {
	if content, err := os.ReadFile(filepath.Join(home, "VERSION")); err == nil {
		return strings.TrimSpace(string(content))
	}
	libraries, _ := filepath.Glob(filepath.Join(home, "lib", "crate-*.jar"))
	for _, library := range libraries {
		if found := versionInName.FindString(filepath.Base(library)); found != "" {
			return found
		}
	}
	resolved, err := filepath.EvalSymlinks(home)
	if err != nil {
		resolved = home
	}
	return versionInName.FindString(filepath.Base(resolved))
}

func minor(version string) string { return version[:strings.LastIndexByte(version, '.')] }

// launchRelease starts a real CrateDB.
func (c *container) launchRelease(args []string, log io.Writer) (instance, error) {
	a := c.worker.agent
	tag, _ := crateImage(c.spec.Image)
	home, err := a.release(tag)
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
