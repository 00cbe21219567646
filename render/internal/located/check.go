package located

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/spelling"
)

// Checker checks nodes against fields and reports every problem.
type Checker struct {
	// Report is called with the node at fault; of an unknown field the key.
	Report func(n *yaml.Node, path []any, message string)
	// Partial: a strategic-merge patch: $patch is allowed, null takes out.
	Partial bool
	// Whole: required fields are asked for.
	Whole bool
	// Index tells where a misplaced field belongs; may be nil.
	Index Index
}

// Check checks n, which stands at path.
func (c *Checker) Check(f *Field, n *yaml.Node, path []any) {
	n = Resolve(n)
	if f.Refused != "" {
		c.Report(n, path, f.Refused)
		return
	}
	if null(n) {
		if f.Null || (c.Partial && len(path) > 0) || f.Kind == Any {
			return
		}
		c.Report(n, path, "has no value: write "+expected(f)+", or leave the field out")
		return
	}
	switch f.Kind {
	case Object:
		c.object(f, n, path)
	case List:
		c.list(f, n, path)
	case Map:
		c.free(f, n, path)
	case Any:
		c.duplicates(n, path)
	default:
		c.scalar(f, n, path)
	}
}

func null(n *yaml.Node) bool {
	return n == nil || (n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null")
}

// IsNull reports a value that is left empty or written null.
func IsNull(n *yaml.Node) bool { return null(Resolve(n)) }

func (c *Checker) wrong(f *Field, n *yaml.Node, path []any) {
	c.Report(n, path, "is "+found(n)+": write "+expected(f))
}

func (c *Checker) object(f *Field, n *yaml.Node, path []any) {
	if n.Kind != yaml.MappingNode {
		c.wrong(f, n, path)
		return
	}
	c.keys(n, path)
	have := make(map[string]bool, len(n.Content)/2)
	for _, p := range Pairs(n) {
		key := p.Key.Value
		if have[key] {
			continue // said by keys
		}
		have[key] = true
		if c.Partial && key == "$patch" {
			c.directive(p.Value, join(path, key))
			continue
		}
		child := f.Field(key)
		if child == nil {
			c.Report(p.Key, join(path, key), c.unknown(f, key, path))
			continue
		}
		c.Check(child, p.Value, join(path, key))
	}
	if !c.Whole {
		return
	}
	for _, child := range f.Fields {
		if child.Required && !have[child.Name] {
			c.Report(n, join(path, child.Name), "is missing: write "+expected(child))
		}
	}
}

func (c *Checker) directive(n *yaml.Node, path []any) {
	if v, _ := String(n); v != "delete" && v != "replace" && v != "merge" {
		c.Report(n, path, "is none of delete, replace, merge")
	}
}

func (c *Checker) unknown(f *Field, key string, path []any) string {
	if strings.HasPrefix(key, "$") {
		if c.Partial {
			return "unknown directive: kustomize takes only $patch"
		}
		return "a directive stands only in a strategic-merge patch"
	}
	if c.Index != nil {
		if parents := c.Index.belongs(key, generic(path)); len(parents) > 0 {
			return "unknown field: it belongs under " + strings.Join(parents, " or ")
		}
	}
	if near := spelling.Nearest(key, f.names()); near != "" {
		return "unknown field: did you mean " + near + "?"
	}
	if names := f.names(); len(names) > 0 {
		return "unknown field: known are " + strings.Join(names, ", ")
	}
	return "unknown field"
}

// keys reports what stands twice in one mapping, and keys that are no text.
func (c *Checker) keys(n *yaml.Node, path []any) {
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			c.Report(key, path, "a key is no text")
			continue
		}
		if before, ok := first[key.Value]; ok {
			// The distance, since lines of the node are relative to its text.
			c.Report(key, join(path, key.Value), fmt.Sprintf("stands twice, first %s: keep one", above(key.Line-before.Line)))
			continue
		}
		first[key.Value] = key
	}
}

func above(lines int) string {
	switch lines {
	case 0:
		return "on the same line"
	case 1:
		return "one line above"
	}
	return fmt.Sprintf("%d lines above", lines)
}

// Duplicates reports every key that stands twice in one mapping, at any depth.
func (c *Checker) Duplicates(n *yaml.Node) { c.duplicates(Resolve(n), nil) }

func (c *Checker) duplicates(n *yaml.Node, path []any) {
	switch n.Kind {
	case yaml.MappingNode:
		c.keys(n, path)
		for i := 0; i+1 < len(n.Content); i += 2 {
			// What an alias names is looked at where it stands.
			if n.Content[i+1].Kind != yaml.AliasNode {
				c.duplicates(n.Content[i+1], join(path, n.Content[i].Value))
			}
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			if item.Kind != yaml.AliasNode {
				c.duplicates(item, join(path, i))
			}
		}
	}
}

func (c *Checker) list(f *Field, n *yaml.Node, path []any) {
	if n.Kind != yaml.SequenceNode {
		c.wrong(f, n, path)
		return
	}
	if f.Min != nil && float64(len(n.Content)) < *f.Min && !c.Partial {
		c.Report(n, path, fmt.Sprintf("has no entry: write at least %s", number(*f.Min)))
	}
	seen := map[string]int{}
	for i, item := range Items(n) {
		at := join(path, i)
		if c.Partial && null(item) {
			c.Report(item, at, "is empty: take the - away, or write "+expected(f.Items))
			continue
		}
		c.Check(f.Items, item, at)
		if f.MergeKey == "" || item.Kind != yaml.MappingNode {
			continue
		}
		key := Get(item, f.MergeKey)
		if key == nil {
			if c.Partial && Get(item, "$patch") == nil {
				c.Report(item, join(at, f.MergeKey), "is missing: a patch finds its entry by it")
			}
			continue
		}
		value, ok := String(key)
		if !ok {
			continue
		}
		if first, twice := seen[value]; twice {
			c.Report(key, join(at, f.MergeKey), fmt.Sprintf("%q stands twice, first in %s", value, Format(join(path, first))))
			continue
		}
		seen[value] = i
	}
}

