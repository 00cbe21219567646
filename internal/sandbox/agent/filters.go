package agent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/sandbox/shell"
)

// awkField is the one program of awk that a pod's name needs.
var awkField = regexp.MustCompile(`^\s*\{\s*print\s+\$(\d+|NF)\s*;?\s*\}\s*$`)

func awk(_ context.Context, i *invocation) int {
	separator, program := "", ""
	for at := 1; at < len(i.args); at++ {
		switch arg := i.args[at]; {
		case arg == "-F" && at+1 < len(i.args):
			at++
			separator = i.args[at]
		case strings.HasPrefix(arg, "-F"):
			separator = arg[2:]
		default:
			program = arg
		}
	}
	field := awkField.FindStringSubmatch(program)
	if field == nil {
		return i.fail(2, "the sandbox knows only '{print $N}' and '{print $NF}'")
	}
	lines := bufio.NewScanner(i.In)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if separator != "" && separator != " " {
			fields = strings.Split(lines.Text(), separator)
		}
		at := len(fields)
		if field[1] != "NF" {
			at, _ = strconv.Atoi(field[1])
		}
		switch {
		case field[1] == "0" || at == 0:
			fmt.Fprintln(i.Out, lines.Text())
		case at <= len(fields):
			fmt.Fprintln(i.Out, fields[at-1])
		default:
			fmt.Fprintln(i.Out)
		}
	}
	return 0
}

func grep(_ context.Context, i *invocation) int {
	flags, rest := i.operands()
	if len(rest) == 0 {
		return i.fail(2, "a pattern is missing")
	}
	pattern := rest[0]
	if strings.Contains(flags, "F") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if strings.Contains(flags, "i") {
		pattern = "(?i)" + pattern
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return i.fail(2, "%v", err)
	}
	input := i.In
	if len(rest) > 1 {
		file, err := i.container.open(rest[1], false, false)
		if err != nil {
			return i.fail(2, "%s: No such file or directory", rest[1])
		}
		defer file.Close()
		input = file
	}
	matches := 0
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		if compiled.MatchString(lines.Text()) == strings.Contains(flags, "v") {
			continue
		}
		matches++
		if !strings.ContainsAny(flags, "qc") {
			fmt.Fprintln(i.Out, lines.Text())
		}
	}
	if strings.Contains(flags, "c") {
		fmt.Fprintln(i.Out, matches)
	}
	if matches == 0 {
		return 1
	}
	return 0
}

// xargs runs a command once for each line (-I MARK), or once with all words.
func xargs(ctx context.Context, i *invocation) int {
	args, mark := i.args[1:], ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-I" && len(args) > 1 {
			mark = args[1]
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	content, _ := io.ReadAll(i.In)
	run := func(argv []string) int {
		return i.container.shellEnvironment().Run(ctx, argv, i.lookup, shell.Streams{Out: i.Out, Err: i.Err})
	}
	if mark == "" {
		return run(append(slices.Clone(args), strings.Fields(string(content))...))
	}
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		argv := slices.Clone(args)
		for at := range argv {
			argv[at] = strings.ReplaceAll(argv[at], mark, line)
		}
		if code := run(argv); code != 0 {
			return code
		}
	}
	return 0
}

func head(_ context.Context, i *invocation) int {
	lines := i.lines()
	return i.print(lines[:min(i.count(), len(lines))])
}

func tail(_ context.Context, i *invocation) int {
	lines := i.lines()
	return i.print(lines[max(0, len(lines)-i.count()):])
}

func (i *invocation) lines() []string {
	content, _ := io.ReadAll(i.In)
	lines := strings.SplitAfter(string(content), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// count is the number in -n N, -nN or -N; 10 without.
func (i *invocation) count() int {
	for _, arg := range i.args[1:] {
		if n, err := strconv.Atoi(strings.TrimLeft(arg, "-n")); err == nil && n >= 0 {
			return n
		}
	}
	return 10
}

func (i *invocation) print(lines []string) int {
	_, _ = io.WriteString(i.Out, strings.Join(lines, ""))
	return 0
}
