package apply

import "sync"

// Field names are the same in each object, and decoding makes a copy of each for each
// object: a third of what a StatefulSet takes. Values are not gone through.

// maxFieldNames bounds what is remembered: names of labels and annotations are among
// them, which anybody may make.
const maxFieldNames = 8192

var fieldNames = struct {
	sync.RWMutex
	known map[string]string
}{known: map[string]string{}}

// shareFieldNames lets maps share the names of their fields with all others.
func shareFieldNames(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			value[sharedName(name)] = inner // which keeps that copy of the name
			shareFieldNames(inner)
		}
	case []any:
		for _, inner := range value {
			shareFieldNames(inner)
		}
	}
}

func sharedName(name string) string {
	fieldNames.RLock()
	known, ok := fieldNames.known[name]
	fieldNames.RUnlock()
	if ok {
		return known
	}
	fieldNames.Lock()
	defer fieldNames.Unlock()
	if known, ok := fieldNames.known[name]; ok {
		return known
	}
	if len(fieldNames.known) < maxFieldNames {
		fieldNames.known[name] = name
	}
	return name
}