func (c *Checker) free(f *Field, n *yaml.Node, path []any) {
	if n.Kind != yaml.MappingNode {
		c.wrong(f, n, path)
		return
	}
	c.keys(n, path)
	have := make(map[string]bool, len(n.Content)/2)
	for _, p := range Pairs(n) {
		key := p.Key.Value
		if p.Key.Kind != yaml.ScalarNode || have[key] {
			continue
		}
		have[key] = true
		at := join(path, key)
		if c.Partial && key == "$patch" {
			c.directive(p.Value, at)
			continue
		}
		if f.CheckKey != nil {
			if message := f.CheckKey(key); message != "" {
				c.Report(p.Key, at, message)
				continue
			}
		}
		if f.Items.Kind == Scalar && p.Value != nil && p.Value.Kind == yaml.MappingNode {
			c.Report(p.Value, at, "is a mapping: write the name in full, with dots")
			continue
		}
		c.Check(f.Items, p.Value, at)
	}
}

func (c *Checker) scalar(f *Field, n *yaml.Node, path []any) {
	if n.Kind != yaml.ScalarNode {
		c.wrong(f, n, path)
		return
	}
	tag := n.ShortTag()
	switch f.Kind {
	case Text:
		if _, ok := String(n); !ok {
			if tag == "!!int" || tag == "!!float" || tag == "!!bool" {
				if f.Check != nil && f.Check(n.Value) != "" && tag != "!!bool" {
					c.Report(n, path, f.Check(n.Value)) // in quotes it would be wrong as well
					return
				}
				value := strconv.Quote(n.Value)
				if f.Secret {
					value = "it"
				}
				c.Report(n, path, "is "+found(n)+": write "+value+" with quotes")
				return
			}
			c.wrong(f, n, path)
			return
		}
		if strings.HasPrefix(n.Value, "“") || strings.HasPrefix(n.Value, "„") || strings.HasPrefix(n.Value, "‘") {
			c.Report(n, path, "begins with a typographic quote, which is a letter to YAML: write \" or '")
			return
		}
		if len(f.Enum) > 0 && !contains(f.Enum, n.Value) {
			message := "is none of " + strings.Join(f.Enum, ", ")
			if near := spelling.Nearest(n.Value, f.Enum); near != "" {
				message += ": did you mean " + near + "?"
			}
			c.Report(n, path, message)
			return
		}
	case Boolean:
		if tag != "!!bool" {
			c.wrong(f, n, path)
			return
		}
	case Number, Integer:
		value, ok := Float(n)
		if !ok {
			c.notNumber(f, n, path)
			return
		}
		if f.Kind == Integer && (value != math.Trunc(value) || math.Abs(value) > math.MaxInt32) {
			c.Report(n, path, "is no whole number: write "+expected(f))
			return
		}
		if (f.Min != nil && value < *f.Min) || (f.Max != nil && value > *f.Max) {
			c.Report(n, path, "is out of range: write "+expected(f))
			return
		}
	case Scalar:
		if tag != "!!str" && tag != "!!timestamp" && tag != "!!int" && tag != "!!float" && tag != "!!bool" {
			c.wrong(f, n, path)
			return
		}
	}
	if f.Check != nil {
		if message := f.Check(n.Value); message != "" {
			c.Report(n, path, message)
		}
	}
}

func (c *Checker) notNumber(f *Field, n *yaml.Node, path []any) {
	if n.ShortTag() == "!!str" {
		if v, err := strconv.ParseFloat(strings.TrimSpace(n.Value), 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			c.Report(n, path, "is a text: write "+strings.TrimSpace(n.Value)+" without quotes")
			return
		}
		if f.Check != nil {
			if message := f.Check(n.Value); message != "" {
				c.Report(n, path, message)
				return
			}
		}
	}
	c.wrong(f, n, path)
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}

// found says what a node is. It never quotes the value, which may be a
// password in the wrong place.
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "empty"
	case "!!str", "!!timestamp":
		return "a text"
	}
	return "a value with a tag"
}

func expected(f *Field) string {
	switch f.Kind {
	case Object:
		var required []string
		for _, child := range f.Fields {
			if child.Required {
				required = append(required, child.Name)
			}
		}
		if len(required) > 0 {
			return "a mapping with " + strings.Join(required, ", ")
		}
		return "a mapping"
	case List:
		return "a list"
	case Map:
		return "a mapping"
	case Boolean:
		return "true or false"
	case Number, Integer:
		word := "a number"
		if f.Kind == Integer {
			word = "a whole number"
		}
		switch {
		case f.Min != nil && f.Max != nil:
			return fmt.Sprintf("%s from %s to %s", word, number(*f.Min), number(*f.Max))
		case f.Min != nil:
			return fmt.Sprintf("%s, at least %s", word, number(*f.Min))
		}
		return word
	case Scalar:
		return "a text, a number, true or false"
	}
	if len(f.Enum) > 0 {
		return "one of " + strings.Join(f.Enum, ", ")
	}
	return "a text"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
