package planprint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/plan"
)

const schemaFile = "../../docs/plan.schema.json"

// source is what the schema takes from the code besides its types: the words
// about types and fields, and the constants of a type.
type source struct {
	types, fields map[string]string
	constants     map[string][]any
}

func readSource(t *testing.T, dirs ...string) source {
	t.Helper()
	s := source{types: map[string]string{}, fields: map[string]string{}, constants: map[string][]any{}}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+entry.Name(), nil, parser.ParseComments)
			require.NoError(t, err)
			for _, declaration := range file.Decls {
				if declaration, ok := declaration.(*ast.GenDecl); ok {
					for _, spec := range declaration.Specs {
						s.take(declaration, spec)
					}
				}
			}
		}
	}
	return s
}

func (s source) take(declaration *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		s.types[spec.Name.Name] = sentence(declaration.Doc)
		if structure, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					s.fields[spec.Name.Name+"."+name.Name] = sentence(field.Doc)
				}
			}
		}
	case *ast.ValueSpec:
		named, ok := spec.Type.(*ast.Ident)
		if !ok || declaration.Tok != token.CONST {
			return
		}
		for _, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				s.constants[named.Name] = append(s.constants[named.Name], text)
			}
		}
	}
}

func sentence(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}

// schemaOf writes a type as JSON Schema; types with a name go to $defs.
func (s source) schemaOf(of reflect.Type, defs map[string]any) map[string]any {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case of == reflect.TypeFor[plan.Duration]():
		defs["Duration"] = map[string]any{"type": "string", "pattern": `^-?([0-9]+h)?([0-9]+m)?([0-9]+(\.[0-9]+)?(s|ms|µs|ns))?$`, "description": s.types["Duration"]}
		return map[string]any{"$ref": "#/$defs/Duration"}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return s.schemaOf(of.Elem(), defs)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.schemaOf(of.Elem(), defs)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.String:
		made := map[string]any{"type": "string"}
		if values := s.constants[of.Name()]; len(values) > 0 {
			made["enum"], made["description"] = values, s.types[of.Name()]
			defs[of.Name()] = made
			return map[string]any{"$ref": "#/$defs/" + of.Name()}
		}
		return made
	case reflect.Interface:
		return map[string]any{}
	case reflect.Struct:
		if _, ok := defs[of.Name()]; !ok {
			properties, required := map[string]any{}, []string{}
			defs[of.Name()] = nil
			s.properties(of, properties, &required, defs)
			slices.Sort(required)
			defs[of.Name()] = map[string]any{"type": "object", "description": s.types[of.Name()], "properties": properties, "required": required, "additionalProperties": false}
		}
		return map[string]any{"$ref": "#/$defs/" + of.Name()}
	}
	panic("a type that the schema has no word for: " + of.String())
}

func (s source) properties(of reflect.Type, properties map[string]any, required *[]string, defs map[string]any) {
	for field := range of.Fields() {
		tag := field.Tag.Get("json")
		if field.Anonymous && tag == "" {
			s.properties(field.Type, properties, required, defs)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		made := s.schemaOf(field.Type, defs)
		if text := s.fields[of.Name()+"."+field.Name]; text != "" {
			made["description"] = text
		}
		properties[name] = made
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	s := readSource(t, "../../ops/plan", "../../apply/compare")
	defs := map[string]any{}
	made := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://stevedore.dev/schema/plan/v1",
		"title": "stevedore diff -o json", "description": "The plans of the clusters that differ, that have a warning, or of which something moved to another file, by namespace and name.",
		"type": "array", "items": s.schemaOf(reflect.TypeFor[plan.Plan](), defs), "$defs": defs,
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(made))
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, want.Bytes(), 0o644))
	}
	have, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(have), "run go test ./internal/planprint -update")
}

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	return schema
}

