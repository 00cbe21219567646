package definition

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/internal/located"
)

var operationNames = []string{"add", "remove", "replace", "move", "copy", "test"}

// CheckJSONPatch checks a JSON 6902 patch (as YAML or JSON) whose target may be
// a definition: its paths exist among the fields, its values fit them.
func CheckJSONPatch(file string, data []byte, o RawOptions) []Problem {
	documents, faults := located.Parse(data)
	r := &report{file: file, options: o}
	for _, f := range faults {
		r.at(f.Line, f.Column, nil, f.Message)
	}
	for _, d := range documents {
		r.line = d.Line
		if d.Node.Kind != yaml.SequenceNode {
			r.add(d.Node, nil, "is no JSON 6902 patch: write a list of operations")
			continue
		}
		for i, item := range located.Items(d.Node) {
			r.operation(item, []any{i})
		}
	}
	return Merge(r.problems)
}

func (r *report) operation(n *yaml.Node, path []any) {
	if n.Kind != yaml.MappingNode {
		r.add(n, path, "is no operation: write a mapping with op and path")
		return
	}
	for _, p := range located.Pairs(n) {
		switch p.Key.Value {
		case "op", "path", "from", "value":
		default:
			message := "unknown field: known are op, path, from, value"
			if near := spelling.Nearest(p.Key.Value, []string{"op", "path", "from", "value"}); near != "" {
				message = "unknown field: did you mean " + near + "?"
			}
			r.add(p.Key, append(path, p.Key.Value), message)
		}
	}
	c := located.Checker{Report: r.add}
	c.Duplicates(n)
	under := func(key string) []any { return append(append([]any{}, path...), key) }
	opNode := located.Get(n, "op")
	op, ok := located.String(opNode)
	switch {
	case opNode == nil:
		r.add(n, under("op"), "is missing: write one of "+strings.Join(operationNames, ", "))
	case !ok || !known(op):
		message := "is none of " + strings.Join(operationNames, ", ")
		if near := spelling.Nearest(op, operationNames); near != "" {
			message += ": did you mean " + near + "?"
		}
		r.add(opNode, under("op"), message)
	}
	if op == "move" || op == "copy" {
		if from := located.Get(n, "from"); from == nil {
			r.add(n, under("from"), "is missing: write the path that the value comes from")
		} else {
			r.pointer(from, under("from"))
		}
	}
	pathNode := located.Get(n, "path")
	if pathNode == nil {
		r.add(n, under("path"), "is missing: write for example /spec/nodes/data/0/replicas")
		return
	}
	target, at := r.pointer(pathNode, under("path"))
	value := located.Get(n, "value")
	switch op {
	case "add", "replace", "test":
		if value == nil {
			r.add(n, under("value"), "is missing")
			return
		}
		if target != nil {
			c := located.Checker{Report: r.add, Index: index}
			c.Check(target, value, at)
		}
	}
}

func known(op string) bool {
	for _, name := range operationNames {
		if op == name {
			return true
		}
	}
	return false
}

// pointer finds the field that a JSON pointer (RFC 6901) leads to, and its
// path; nil when it leads nowhere, which it has reported then, or when what
// is there is not described.
func (r *report) pointer(n *yaml.Node, where []any) (*located.Field, []any) {
	s, ok := located.String(n)
	if !ok || (s != "" && !strings.HasPrefix(s, "/")) {
		r.add(n, where, "is no JSON pointer: write for example /spec/nodes/data/0/replicas")
		return nil, nil
	}
	f, path := root, []any{}
	if s == "" {
		return f, path
	}
	for _, part := range strings.Split(s[1:], "/") {
		key := strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		if f.Refused != "" {
			r.add(n, path, f.Refused)
			return nil, nil
		}
		switch f.Kind {
		case located.Object:
			child := f.Field(key)
			if child == nil {
				// The checker knows the words for an unknown field.
				probe := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{
					{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: n.Line, Column: n.Column},
					{Kind: yaml.ScalarNode, Tag: "!!str", Line: n.Line, Column: n.Column}}}
				c := located.Checker{Report: r.add, Index: index}
				c.Check(f, probe, path)
				return nil, nil
			}
			f, path = child, append(path, key)
		case located.List:
			i, err := strconv.Atoi(key)
			if key == "-" {
				i, err = -1, nil
			}
			if err != nil || (i < 0 && key != "-") {
				r.add(n, append(path, key), "is no index of a list: write a number, or - for its end")
				return nil, nil
			}
			if key == "-" {
				f, path = f.Items, append(path, key)
			} else {
				f, path = f.Items, append(path, i)
			}
		case located.Map:
			if f.CheckKey != nil {
				if message := f.CheckKey(key); message != "" {
					r.add(n, append(path, key), message)
					return nil, nil
				}
			}
			f, path = f.Items, append(path, key)
		case located.Any:
			return nil, nil
		default:
			r.add(n, append(path, key), "leads into a value that has no fields")
			return nil, nil
		}
	}
	if f.Refused != "" {
		r.add(n, path, f.Refused)
		return nil, nil
	}
	return f, path
}
