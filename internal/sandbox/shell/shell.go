// Package shell runs the small part of the POSIX shell language that the
// containers of a CrateDB cluster use: lists, pipelines, conditions, variables,
// command substitution and redirections. Commands are functions of the caller's,
// never programs of this machine, so a pod's script cannot reach beyond its pod.
// Loops, arithmetic and functions are refused.
package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Streams are a command's standard streams; a nil In reads as empty.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Environment is what a script runs in.
type Environment struct {
	// Lookup is the value of a variable.
	Lookup func(name string) (string, bool)
	// Run carries out one simple command and returns its exit code; args[0]
	// is the command's name. lookup sees the script's own assignments too.
	Run func(ctx context.Context, args []string, lookup func(string) (string, bool), streams Streams) int
	// Open opens a file for a redirection; nil refuses all but /dev/null.
	Open func(path string, write, appending bool) (io.ReadWriteCloser, error)
}

// exitError ends the whole script.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// Run runs a script and returns its exit code; 2 and a message on streams.Err
// for a script that cannot be understood, as a shell does.
func Run(ctx context.Context, script string, environment Environment, streams Streams) int {
	parsed, err := parse(script)
	if err != nil {
		fmt.Fprintf(streams.Err, "sh: %v\n", err)
		return 2
	}
	if streams.In == nil {
		streams.In = strings.NewReader("")
	}
	i := &interpreter{environment: environment, variables: map[string]string{}}
	code, err := i.list(ctx, parsed, streams)
	return finish(code, err, streams.Err)
}

func finish(code int, err error, messages io.Writer) int {
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case err != nil:
		fmt.Fprintf(messages, "sh: %v\n", err)
		return 2
	}
	return code
}

// Expand expands text as a shell does between double quotes: variables and
// command substitutions, no field splitting.
func Expand(ctx context.Context, text string, environment Environment) (string, error) {
	p := &parser{source: text}
	parts, err := p.scanWord(true)
	if err != nil {
		return "", fmt.Errorf("expanding %q: %w", text, err)
	}
	var messages bytes.Buffer
	i := &interpreter{environment: environment, variables: map[string]string{}}
	fields, err := i.expand(ctx, parts, Streams{In: strings.NewReader(""), Out: io.Discard, Err: &messages})
	if err != nil {
		return "", fmt.Errorf("expanding %q: %w", text, err)
	}
	if i.status != 0 {
		return "", fmt.Errorf("expanding %q: exit code %d: %s", text, i.status, strings.TrimSpace(messages.String()))
	}
	return strings.Join(fields, " "), nil
}

type interpreter struct {
	environment Environment
	variables   map[string]string
	status      int
	errexit     bool
}

func (i *interpreter) lookup(name string) (string, bool) {
	if name == "?" {
		return strconv.Itoa(i.status), true
	}
	if value, ok := i.variables[name]; ok {
		return value, true
	}
	return i.environment.Lookup(name)
}

func (i *interpreter) list(ctx context.Context, l *list, streams Streams) (int, error) {
	code := 0
	for at, item := range l.items {
		if item.operator == "&&" && code != 0 || item.operator == "||" && code == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 1, err
		}
		var err error
		if code, err = i.node(ctx, item.node, streams); err != nil {
			return code, err
		}
		i.status = code
		guarded := at+1 < len(l.items) && l.items[at+1].operator != ";"
		if code != 0 && i.errexit && !guarded {
			return code, exitError{code}
		}
	}
	return code, nil
}

func (i *interpreter) node(ctx context.Context, n node, streams Streams) (int, error) {
	switch n := n.(type) {
	case *pipeline:
		return i.pipeline(ctx, n, streams)
	case *group:
		return i.list(ctx, n.body, streams)
	case *conditional:
		for _, branch := range n.branches {
			errexit := i.errexit
			i.errexit = false
			code, err := i.list(ctx, branch.condition, streams)
			i.errexit = errexit
			if err != nil {
				return code, err
			}
			if code == 0 {
				return i.list(ctx, branch.body, streams)
			}
		}
		if n.otherwise != nil {
			return i.list(ctx, n.otherwise, streams)
		}
		return 0, nil
	case *command:
		return i.command(ctx, n, streams)
	}
	return 2, fmt.Errorf("a %T cannot be run", n)
}

// pipeline runs its commands one after the other: each of them ends by itself.
func (i *interpreter) pipeline(ctx context.Context, p *pipeline, streams Streams) (int, error) {
	input := streams.In
	code := 0
	for at, one := range p.commands {
		own := Streams{In: input, Out: streams.Out, Err: streams.Err}
		var between *bytes.Buffer
		if at < len(p.commands)-1 {
			between = &bytes.Buffer{}
			own.Out = between
		}
		var err error
		if code, err = i.node(ctx, one, own); err != nil {
			return code, err
		}
		if between != nil {
			input = between
		}
	}
	if p.negated {
		if code == 0 {
			return 1, nil
		}
		return 0, nil
	}
	return code, nil
}

