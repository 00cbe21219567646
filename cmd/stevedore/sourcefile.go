package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// namedSource is an entry of a file of sources.
type namedSource struct {
	sourceFlags
	name      string
	dependsOn []string
	line      int
}

// sourceKeys are what an entry may say; what it does not say is as on the
// command line.
var sourceKeys = map[string]func(*namedSource, *yaml.Node) error{
	"name":      func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.name) },
	"git":       func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.url) },
	"ref":       func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.ref) },
	"path":      func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.path) },
	"onRewrite": func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.onRewrite) },
	"interval":  func(s *namedSource, n *yaml.Node) error { return duration(n, &s.interval) },
	"timeout":   func(s *namedSource, n *yaml.Node) error { return duration(n, &s.timeout) },
	"maxBytes":  func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.maxBytes) },
	"credentialsFile": func(s *namedSource, n *yaml.Node) error {
		s.credentialsSecret = ""
		return n.Decode(&s.credentialsFile)
	},
	"credentialsSecret": func(s *namedSource, n *yaml.Node) error {
		s.credentialsFile = ""
		return n.Decode(&s.credentialsSecret)
	},
	"knownHosts":   func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.knownHosts) },
	"caFile":       func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.caFile) },
	"dir":          func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.dir) },
	"quiet":        func(s *namedSource, n *yaml.Node) error { return duration(n, &s.quiet) },
	"dependsOn":    func(s *namedSource, n *yaml.Node) error { return n.Decode(&s.dependsOn) },
	"commitStatus": func(s *namedSource, n *yaml.Node) error { return s.statuses.read(n) },
}

func duration(n *yaml.Node, out *time.Duration) error {
	d, err := time.ParseDuration(n.Value)
	if err == nil && d <= 0 {
		err = errors.New("it is not above zero")
	}
	*out = d
	return err
}

var sourceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// readSources reads a file of sources and says all that is wrong with it at
// once, each with its line.
func readSources(name string, stdin io.Reader, defaults sourceFlags) ([]namedSource, error) {
	file, err := openInput(name, stdin)
	if err != nil {
		return nil, fmt.Errorf("reading --config: %w", err)
	}
	text, err := io.ReadAll(file)
	_ = file.Close()
	if err != nil {
		return nil, fmt.Errorf("reading --config %s: %w", name, err)
	}
	var problems []error
	wrong := func(line int, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...)))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: it is empty: write a list under sources", name)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if decoder.Decode(&yaml.Node{}) == nil {
		return nil, fmt.Errorf("%s: there is more than one document in it", name)
	}
	var list *yaml.Node
	pairs(document.Content[0], func(key, value *yaml.Node) {
		if key.Value == "sources" && value.Kind == yaml.SequenceNode {
			list = value
		} else {
			wrong(key.Line, "%s is not known here: write a list under sources", key.Value)
		}
	})
	if list == nil {
		wrong(document.Content[0].Line, "there is no list under sources")
		return nil, errors.Join(problems...)
	}
	var all []namedSource
	for _, item := range list.Content {
		source := namedSource{sourceFlags: defaults, line: item.Line}
		if item.Kind != yaml.MappingNode {
			wrong(item.Line, "a source is a map, with a name and git or dir")
			continue
		}
		seen := map[string]bool{}
		pairs(item, func(key, value *yaml.Node) {
			set, known := sourceKeys[key.Value]
			switch {
			case !known:
				wrong(key.Line, "a source has no %s", key.Value)
			case seen[key.Value]:
				wrong(key.Line, "%s is given twice", key.Value)
			default:
				if err := set(&source, value); err != nil {
					wrong(value.Line, "%s cannot be read: %v", key.Value, plainYAML(err))
				}
			}
			seen[key.Value] = true
		})
		switch {
		case !sourceName.MatchString(source.name):
			wrong(item.Line, "a source has a name of small letters, digits and dashes")
		case slices.ContainsFunc(all, func(o namedSource) bool { return o.name == source.name }):
			wrong(item.Line, "the name %s is given twice", source.name)
		}
		if source.dir != "" && !seen["commitStatus"] {
			source.statuses = commitStatusFlags{} // what the command line says is of repositories
		}
		if (source.url == "") == (source.dir == "") {
			wrong(item.Line, "a source has either git or dir")
		}
		all = append(all, source)
	}
	if len(list.Content) == 0 {
		wrong(list.Line, "the list is empty")
	}
	for _, problem := range dependencyProblems(all) {
		wrong(problem.line, "%s", problem.text)
	}
	return all, errors.Join(problems...)
}

type dependencyProblem struct {
	line int
	text string
}

// dependencyProblems finds names that nobody has, and circles, each once.
func dependencyProblems(all []namedSource) []dependencyProblem {
	byName := map[string]namedSource{}
	for _, source := range all {
		byName[source.name] = source
	}
	var problems []dependencyProblem
	for _, source := range all {
		for _, before := range source.dependsOn {
			if _, known := byName[before]; !known {
				problems = append(problems, dependencyProblem{source.line, fmt.Sprintf("%s depends on %s, which is no source of this file", source.name, before)})
			}
		}
	}
	told, walked := map[string]bool{}, map[string]bool{}
	var walk func(name string, way []string)
	walk = func(name string, way []string) {
		if at := slices.Index(way, name); at >= 0 {
			circle := way[at:]
			if !slices.ContainsFunc(circle, func(n string) bool { return told[n] }) {
				problems = append(problems, dependencyProblem{byName[circle[0]].line,
					"sources wait for each other: " + strings.Join(append(slices.Clone(circle), name), " → ")})
			}
			for _, n := range circle {
				told[n] = true
			}
			return
		}
		if walked[name] {
			return
		}
		for _, before := range byName[name].dependsOn {
			walk(before, append(slices.Clone(way), name))
		}
		walked[name] = true
	}
	for _, source := range all {
		walk(source.name, nil)
	}
	return problems
}

func pairs(n *yaml.Node, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		each(n.Content[i], n.Content[i+1])
	}
}

// plainYAML takes away what a reader of the file has no use for.
func plainYAML(err error) string {
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		text := strings.Join(typed.Errors, ", ")
		_, after, found := strings.Cut(text, ": ")
		if found {
			return after
		}
		return text
	}
	return err.Error()
}
