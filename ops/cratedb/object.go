package cratedb

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// settings is an object column, as session.Strings gives it, taken apart. Its zero
// value is an object without anything.
type settings map[string]any

// object reads the JSON of an object column; nil for NULL and for what is none.
func object(printed string) settings {
	var out settings
	if printed == "" || json.Unmarshal([]byte(printed), &out) != nil {
		return nil
	}
	return out
}

// below is the object of that name, nil if there is none.
func (o settings) below(name string) settings {
	child, _ := o[name].(map[string]any)
	return child
}

// text is a value as CrateDB shows it, "" for none.
func (o settings) text(name string) string {
	if o[name] == nil {
		return ""
	}
	return plain(o[name])
}

// plain prints a value of JSON: numbers without an exponent, lists by commas.
func plain(value any) string {
	switch v := value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = plain(v[i])
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(value)
}

// number is a whole number, or otherwise where it is none.
func (o settings) number(name string, otherwise int) int {
	n, err := strconv.Atoi(o.text(name))
	if err != nil {
		return otherwise
	}
	return n
}

// list is a list, or text parted by commas.
func (o settings) list(name string) []string {
	return list(o.text(name))
}

func list(text string) []string {
	var out []string
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// texts are all values as text; not nil.
func (o settings) texts() map[string]string {
	out := make(map[string]string, len(o))
	for _, name := range slices.Sorted(maps.Keys(o)) {
		out[name] = o.text(name)
	}
	return out
}

// filters are the values that are set; nil when none is.
func (o settings) filters() map[string]string {
	out := o.texts()
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	if len(out) == 0 {
		return nil
	}
	return out
}