// invalid says what of a value is not as a schema of those words says that the
// plan's schema uses; any other word is an error, too.
func invalid(root, schema map[string]any, value any, at string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	for word, is := range schema {
		switch word {
		case "$schema", "$id", "$defs", "title", "description", "format", "required", "additionalProperties":
		case "$ref":
			name := strings.TrimPrefix(is.(string), "#/$defs/")
			wrong = append(wrong, invalid(root, root["$defs"].(map[string]any)[name].(map[string]any), value, at)...)
		case "type":
			kinds := map[string]bool{"object": isA[map[string]any](value), "array": isA[[]any](value), "string": isA[string](value), "boolean": isA[bool](value)}
			number, ok := value.(float64)
			kinds["integer"] = ok && number == float64(int64(number))
			if !kinds[is.(string)] {
				say("%v is no %s", value, is)
			}
		case "enum":
			if !slices.Contains(is.([]any), value) {
				say("%v is none of %v", value, is)
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(is.(string)).MatchString(text) {
				say("%q does not match", text)
			}
		case "items":
			items, _ := value.([]any)
			for i, item := range items {
				wrong = append(wrong, invalid(root, is.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "properties":
			object, _ := value.(map[string]any)
			for name, inner := range object {
				property, ok := is.(map[string]any)[name].(map[string]any)
				if !ok {
					say("%s is not known", name)
					continue
				}
				wrong = append(wrong, invalid(root, property, inner, at+"."+name)...)
			}
			for _, name := range schema["required"].([]any) {
				if _, ok := object[name.(string)]; !ok {
					say("%s is missing", name)
				}
			}
		default:
			say("the word %s of the schema is not checked", word)
		}
	}
	return wrong
}

func isA[T any](value any) bool { _, ok := value.(T); return ok }

func TestWhatIsPrintedAsJSONIsAsTheSchemaSays(t *testing.T) {
	schema := readSchema(t)
	for name, plans := range examples() {
		var printed any
		require.NoError(t, json.Unmarshal([]byte(formats[5].print(t, plans)), &printed))
		assert.Empty(t, invalid(schema, schema, printed, "plans"), name)
	}
}

func TestTheSchemaRefusesWhatIsNoPlan(t *testing.T) {
	schema := readSchema(t)
	good := func() map[string]any {
		var printed []map[string]any
		require.NoError(t, json.Unmarshal([]byte(formats[5].print(t, []plan.Plan{upgradeRefused()})), &printed))
		return printed[0]
	}
	for _, c := range []struct {
		name  string
		spoil func(map[string]any)
	}{
		{"a property that is missing", func(p map[string]any) { delete(p, "operations") }},
		{"one that is not known", func(p map[string]any) { p["note"] = "" }},
		{"null for a list", func(p map[string]any) { p["refused"] = nil }},
		{"a text for a number", func(p map[string]any) { p["restarts"] = "3" }},
		{"a part of a pod", func(p map[string]any) { p["restarts"] = 1.5 }},
		{"a class that is none", func(p map[string]any) { p["objects"].([]any)[0].(map[string]any)["class"] = "harmless" }},
		{"a duration that is none", func(p map[string]any) { p["basis"].(map[string]any)["age"] = "soon" }},
	} {
		p := good()
		require.Empty(t, invalid(schema, schema, []any{p}, "plans"))
		c.spoil(p)
		assert.NotEmpty(t, invalid(schema, schema, []any{p}, "plans"), c.name)
	}
}

func TestEveryConstantOfTheTypesIsInTheSchema(t *testing.T) {
	defs := readSchema(t)["$defs"].(map[string]any)
	for name, values := range map[string][]any{
		"Class":  {string(plan.InPlace), string(plan.Restart), string(plan.RestartWhenDue), string(plan.ByOperation), string(plan.Recreate), string(plan.Waiting), string(plan.Refused)},
		"Change": {string(plan.Added), string(plan.Changed), string(plan.Removed), string(plan.Orphaned), string(plan.Moved)},
		"Op":     {string(compare.OpAdd), string(compare.OpChange), string(compare.OpRemove)},
	} {
		assert.ElementsMatch(t, values, defs[name].(map[string]any)["enum"], name)
	}
}
