package agent

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/sandbox/shell"
)

// invocation is one command that a container runs.
type invocation struct {
	container *container
	args      []string // args[0] is the command
	lookup    func(string) (string, bool)
	shell.Streams
}

// commands are all that a container can run. Each stays inside its pod: it sees
// the pod's folders and speaks to the pod's own address only. It is filled by
// init, because some commands run others.
var commands map[string]func(context.Context, *invocation) int

func init() {
	nothing := func(context.Context, *invocation) int { return 0 }
	commands = map[string]func(context.Context, *invocation) int{
		"crash": crash, "curl": curl, "wget": wget, "sh": runShell, "bash": runShell, "ash": runShell,
		"mkdir": mkdir, "rm": remove, "touch": touch, "cat": cat, "ls": ls, "test": test, "[": test,
		"echo": echo, "printf": printf, "awk": awk, "grep": grep, "xargs": xargs, "head": head, "tail": tail,
		"env": printEnvironment, "printenv": printEnvironment, "sleep": sleep, "hostname": hostname,
		"uname": uname, "timeout": timeout,
		"true": nothing, ":": nothing, "false": func(context.Context, *invocation) int { return 1 },
		"id": say("uid=1000(crate) gid=1000(crate)"), "whoami": say("crate"), "pwd": say("/"),
		// What these change belongs to the machine or to a user that only an
		// image has.
		"sysctl": nothing, "chown": nothing, "chmod": nothing, "ulimit": nothing, "umask": nothing, "sync": nothing,
	}
}

// execute runs a command in the container and returns its exit code.
func (c *container) execute(ctx context.Context, argv []string, s shell.Streams) int {
	return c.shellEnvironment().Run(ctx, argv, c.variables().lookup, s)
}

// shellEnvironment is what a script in the container sees.
func (c *container) shellEnvironment() shell.Environment {
	return shell.Environment{
		Lookup: c.variables().lookup,
		Open: func(name string, write, appending bool) (io.ReadWriteCloser, error) {
			return c.open(name, write, appending)
		},
		Run: func(ctx context.Context, args []string, lookup func(string) (string, bool), s shell.Streams) int {
			if s.In == nil {
				s.In = strings.NewReader("")
			}
			if s.Out == nil {
				s.Out = io.Discard
			}
			if s.Err == nil {
				s.Err = io.Discard
			}
			if len(args) == 0 {
				return 0
			}
			run, known := commands[path.Base(args[0])]
			if !known {
				fmt.Fprintf(s.Err, "%s: not found: the sandbox does not run programs of an image, it answers only a few commands itself\n", args[0])
				return 127
			}
			return run(ctx, &invocation{container: c, args: args, lookup: lookup, Streams: s})
		},
	}
}

func (i *invocation) fail(code int, format string, args ...any) int {
	fmt.Fprintf(i.Err, path.Base(i.args[0])+": "+format+"\n", args...)
	return code
}

// operands are the arguments that are no options; flags are all letters and long
// names of the options.
func (i *invocation) operands() (flags string, rest []string) {
	for at, arg := range i.args[1:] {
		if arg == "--" {
			return flags, append(rest, i.args[at+2:]...)
		}
		if strings.HasPrefix(arg, "-") && arg != "-" {
			flags += strings.TrimLeft(arg, "-")
			continue
		}
		rest = append(rest, arg)
	}
	return flags, rest
}

func say(text string) func(context.Context, *invocation) int {
	return func(_ context.Context, i *invocation) int {
		fmt.Fprintln(i.Out, text)
		return 0
	}
}

func runShell(ctx context.Context, i *invocation) int {
	source, ok := shellScript(i.args)
	if !ok {
		if len(i.args) > 1 && !strings.HasPrefix(i.args[1], "-") {
			return i.fail(127, "%s: the sandbox runs only -c SCRIPT or a script from standard input", i.args[1])
		}
		content, err := io.ReadAll(i.In)
		if err != nil {
			return i.fail(1, "reading the script: %v", err)
		}
		source = string(content)
	}
	environment := i.container.shellEnvironment()
	environment.Lookup = i.lookup
	return shell.Run(ctx, source, environment, i.Streams)
}

