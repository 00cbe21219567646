package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/cratehome"
	"stevedore.dev/stevedore/internal/sandbox/shell"
)

// crateContainer is the name of the container that runs CrateDB, in
// crate-operator's pods and in ours.
const crateContainer = "crate"

// releaseTag is the tag of an image whose version can be known.
var releaseTag = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// crateImage splits the image of a CrateDB release: the tag is its version.
func crateImage(image string) (tag string, ok bool) {
	image, _, _ = strings.Cut(image, "@")
	base := path.Base(image)
	name, tag, _ := strings.Cut(base, ":")
	return tag, name == "crate"
}

// checkImage plays the pull of the image. Only CrateDB releases can be served in
// the place of CrateDB; what else a pod has only pretends to run.
func (c *container) checkImage() error {
	tag, ok := crateImage(c.spec.Image)
	gone := c.worker.fault("missing", c.spec.Image)
	if !ok && !gone && !c.hasCrateImage() {
		return nil
	}
	why := ""
	switch {
	case gone:
		why = "the fault missing is set"
	case !ok:
		why = "the sandbox serves only images named crate in a container named crate"
	case !releaseTag.MatchString(tag):
		why = "the sandbox needs the tag of a release, such as 6.4.3"
	case c.worker.agent.o.CrateDBHome != "":
		if _, err := cratehome.Find(c.worker.agent.o.CrateDBHome, tag); err != nil {
			why = err.Error()
		}
	}
	if why == "" {
		return nil
	}
	return configError{imagePullBackOff, fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", c.spec.Image, why)}
}

// hasCrateImage: it is CrateDB's container, or an init container on the same image, which
// cannot start where that one cannot be pulled.
func (c *container) hasCrateImage() bool {
	return slices.ContainsFunc(c.worker.current().Spec.Containers, func(each corev1.Container) bool {
		return each.Name == crateContainer && each.Image == c.spec.Image
	})
}

// bootstrapCheckWords are what CrateDB ends its log with where a bootstrap check fails.
const bootstrapCheckWords = `[2026-01-02T03:04:05,678][ERROR][o.e.b.Bootstrap          ] [node] Exception
org.elasticsearch.node.NodeValidationException: [1] bootstrap checks failed
[1]: max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144] by adding ` + "`vm.max_map_count = 262144` to `/etc/sysctl.conf`" + ` or invoking ` + "`sysctl -w vm.max_map_count=262144`" + `
	at org.elasticsearch.bootstrap.BootstrapChecks.check(BootstrapChecks.java:122)
[2026-01-02T03:04:05,700][INFO ][o.e.n.Node               ] [node] stopping ...
[2026-01-02T03:04:05,710][INFO ][o.e.n.Node               ] [node] closed
`

// launch starts one run of the container.
func (c *container) launch(ctx context.Context, log *logFile) (instance, error) {
	_, crate := crateImage(c.spec.Image)
	if c.worker.fault("exit", c.spec.Image) && !c.init {
		return newScript(func(context.Context) int {
			fmt.Fprintln(log, "this image starts no CrateDB")
			return 1
		}), nil
	}
	if c.worker.fault("bootstrap-check", c.spec.Image) && !c.init {
		return newScript(func(context.Context) int {
			fmt.Fprint(log, bootstrapCheckWords)
			return 78
		}), nil
	}
	argv := c.commandLine()
	if c.init {
		if len(argv) == 0 {
			return nil, badConfig("the init container %s has no command; the sandbox does not know its image's own", c.spec.Name)
		}
		return newScript(func(ctx context.Context) int {
			return c.execute(ctx, argv, shell.Streams{Out: log, Err: log})
		}), nil
	}
	if !crate {
		fmt.Fprintf(log, "the sandbox only pretends to run %s\n", c.spec.Image)
		return newPretend(), nil
	}
	args, err := c.crateArguments(ctx, argv, log)
	if err != nil {
		return nil, err
	}
	if args == nil {
		return newScript(func(ctx context.Context) int {
			return c.execute(ctx, argv, shell.Streams{Out: log, Err: log})
		}), nil
	}
	c.mu.Lock()
	c.crate = true
	c.mu.Unlock()
	if c.worker.agent.o.CrateDBHome != "" {
		return c.launchRelease(args, log)
	}
	return c.launchSimulated(args, log)
}

// commandLine is the command and its arguments, $(NAME) replaced.
func (c *container) commandLine() []string {
	var argv []string
	for _, each := range slices.Concat(c.spec.Command, c.spec.Args) {
		argv = append(argv, c.variables().replace(each))
	}
	return argv
}

// crateArguments are the arguments of bin/crate in a command, expanded as the
// image's entry point has a shell expand them; nil when the command does not
// start CrateDB.
func (c *container) crateArguments(ctx context.Context, argv []string, log io.Writer) ([]string, error) {
	if len(c.spec.Command) == 0 {
		argv = append([]string{"/docker-entrypoint.sh"}, argv...)
	}
	if script, ok := shellScript(argv); ok {
		// A script that ends in CrateDB: run it up to there.
		var found []string
		environment := c.shellEnvironment()
		run := environment.Run
		environment.Run = func(ctx context.Context, args []string, lookup func(string) (string, bool), s shell.Streams) int {
			if rest, ok := afterCrate(args); ok {
				found = append([]string{}, rest...)
				return 0
			}
			return run(ctx, args, lookup, s)
		}
		code := shell.Run(ctx, script, environment, shell.Streams{Out: log, Err: log})
		if found == nil {
			return nil, nil
		}
		if code != 0 {
			return nil, fmt.Errorf("the script before CrateDB's start ended with exit code %d", code)
		}
		return found, nil
	}
	rest, ok := afterCrate(argv)
	if !ok {
		return nil, nil
	}
	expanded := []string{}
	for _, each := range rest {
		text, err := shell.Expand(ctx, each, c.shellEnvironment())
		if err != nil {
			return nil, fmt.Errorf("preparing the arguments of CrateDB: %w", err)
		}
		expanded = append(expanded, text)
	}
	return expanded, nil
}

// afterCrate strips the program that starts CrateDB.
func afterCrate(argv []string) ([]string, bool) {
	if len(argv) > 0 && path.Base(argv[0]) == "docker-entrypoint.sh" {
		argv = argv[1:]
		if len(argv) == 0 || strings.HasPrefix(argv[0], "-") {
			return argv, true
		}
	}
	if len(argv) > 0 && path.Base(argv[0]) == "crate" {
		return argv[1:], true
	}
	return nil, false
}

// shellScript is the script of `sh -c SCRIPT`.
func shellScript(argv []string) (string, bool) {
	if len(argv) < 3 || !slices.Contains([]string{"sh", "bash", "ash", "dash"}, path.Base(argv[0])) {
		return "", false
	}
	prefix := ""
	for i, option := range argv[1:] {
		if !strings.HasPrefix(option, "-") {
			return "", false
		}
		if strings.Contains(option, "e") && !strings.HasPrefix(option, "--") {
			prefix = "set -e\n"
		}
		if strings.HasSuffix(option, "c") && i+2 < len(argv) {
			return prefix + argv[i+2], true
		}
	}
	return "", false
}

// onThisMachine maps the paths in an argument such as -Cpath.data=/a,/b.
func (c *container) onThisMachine(argument string) string {
	name, value, found := strings.Cut(argument, "=")
	if !found || !strings.HasPrefix(argument, "-") {
		return argument
	}
	items := strings.Split(value, ",")
	for i, item := range items {
		if path.IsAbs(item) {
			items[i] = c.hostPath(item)
		}
	}
	return name + "=" + strings.Join(items, ",")
}

// argument is the value of -Cname=value.
func argument(args []string, name string) string {
	found := ""
	for _, each := range args {
		if value, ok := strings.CutPrefix(each, "-C"+name+"="); ok {
			found = value
		}
	}
	return found
}

// simulatedArguments are those of CrateDB with paths of this machine. Paths of repositories
// stay, since statements name them as the container has them.
func (c *container) simulatedArguments(args []string) (out []string) {
	for path := range strings.SplitSeq(argument(args, "path.repo"), ",") {
		if path != "" {
			out = append(out, "--repository-folder", path+"="+c.hostPath(path))
		}
	}
	out = append(out, "--")
	for _, each := range args {
		if !strings.HasPrefix(each, "-Cpath.repo=") {
			each = c.onThisMachine(each)
		}
		out = append(out, each)
	}
	return out
}

// launchSimulated starts a node of the CrateDB simulator.
func (c *container) launchSimulated(args []string, log io.Writer) (instance, error) {
	a := c.worker.agent
	tag, _ := crateImage(c.spec.Image)
	seeds := filepath.Join(c.worker.dir, "seeds")
	query := argument(args, "discovery.srv.query")
	if err := a.writeSeeds(seeds, query); err != nil {
		return nil, err
	}
	c.worker.setSeeds(seeds, query)
	node := []string{
		"--hub", a.o.HubSocket, "--address", c.worker.podAddress().String(), "--version", tag, "--seed-file", seeds,
		"--volumes", a.volumesFolder(),
	}
	node = append(node, c.simulatedArguments(args)...)
	env := c.variables().list("PATH=" + os.Getenv("PATH"))
	if a.o.RunNode != nil {
		return newScript(func(ctx context.Context) int { return a.o.RunNode(ctx, node, env, log) }), nil
	}
	argv := slices.Concat(a.o.NodeCommand, node)
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = c.rootFolder()
	command.Env = env
	command.Stdout, command.Stderr = log, log
	return a.o.Starter.Start(command, nil)
}

// script is a run that the agent carries out itself.
type script struct {
	done   chan struct{}
	cancel context.CancelFunc
	code   int
}

func newScript(run func(context.Context) int) *script {
	ctx, cancel := context.WithCancel(context.Background())
	s := &script{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(s.done)
		defer cancel()
		code := run(ctx)
		if code != 0 && ctx.Err() != nil {
			code = 128 + int(syscall.SIGTERM)
		}
		s.code = code
	}()
	return s
}

func (s *script) Done() <-chan struct{} { return s.done }
func (s *script) ExitCode() int         { return s.code }
func (s *script) Signal(syscall.Signal) { s.cancel() }

// newPretend is a run that does nothing until it is told to end.
func newPretend() *script {
	return newScript(func(ctx context.Context) int {
		<-ctx.Done()
		return 0
	})
}
