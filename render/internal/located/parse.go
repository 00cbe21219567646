package located

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits of what is taken as YAML. A person's definition is far below; an
// alias bomb of 400 bytes took kustomize 6 GB, and running out of memory cannot
// be recovered from.
const (
	MaxBytes = 1 << 20 // one file
	MaxNodes = 100_000 // one document, every alias written out
	MaxDepth = 100
)

// Document is one YAML document of a file.
type Document struct {
	// Node is the document's root value, never nil, never an alias.
	Node *yaml.Node
	// Line is added to the lines of the nodes.
	Line int
}

// Fault is what keeps a text from being read as YAML.
type Fault struct {
	Line, Column int // 1-based, 0 when not known
	Message      string
}

// Parse reads every document of a text, and goes on with the next one after a
// broken one. Its messages never quote the text, which may be a Secret's.
func Parse(data []byte) ([]Document, []Fault) {
	if len(data) > MaxBytes {
		return nil, []Fault{{Message: fmt.Sprintf("the file has %d bytes, more than %d are not read as YAML: split it", len(data), MaxBytes)}}
	}
	if !utf8.Valid(data) {
		return nil, []Fault{{Line: invalidLine(data), Message: "is not UTF-8: save the file as UTF-8"}}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var documents []Document
	var faults []Fault
	for _, part := range split(data) {
		node, fault := parseOne(part.text)
		if fault != nil {
			if fault.Line > 0 {
				fault.Line += part.line
			} else {
				fault.Line = part.line + 1
			}
			faults = append(faults, *fault)
			continue
		}
		if node == nil {
			continue
		}
		if at, message := measure(node); message != "" {
			faults = append(faults, Fault{Line: at.Line + part.line, Column: at.Column, Message: message})
			continue
		}
		documents = append(documents, Document{Node: node, Line: part.line})
	}
	return documents, faults
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return 0
}

type part struct {
	text []byte
	line int // lines before it
}

// split cuts a stream at its document markers, so that one broken document
// does not hide the errors of the next. A marker at column 0 ends a document
// even inside a block scalar, so cutting there is what YAML says.
func split(data []byte) []part {
	var parts []part
	start, startLine, line, directives := 0, 0, 0, false
	for offset := 0; offset < len(data); {
		end := offset
		if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		} else {
			end = len(data)
		}
		text := data[offset:end]
		switch {
		case marker(text, "---"):
			if !directives {
				parts = append(parts, part{data[start:offset], startLine})
				start, startLine = offset, line
			}
			directives = false
		case text[0] == '%' && offset == start:
			directives = true
		case marker(text, "..."):
			parts = append(parts, part{data[start:offset], startLine})
			start, startLine = end, line+1
		}
		offset = end
		line++
	}
	return append(parts, part{data[start:], startLine})
}

func marker(line []byte, mark string) bool {
	if !bytes.HasPrefix(line, []byte(mark)) {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\n' || line[3] == '\r'
}

// measure counts a document's nodes as if every alias were written out, without
// writing any out.
func measure(root *yaml.Node) (*yaml.Node, string) {
	type size struct{ nodes, depth int }
	const open = -1
	sizes := map[*yaml.Node]size{}
	var bad *yaml.Node
	var message string
	var visit func(n *yaml.Node, depth int) size
	visit = func(n *yaml.Node, depth int) size {
		if message != "" {
			return size{}
		}
		if n.Kind == yaml.AliasNode {
			if known, ok := sizes[n.Alias]; ok && known.nodes == open {
				bad, message = n, "an alias stands inside of what it names: write it out"
				return size{}
			}
			s := visit(n.Alias, depth)
			if depth+s.depth > MaxDepth {
				bad, message = n, fmt.Sprintf("is nested deeper than %d levels", MaxDepth)
			}
			return s
		}
		if known, ok := sizes[n]; ok {
			return known
		}
		if depth > MaxDepth {
			bad, message = n, fmt.Sprintf("is nested deeper than %d levels", MaxDepth)
			return size{}
		}
		total := size{nodes: 1, depth: 1}
		if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
			if n.Anchor != "" {
				sizes[n] = total
			}
			return total
		}
		if n.Anchor != "" {
			sizes[n] = size{nodes: open}
		}
		for _, child := range n.Content {
			s := visit(child, depth+1)
			total.nodes += s.nodes
			total.depth = max(total.depth, s.depth+1)
			if message == "" && total.nodes > MaxNodes {
				bad, message = child, fmt.Sprintf("the document has more than %d values once its aliases are written out: an alias bomb, or split the file", MaxNodes)
			}
			if message != "" {
				return size{}
			}
		}
		if n.Anchor != "" {
			sizes[n] = total
		}
		return total
	}
	visit(root, 1)
	return bad, message
}

// Resolve follows aliases.
func Resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < MaxDepth; i++ {
		n = n.Alias
	}
	return n
}

// Pair is one key of a mapping with its value, aliases followed.
type Pair struct{ Key, Value *yaml.Node }

// Pairs lists a mapping with its merge keys (<<) written out as kustomize does:
// what stands in the mapping itself wins.
func Pairs(n *yaml.Node) []Pair { return pairs(n, 0) }

func pairs(n *yaml.Node, depth int) []Pair {
	n = Resolve(n)
	if n == nil || n.Kind != yaml.MappingNode || depth > MaxDepth {
		return nil
	}
	own := make([]Pair, 0, len(n.Content)/2)
	var merged []Pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], Resolve(n.Content[i+1])
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			if value.Kind == yaml.SequenceNode {
				for _, item := range value.Content {
					merged = append(merged, pairs(item, depth+1)...)
				}
			} else {
				merged = append(merged, pairs(value, depth+1)...)
			}
			continue
		}
		own = append(own, Pair{key, value})
	}
	if merged == nil {
		return own
	}
	have := map[string]bool{}
	for _, p := range own {
		have[p.Key.Value] = true
	}
	for _, p := range merged {
		if !have[p.Key.Value] {
			have[p.Key.Value] = true
			own = append(own, p)
		}
	}
	return own
}

// Get follows keys down through mappings; nil when one is not there.
func Get(n *yaml.Node, keys ...string) *yaml.Node {
	n = Resolve(n)
	for _, key := range keys {
		var next *yaml.Node
		for _, p := range Pairs(n) {
			if p.Key.Value == key {
				next = p.Value
				break
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}

// Items are the values of a sequence, aliases followed.
func Items(n *yaml.Node) []*yaml.Node {
	n = Resolve(n)
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	items := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		items[i] = Resolve(item)
	}
	return items
}

// String is the text of a scalar that is a text; ok is false for anything else.
func String(n *yaml.Node) (string, bool) {
	n = Resolve(n)
	if n == nil || n.Kind != yaml.ScalarNode {
		return "", false
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, true
	}
	return "", false
}

// Float is the value of a number; ok is false for anything else.
func Float(n *yaml.Node) (float64, bool) {
	n = Resolve(n)
	if n == nil || n.Kind != yaml.ScalarNode {
		return 0, false
	}
	if tag := n.ShortTag(); tag != "!!int" && tag != "!!float" {
		return 0, false
	}
	var f float64
	if err := n.Decode(&f); err != nil || f != f || f > 1e300 || f < -1e300 {
		return 0, false
	}
	return f, true
}