func mkdir(_ context.Context, i *invocation) int {
	flags, folders := i.operands()
	for _, folder := range folders {
		host := i.container.hostPath(folder)
		err := os.MkdirAll(host, 0o755)
		if err == nil {
			err = i.container.worker.own(host)
		}
		if err != nil {
			return i.fail(1, "cannot create directory %q: %v", folder, err)
		}
		if strings.Contains(flags, "v") {
			fmt.Fprintf(i.Out, "created directory: '%s'\n", folder)
		}
	}
	return 0
}

func remove(_ context.Context, i *invocation) int {
	flags, names := i.operands()
	for _, name := range names {
		host := i.container.hostPath(name)
		info, err := os.Lstat(host)
		switch {
		case err != nil && strings.Contains(flags, "f"):
			continue
		case err != nil:
			return i.fail(1, "cannot remove %q: No such file or directory", name)
		case info.IsDir() && !strings.ContainsAny(flags, "rR"):
			return i.fail(1, "cannot remove %q: Is a directory", name)
		}
		if err := os.RemoveAll(host); err != nil {
			return i.fail(1, "cannot remove %q: %v", name, err)
		}
	}
	return 0
}

func touch(_ context.Context, i *invocation) int {
	_, names := i.operands()
	for _, name := range names {
		file, err := i.container.open(name, true, true)
		if err != nil {
			return i.fail(1, "cannot touch %q: %v", name, err)
		}
		_ = file.Close()
	}
	return 0
}

func cat(_ context.Context, i *invocation) int {
	_, names := i.operands()
	if len(names) == 0 {
		_, _ = io.Copy(i.Out, i.In)
	}
	for _, name := range names {
		file, err := i.container.open(name, false, false)
		if err != nil {
			return i.fail(1, "%s: No such file or directory", name)
		}
		_, _ = io.Copy(i.Out, file)
		_ = file.Close()
	}
	return 0
}

// ls lists one name a line; -R also what is below, each folder under its name.
func ls(_ context.Context, i *invocation) int {
	flags, names := i.operands()
	if strings.Contains(flags, "R") {
		return i.listAll(names)
	}
	if len(names) == 0 {
		names = []string{"/"}
	}
	for _, name := range names {
		host := i.container.hostPath(name)
		info, err := os.Stat(host)
		if err != nil {
			return i.fail(2, "cannot access '%s': No such file or directory", name)
		}
		if !info.IsDir() {
			fmt.Fprintln(i.Out, name)
			continue
		}
		entries, _ := os.ReadDir(host)
		for _, entry := range entries {
			fmt.Fprintln(i.Out, entry.Name())
		}
	}
	return 0
}

func (i *invocation) listAll(names []string) int {
	code := 0
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		entries, err := os.ReadDir(i.container.hostPath(name))
		if err != nil {
			code = i.fail(2, "cannot open directory '%s': No such file or directory", name)
			continue
		}
		fmt.Fprintf(i.Out, "%s:\n", name)
		var below []string
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			fmt.Fprintln(i.Out, entry.Name())
			if entry.IsDir() {
				below = append(below, path.Join(name, entry.Name()))
			}
		}
		fmt.Fprintln(i.Out)
		names = append(below, names...)
	}
	return code
}

func test(_ context.Context, i *invocation) int {
	args := i.args[1:]
	if i.args[0] == "[" && len(args) > 0 && args[len(args)-1] == "]" {
		args = args[:len(args)-1]
	}
	negated := len(args) > 1 && args[0] == "!"
	if negated {
		args = args[1:]
	}
	holds := false
	switch len(args) {
	case 1:
		holds = args[0] != ""
	case 2:
		info, err := os.Stat(i.container.hostPath(args[1]))
		switch args[0] {
		case "-n":
			holds = args[1] != ""
		case "-z":
			holds = args[1] == ""
		case "-e":
			holds = err == nil
		case "-f":
			holds = err == nil && info.Mode().IsRegular()
		case "-d":
			holds = err == nil && info.IsDir()
		case "-s":
			holds = err == nil && info.Size() > 0
		default:
			return i.fail(2, "%s is not supported here", args[0])
		}
	case 3:
		left, errLeft := strconv.Atoi(args[0])
		right, errRight := strconv.Atoi(args[2])
		numbers := errLeft == nil && errRight == nil
		switch args[1] {
		case "=", "==":
			holds = args[0] == args[2]
		case "!=":
			holds = args[0] != args[2]
		case "-eq":
			holds = numbers && left == right
		case "-ne":
			holds = numbers && left != right
		case "-gt":
			holds = numbers && left > right
		case "-ge":
			holds = numbers && left >= right
		case "-lt":
			holds = numbers && left < right
		case "-le":
			holds = numbers && left <= right
		default:
			return i.fail(2, "%s is not supported here", args[1])
		}
	}
	if holds != negated {
		return 0
	}
	return 1
}

