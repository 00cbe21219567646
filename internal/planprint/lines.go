package planprint

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/plan"
)

// Most lines of one field's value that are printed, and most lines of two values
// that are compared line by line.
const (
	mostLines   = 60
	mostCompare = 600
)

// line is one line of a change: '+', '-' or ' ' for context and notes.
type line struct {
	sign byte
	text string
}

// fieldLines are a field in lines: one where both values are short, else a head
// and the lines that differ. Every text is plain.
func fieldLines(f plan.Field) (head line, rest []line) {
	path := plain(f.Path)
	if path == "" {
		path = "(the object)"
	}
	switch f.Op {
	case compare.OpAdd:
		if text, ok := scalar(f.To); ok {
			return line{'+', path + ": " + text}, nil
		}
		return line{'+', path + ":"}, capped(signed('+', valueLines(f.To)))
	case compare.OpRemove:
		if text, ok := scalar(f.From); ok {
			return line{'-', path + ": " + text}, nil
		}
		return line{'-', path + ":"}, capped(signed('-', valueLines(f.From)))
	}
	from, plainFrom := scalar(f.From)
	to, plainTo := scalar(f.To)
	if plainFrom && plainTo {
		return line{'~', path + ": " + from + " -> " + to}, nil
	}
	return line{'~', path + ":"}, capped(difference(valueLines(f.From), valueLines(f.To)))
}

// scalar is a value that fits on one line.
func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case nil:
		return "(none)", true
	case string:
		if strings.Contains(strings.TrimSuffix(value, "\n"), "\n") {
			return "", false
		}
		if value == compare.Masked {
			return value, true
		}
		return `"` + plain(strings.ReplaceAll(value, `"`, `\"`)) + `"`, true
	case bool, int, int32, int64, uint64, float32, float64, json.Number:
		return plain(fmt.Sprint(value)), true
	}
	if v := reflect.ValueOf(value); (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
		return map[reflect.Kind]string{reflect.Map: "{}", reflect.Slice: "[]"}[v.Kind()], true
	}
	return "", false
}

// valueLines are a text's lines, an item a line of a list of plain values, and
// YAML of anything else.
func valueLines(value any) []string {
	if text, ok := value.(string); ok {
		var lines []string
		for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			lines = append(lines, plain(part))
		}
		return lines
	}
	if items, ok := value.([]any); ok {
		var lines []string
		for _, item := range items {
			text, ok := scalar(item)
			if !ok {
				lines = nil
				break
			}
			lines = append(lines, text)
		}
		if lines != nil {
			return lines
		}
	}
	if text, ok := scalar(value); ok {
		return []string{text}
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return []string{"(it cannot be printed)"}
	}
	return valueLines(string(text))
}

func signed(sign byte, texts []string) []line {
	lines := make([]line, len(texts))
	for i, text := range texts {
		lines[i] = line{sign, text}
	}
	return lines
}

// difference keeps of two lists of lines those that differ, in order.
func difference(from, to []string) []line {
	if slices.Equal(from, to) {
		if slices.ContainsFunc(from, func(text string) bool { return strings.Contains(text, compare.Masked) }) {
			return []line{{' ', "(what differs is not shown)"}}
		}
		return []line{{' ', "(only its spelling differs)"}}
	}
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	if len(from) > mostCompare || len(to) > mostCompare {
		return append(signed('-', from), signed('+', to)...)
	}
	// common[i][k] is the longest common sequence of from[i:] and to[k:].
	common := make([][]int16, len(from)+1)
	for i := range common {
		common[i] = make([]int16, len(to)+1)
	}
	for i, a := range slices.Backward(from) {
		for k, b := range slices.Backward(to) {
			if a == b {
				common[i][k] = common[i+1][k+1] + 1
			} else {
				common[i][k] = max(common[i+1][k], common[i][k+1])
			}
		}
	}
	var lines []line
	for i, k := 0, 0; i < len(from) || k < len(to); {
		switch {
		case i < len(from) && k < len(to) && from[i] == to[k]:
			i, k = i+1, k+1
		case k == len(to) || i < len(from) && common[i+1][k] >= common[i][k+1]:
			lines = append(lines, line{'-', from[i]})
			i++
		default:
			lines = append(lines, line{'+', to[k]})
			k++
		}
	}
	return lines
}

func capped(lines []line) []line {
	if len(lines) <= mostLines {
		return lines
	}
	left := len(lines) - mostLines
	return append(slices.Clip(lines[:mostLines]), line{' ', "(and " + plural(left, "line", "lines") + " more)"})
}
