package exported

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"gopkg.in/yaml.v3"
)

// fault is what is wrong with a file. It quotes nothing of the file.
type fault struct {
	line    int // 0 where it is not known
	message string
}

func (f *fault) Error() string { return f.message }

// node is a value of a document, and what was cut out of the text before it was parsed.
type node struct {
	yaml *yaml.Node // nil where there is no such value
	cut  map[string]string
}

func (n node) line() int {
	if n.yaml == nil {
		return 0
	}
	return n.yaml.Line
}

func (n node) fault(format string, args ...any) error {
	return &fault{n.line(), fmt.Sprintf(format, args...)}
}

// parse reads all documents of a text, but for empty ones.
func parse(text []byte) (documents []node, err error) {
	// The parser panics on some broken input that its own tests do not have.
	defer func() {
		if r := recover(); r != nil {
			err = &fault{message: notYAML}
		}
	}()
	text, cut := withoutContent(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) > maxBeside {
		return nil, &fault{message: fmt.Sprintf("it has more than %d MiB beside the content of ConfigMaps: leave the file as kubectl has printed it, and export readings only: %s", maxBeside>>20, Command)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &fault{lineOf(err), notYAML}
		}
		if len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null" {
			continue
		}
		documents = append(documents, node{document.Content[0], cut})
	}
	if len(documents) == 0 {
		return nil, &fault{message: "there is no object in it, and kubectl prints a List also where there are no readings: " + Command}
	}
	return documents, nil
}

const notYAML = "it is neither YAML nor JSON from here on: leave the file as kubectl has printed it; between two outputs in one file there is a line ---"

var (
	errorLine = regexp.MustCompile(`^yaml: line (\d+): (.*)`)
	// fromParser are errors of the parser, which counts lines from 0; its scanner counts
	// them from 1.
	fromParser = regexp.MustCompile(`^did not find expected (node content|key|'-' indicator|',' or '[\]}]'|<document start>)`)
)

// lineOf is the line that an error of the parser names; 0 where it names none.
func lineOf(err error) int {
	match := errorLine.FindStringSubmatch(err.Error())
	if match == nil {
		return 0
	}
	line, err := strconv.Atoi(match[1])
	if err != nil {
		return 0
	}
	if fromParser.MatchString(match[2]) {
		line++
	}
	return line
}

// child is the value of a key; one without a yaml node where the key is not there. A key that is there
// twice is what remains of two outputs without a line between them: one would hide the other.
func (n node) child(key string) (node, error) {
	none := node{cut: n.cut}
	if n.yaml == nil || n.yaml.ShortTag() == "!!null" {
		return none, nil
	}
	if n.yaml.Kind != yaml.MappingNode {
		return none, n.fault("it is no object of Kubernetes, and a ConfigMap is expected: %s", Command)
	}
	found := none
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		switch name := n.yaml.Content[i]; {
		case name.Value != key:
		case found.yaml != nil:
			return none, &fault{name.Line, fmt.Sprintf("%s is there twice, before at line %d: between two outputs in one file there has to be a line ---", key, found.line())}
		default:
			found.yaml = n.yaml.Content[i+1]
		}
	}
	return found, nil
}

// text is that of a key; "" where it is not there.
func (n node) text(key string) (string, error) {
	value, err := n.child(key)
	switch {
	case err != nil || value.yaml == nil:
		return "", err
	case value.yaml.Kind != yaml.ScalarNode:
		return "", value.fault("%s is a text in what kubectl prints, and not here: %s", key, Command)
	}
	return value.yaml.Value, nil
}

// list is that of a key; empty where it is not there.
func (n node) list(key string) ([]node, error) {
	value, err := n.child(key)
	switch {
	case err != nil || value.yaml == nil || value.yaml.ShortTag() == "!!null":
		return nil, err
	case value.yaml.Kind != yaml.SequenceNode:
		return nil, value.fault("%s is a list in what kubectl prints, and not here: %s", key, Command)
	}
	items := make([]node, 0, len(value.yaml.Content))
	for _, item := range value.yaml.Content {
		items = append(items, node{item, n.cut})
	}
	return items, nil
}

// scalar is a text that may still be in its quotes.
type scalar struct {
	text   string
	quoted bool
}

func (s scalar) absent() bool { return s.text == "" }

// scalar is that of a key, as it was cut out where it was.
func (n node) scalar(key string) (scalar, error) {
	text, err := n.text(key)
	if err != nil {
		return scalar{}, err
	}
	if whole, cut := n.cut[text]; cut {
		return scalar{whole, true}, nil
	}
	return scalar{text, false}, nil
}

// unquoted is the text itself.
func (s scalar) unquoted() (string, error) {
	if !s.quoted {
		return s.text, nil
	}
	var text string
	err := yaml.Unmarshal([]byte(s.text), &text)
	return text, err
}
