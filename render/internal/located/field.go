// Package located checks YAML against a table of fields and says of every
// problem where it stands. It works on the nodes of gopkg.in/yaml.v3, since a
// decoder into Go values stops at its first error and knows no columns.
package located

// Kind is what a field holds.
type Kind int

const (
	Object  Kind = iota // a mapping with exactly the fields in Fields
	List                // a sequence of Items
	Map                 // a mapping with free keys and values of Items
	Text                // a string
	Number              // a number, finite
	Integer             // a number without a fraction (3.0 counts)
	Boolean             // true or false
	Scalar              // a text, number or boolean
	Any                 // not looked into, but for keys that stand twice
)

// Field describes one field. The zero value is an object without fields.
type Field struct {
	Name     string
	Kind     Kind
	Required bool     // asked for only where Checker.Whole says so
	Fields   []*Field // of an Object
	Items    *Field   // of a List or Map
	// MergeKey is the field by which items of a List are merged; two items
	// with one key are a problem.
	MergeKey string
	Enum     []string
	Min, Max *float64
	// Check looks at a scalar's text; "" is well.
	Check func(value string) string
	// CheckKey looks at a key of a Map; "" is well.
	CheckKey func(key string) string
	// Refused, when not empty, is the message for a field that is known but
	// not taken; nothing in it is looked at.
	Refused string
	// Secret: no message quotes the value.
	Secret bool
	// Null: nothing may stand there (creationTimestamp: null).
	Null bool
}

// Field returns the child of an Object by name, nil if there is none.
func (f *Field) Field(name string) *Field {
	for _, child := range f.Fields {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func (f *Field) names() []string {
	names := make([]string, 0, len(f.Fields))
	for _, child := range f.Fields {
		if child.Refused == "" {
			names = append(names, child.Name)
		}
	}
	return names
}

// Index finds the parents of a field by its name anywhere in a tree, to say
// where a misplaced one belongs.
type Index map[string][]string

// NewIndex indexes root. Items of lists stand as [] in the paths.
func NewIndex(root *Field) Index {
	index := Index{}
	var add func(f *Field, path string)
	add = func(f *Field, path string) {
		for _, child := range f.Fields {
			if child.Refused != "" {
				continue
			}
			index[child.Name] = append(index[child.Name], path)
			next := child.Name
			if path != "" {
				next = path + "." + child.Name
			}
			switch {
			case child.Kind == Object:
				add(child, next)
			case child.Kind == List && child.Items != nil && child.Items.Kind == Object:
				add(child.Items, next+"[]")
			}
		}
	}
	add(root, "")
	return index
}