func echo(_ context.Context, i *invocation) int {
	args, end := i.args[1:], "\n"
	if len(args) > 0 && args[0] == "-n" {
		args, end = args[1:], ""
	}
	_, _ = io.WriteString(i.Out, strings.Join(args, " ")+end)
	return 0
}

func printf(_ context.Context, i *invocation) int {
	if len(i.args) < 2 {
		return i.fail(2, "a format is missing")
	}
	text := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(i.args[1])
	for _, arg := range i.args[2:] {
		text = strings.Replace(text, "%s", strings.ReplaceAll(arg, "%s", "%%s"), 1)
	}
	_, _ = io.WriteString(i.Out, strings.ReplaceAll(text, "%%", "%"))
	return 0
}

func printEnvironment(_ context.Context, i *invocation) int {
	if len(i.args) > 1 {
		value, ok := i.lookup(i.args[1])
		if !ok {
			return 1
		}
		fmt.Fprintln(i.Out, value)
		return 0
	}
	for _, line := range i.container.variables().list() {
		fmt.Fprintln(i.Out, line)
	}
	return 0
}

func sleep(ctx context.Context, i *invocation) int {
	total := time.Duration(0)
	for _, arg := range i.args[1:] {
		if _, err := strconv.ParseFloat(arg, 64); err == nil {
			arg += "s"
		}
		duration, err := time.ParseDuration(arg)
		if err != nil {
			return i.fail(1, "invalid time interval '%s'", arg)
		}
		total += duration
	}
	if !pause(ctx, total) {
		return 143
	}
	return 0
}

func timeout(ctx context.Context, i *invocation) int {
	_, rest := i.operands()
	if len(rest) < 2 {
		return i.fail(125, "a duration and a command are needed")
	}
	limit, err := time.ParseDuration(strings.TrimSuffix(rest[0], "s") + "s")
	if err != nil {
		return i.fail(125, "invalid time interval '%s'", rest[0])
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	at := slices.Index(i.args, rest[0])
	code := i.container.shellEnvironment().Run(limited, i.args[at+1:], i.lookup, i.Streams)
	if limited.Err() != nil && ctx.Err() == nil {
		return 124
	}
	return code
}

func hostname(_ context.Context, i *invocation) int {
	flags, _ := i.operands()
	name := i.container.worker.name
	if strings.ContainsAny(flags, "iI") {
		name = i.container.worker.podAddress().String()
	}
	fmt.Fprintln(i.Out, name)
	return 0
}

func uname(_ context.Context, i *invocation) int {
	flags, _ := i.operands()
	name := "Linux"
	if strings.Contains(flags, "m") {
		name = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	}
	fmt.Fprintln(i.Out, name)
	return 0
}

// wget fetches nothing from outside: a download in an init container succeeds
// and leaves no file. Of the pod itself it reads, as curl does.
func wget(ctx context.Context, i *invocation) int {
	for _, arg := range i.args[1:] {
		parsed, err := url.Parse(arg)
		if err != nil || parsed.Host == "" {
			continue
		}
		if _, own := i.container.ownHost(parsed.Hostname()); own {
			i.args = []string{"curl", "-sf", arg}
			return curl(ctx, i)
		}
		fmt.Fprintf(i.Err, "wget: the sandbox does not download %s\n", arg)
	}
	return 0
}