func (i *interpreter) command(ctx context.Context, c *command, streams Streams) (int, error) {
	var args []string
	for _, w := range c.words {
		fields, err := i.expand(ctx, w, streams)
		if err != nil {
			return 2, err
		}
		args = append(args, fields...)
	}
	if len(args) == 0 {
		i.status = 0 // the code of a substitution below, if there is one
	}
	own := map[string]string{}
	for _, a := range c.assignments {
		fields, err := i.expand(ctx, a.value, streams)
		if err != nil {
			return 2, err
		}
		own[a.name] = strings.Join(fields, " ")
	}
	if len(args) == 0 {
		for name, value := range own {
			i.variables[name] = value
		}
		return i.status, nil
	}
	streams, closeAll, err := i.redirect(ctx, c.redirects, streams)
	defer closeAll()
	if err != nil {
		fmt.Fprintf(streams.Err, "sh: %v\n", err)
		return 1, nil
	}
	lookup := func(name string) (string, bool) {
		if value, ok := own[name]; ok {
			return value, true
		}
		return i.lookup(name)
	}
	switch args[0] {
	case "exit":
		code := i.status
		if len(args) > 1 {
			code, _ = strconv.Atoi(args[1])
		}
		return code, exitError{code}
	case "set":
		for _, option := range args[1:] {
			if strings.HasPrefix(option, "-") && strings.Contains(option, "e") {
				i.errexit = true
			}
		}
		return 0, nil
	case "export":
		for _, assigned := range args[1:] {
			if name, value, found := strings.Cut(assigned, "="); found {
				i.variables[name] = value
			}
		}
		return 0, nil
	case "exec":
		if len(args) == 1 {
			return 0, nil
		}
		code := i.environment.Run(ctx, args[1:], lookup, streams)
		return code, exitError{code}
	}
	return i.environment.Run(ctx, args, lookup, streams), nil
}

func (i *interpreter) redirect(ctx context.Context, redirects []redirect, streams Streams) (Streams, func(), error) {
	var opened []io.Closer
	closeAll := func() {
		for _, c := range opened {
			_ = c.Close()
		}
	}
	for _, r := range redirects {
		fields, err := i.expand(ctx, r.target, streams)
		if err != nil {
			return streams, closeAll, err
		}
		target := strings.Join(fields, " ")
		var writer io.Writer
		switch {
		case r.operator == ">&" && target == "1":
			writer = streams.Out
		case r.operator == ">&" && target == "2":
			writer = streams.Err
		case target == "/dev/null":
			writer = io.Discard
			if r.operator == "<" {
				streams.In = strings.NewReader("")
				continue
			}
		case i.environment.Open == nil:
			return streams, closeAll, fmt.Errorf("cannot open %s: files are not available here", target)
		default:
			file, err := i.environment.Open(target, r.operator != "<", r.operator == ">>")
			if err != nil {
				return streams, closeAll, fmt.Errorf("cannot open %s: %w", target, err)
			}
			opened = append(opened, file)
			if r.operator == "<" {
				streams.In = file
				continue
			}
			writer = file
		}
		if r.descriptor == 2 {
			streams.Err = writer
		} else {
			streams.Out = writer
		}
	}
	return streams, closeAll, nil
}

// expand gives the fields of a word. Only an unquoted expansion is split.
func (i *interpreter) expand(ctx context.Context, w word, streams Streams) ([]string, error) {
	fields := []string{""}
	any := false
	for _, p := range w {
		text := p.text
		switch p.kind {
		case literal:
			any = true
		case variable:
			value, ok := i.lookup(p.text)
			if !ok || value == "" && p.other != "" {
				value = p.other
			}
			text = value
		case substitution:
			var out bytes.Buffer
			parsed, err := parse(p.text)
			if err != nil {
				return nil, err
			}
			inner := &interpreter{environment: i.environment, variables: i.variables}
			code, err := inner.list(ctx, parsed, Streams{In: strings.NewReader(""), Out: &out, Err: streams.Err})
			i.status = finish(code, err, streams.Err)
			text = strings.TrimRight(out.String(), "\n")
		}
		if p.kind == literal || p.quoted {
			any = true
			fields[len(fields)-1] += text
			continue
		}
		split := strings.Fields(text)
		if len(split) == 0 {
			continue
		}
		any = true
		fields[len(fields)-1] += split[0]
		fields = append(fields, split[1:]...)
	}
	if !any {
		return nil, nil
	}
	return fields, nil
}
