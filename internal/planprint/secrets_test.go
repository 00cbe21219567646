package planprint_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
)

func github(f []planprint.Finding) func(*bytes.Buffer) error {
	return func(b *bytes.Buffer) error { return planprint.GitHub(b, f) }
}

func sarifOf(f []planprint.Finding) func(*bytes.Buffer) error {
	return func(b *bytes.Buffer) error { return planprint.SARIF(b, f, "1.2.3") }
}

func codeQuality(f []planprint.Finding) func(*bytes.Buffer) error {
	return func(b *bytes.Buffer) error { return planprint.CodeQuality(b, f) }
}

func markdown(plans []plan.Plan, f []planprint.Finding) func(*bytes.Buffer) error {
	return func(b *bytes.Buffer) error {
		return planprint.Markdown(b, plans, planprint.MarkdownOptions{Limit: planprint.LeastLimit, Problems: f})
	}
}

// hidingPlaces are where a secret value may stand in an object that is compared.
// Of each, what is printed must be the same whatever the value: then neither it
// nor its length can be read from it.
var hidingPlaces = []struct {
	name string
	// oneLine: the place ends with the line, so a value has no line breaks there.
	oneLine bool
	object  func(value string) map[string]any
}{
	{"data", false, of("Secret", func(v string) map[string]any {
		return map[string]any{"data": map[string]any{"key": base64.StdEncoding.EncodeToString([]byte(v))}}
	})},
	{"stringData", false, of("Secret", func(v string) map[string]any { return map[string]any{"stringData": map[string]any{"key": v}} })},
	{"data that is no base64", false, of("Secret", func(v string) map[string]any { return map[string]any{"data": map[string]any{"key": v}} })},
	{"data that is a text", false, of("Secret", func(v string) map[string]any { return map[string]any{"data": v} })},
	{"data that is a list", false, of("Secret", func(v string) map[string]any { return map[string]any{"data": []any{v}} })},
	{"data inside of data", false, of("Secret", func(v string) map[string]any {
		return map[string]any{"data": map[string]any{"a": map[string]any{"b": v}}}
	})},
	{"a misspelt field", false, of("Secret", func(v string) map[string]any { return map[string]any{"stringdata": map[string]any{"key": v}} })},
	{"a Secret's type", false, of("Secret", func(v string) map[string]any { return map[string]any{"type": "x" + v} })},
	{"a Secret's finalizers", false, of("Secret", func(v string) map[string]any {
		return map[string]any{"metadata": map[string]any{"finalizers": []any{"x" + v}}}
	})},
	{"kubectl's copy of a Secret", false, of("Secret", annotated("kubectl.kubernetes.io/last-applied-configuration"))},
	{"another tool's copy", false, of("Secret", annotated("kapp.k14s.io/original"))},
	{"kubectl's copy of another object", false, of("Service", annotated("kubectl.kubernetes.io/last-applied-configuration"))},
	{"another API's Secret", false, of("SopsSecret", func(v string) map[string]any { return map[string]any{"spec": map[string]any{"a": v}} })},
	{"an object without a kind", false, of("", func(v string) map[string]any { return map[string]any{"spec": map[string]any{"a": v}} })},
	{"a Secret in a List", false, of("List", func(v string) map[string]any { return map[string]any{"items": []any{secretObject(v)}} })},
	{"a List in a List", false, of("List", func(v string) map[string]any {
		return map[string]any{"items": []any{map[string]any{"kind": "List", "items": []any{secretObject(v)}}}}
	})},
	{"a Secret in a template", false, of("Application", func(v string) map[string]any {
		return map[string]any{"spec": map[string]any{"resources": []any{secretObject(v)}}}
	})},
	{"a Secret's YAML in a ConfigMap", false, inText(func(v string) string { return manifest(v) })},
	{"its JSON", false, inText(func(v string) string {
		return `{"apiVersion":"v1","kind":"Secret","data":{"k":` + strconv.Quote(v) + `}}`
	})},
	{"its JSON in JSON", false, inText(func(v string) string {
		return `{"object":` + strconv.Quote(`{"kind":"Secret","data":{"k":`+strconv.Quote(v)+`}}`) + `}`
	})},
	{"its base64", false, inText(func(v string) string { return base64.StdEncoding.EncodeToString([]byte(manifest(v))) })},
	{"base64 of its base64", false, inText(func(v string) string {
		return base64.URLEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(manifest(v)))))
	})},
	{"a private key", false, inText(func(v string) string {
		return "-----BEGIN RSA PRIVATE KEY-----\n" + v + "\n-----END RSA PRIVATE KEY-----\n"
	})},
	{"a ConfigMap's key", false, of("ConfigMap", func(v string) map[string]any {
		return map[string]any{"data": map[string]any{"db-password": "x" + v}}
	})},
	{"a file of settings", true, inText(func(v string) string { return "a: b\npassword: " + v + "\nc: d\n" })},
	{"a block in a file of settings", false, inText(func(v string) string { return "a: b\npassword: |\n  " + v + "\n" })},
	{"a URL", true, inText(func(v string) string { return "https://user:" + strings.ReplaceAll(v, " ", "") + "@example.org/x" })},
	{"a variable", false, container(func(v string) map[string]any {
		return map[string]any{"env": []any{map[string]any{"name": "DB_PASSWORD", "value": "x" + v}, map[string]any{"name": "A", "value": "b"}}}
	})},
	{"a setting", false, container(func(v string) map[string]any {
		return map[string]any{"command": []any{"crate", "-Cssl.keystore_password=" + v}}
	})},
	{"a Java option", false, container(func(v string) map[string]any {
		return map[string]any{"env": []any{map[string]any{"name": "CRATE_JAVA_OPTS", "value": "-Djavax.net.ssl.keyStorePassword=" + v}}}
	})},
	{"an argument after its flag", false, container(func(v string) map[string]any {
		return map[string]any{"args": []any{"--api-token", "x" + v, "--verbose"}}
	})},
}

func of(kind string, fields func(string) map[string]any) func(string) map[string]any {
	return func(value string) map[string]any {
		object := map[string]any{"apiVersion": "v1", "metadata": map[string]any{}}
		if kind != "" {
			object["kind"] = kind
		}
		for name, field := range fields(value) {
			object[name] = field
		}
		object["metadata"].(map[string]any)["name"] = "s"
		object["metadata"].(map[string]any)["namespace"] = "prod"
		return object
	}
}

func annotated(name string) func(string) map[string]any {
	return func(value string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: `{"data":` + strconv.Quote(value) + `}`}}}
	}
}

func inText(made func(string) string) func(string) map[string]any {
	return of("ConfigMap", func(v string) map[string]any { return map[string]any{"data": map[string]any{"text": made(v)}} })
}

func container(fields func(string) map[string]any) func(string) map[string]any {
	return of("StatefulSet", func(v string) map[string]any {
		c := fields(v)
		c["name"] = "crate"
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{c}}}}}
	})
}

func secretObject(v string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "inner"}, "stringData": map[string]any{"key": v}}
}

func manifest(v string) string {
	return "apiVersion: v1\nkind: Secret\nstringData:\n  key: " + strconv.Quote(v) + "\n"
}

// planOf is the plan of an object that is changed from one to the other, with
// fields as the API's comparison gives them, before anything is masked.
func planOf(from, to map[string]any) plan.Plan {
	a, b := &unstructured.Unstructured{Object: from}, &unstructured.Unstructured{Object: to}
	key := compare.KeyOf(b)
	p := plan.Plan{SchemaVersion: 1, Namespace: "prod", Name: "orders", Basis: live(time.Minute)}
	for change, changes := range map[plan.Change][]compare.FieldChange{
		plan.Changed: compare.Diff(b, a, nil), plan.Added: compare.Diff(b, nil, nil), plan.Removed: compare.Diff(nil, a, nil),
	} {
		object := plan.Object{Key: key, Change: change, Class: plan.InPlace}
		for _, c := range changes {
			object.Fields = append(object.Fields, plan.Field{FieldChange: c})
		}
		p.Objects = append(p.Objects, object)
	}
	// A change inside of a list that is compared whole, and of the whole object.
	p.Objects = append(p.Objects, plan.Object{Key: key, Change: plan.Changed, Class: plan.InPlace, Fields: []plan.Field{
		{FieldChange: changed("", from, to)},
	}})
	byChange := map[plan.Change]int{plan.Added: 0, plan.Changed: 1, plan.Removed: 2}
	ordered := make([]plan.Object, 3, 4)
	for _, o := range p.Objects[:3] {
		ordered[byChange[o.Change]] = o
	}
	p.Objects = append(ordered, p.Objects[3])
	return p
}

// sameWhatever asks that two values of a secret are printed alike.
func sameWhatever(t *testing.T, what string, one, other plan.Plan) {
	t.Helper()
	for _, format := range formats {
		require.Equal(t, format.print(t, []plan.Plan{one}), format.print(t, []plan.Plan{other}), "%s: %s", format.file, what)
	}
}

func TestNoFormatTellsAnythingOfASecret(t *testing.T) {
	pairs := [][2]string{{"hunter2-x", "correct horse battery staple"}, {"aXbXc", "x"}, {"p'\"`", "{}[]: y"}, {"****", "s"}, {"dGVzdA==", "0"}}
	for _, place := range hidingPlaces {
		t.Run(place.name, func(t *testing.T) {
			for _, pair := range pairs {
				before := place.object("before")
				one, other := planOf(before, place.object(pair[0])), planOf(before, place.object(pair[1]))
				sameWhatever(t, place.name, one, other)
				require.NotEmpty(t, one.Objects[1].Fields, "that it changed is said")
				for _, format := range formats[:1] {
					assert.NotContains(t, format.print(t, []plan.Plan{one}), pair[0])
				}
			}
		})
	}
}

func TestThatASecretChangedIsSaidInEveryFormat(t *testing.T) {
	p := planOf(secretObject("one"), secretObject("two"))
	for _, format := range formats {
		switch format.file {
		case "txt", "md", "json":
			got := format.print(t, []plan.Plan{p})
			assert.Contains(t, got, "data.key", format.file)
			assert.Contains(t, got, "***", format.file)
		}
	}
}

func TestAnErrorAboutASecretQuotesNothingOfIt(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"forbidden for this role", "forbidden for this role"},
		{`Secret "app" is invalid: data[password]: Invalid value: hunter2`, "Secret ***"},
		{"data[password]: Invalid value: hunter2", "data[password] ***"},
		{"type: Unsupported value: hunter2: supported values: x", "type ***"},
		{"json: cannot unmarshal hunter2 into Go struct", "json ***"},
		{"strict decoding error: unknown field 'hunter2'", "strict decoding error: unknown field ***"},
		{"token=hunter2 is refused", "token ***"},
	} {
		assert.Equal(t, c.want, compare.MaskMessage(key("Secret", "app"), c.message))
	}
	assert.Equal(t, `the field "spec.replicas" is wrong`, compare.MaskMessage(key("StatefulSet", "x"), `the field "spec.replicas" is wrong`))
	assert.Equal(t, "cannot reach https://***@example.org", compare.MaskMessage(key("StatefulSet", "x"), "cannot reach https://a:hunter2@example.org"))
}

func TestWhatIsNoSecretIsShown(t *testing.T) {
	p := planOf(
		container(func(v string) map[string]any {
			return map[string]any{"image": "crate:1", "env": []any{
				map[string]any{"name": "PASSWORD_FILE", "value": "/run/a"},
				map[string]any{"name": "TOKEN", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "a-secret", "key": "a-key"}}},
			}, "command": []any{"crate", "-Cauth.host_based.enabled=true"}}
		})(""),
		container(func(v string) map[string]any {
			return map[string]any{"image": "crate:2", "env": []any{
				map[string]any{"name": "PASSWORD_FILE", "value": "/run/b"},
				map[string]any{"name": "TOKEN", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "b-secret", "key": "b-key"}}},
			}, "command": []any{"crate", "-Cauth.host_based.enabled=false"}}
		})(""))
	got := formats[0].print(t, []plan.Plan{p})
	for _, shown := range []string{"crate:2", "/run/b", "b-secret", "b-key", "-Cauth.host_based.enabled=false"} {
		assert.Contains(t, got, shown)
	}
	assert.NotContains(t, got, compare.Masked)
}

// FuzzSecret plants two values in each place, which must be printed alike.
func FuzzSecret(f *testing.F) {
	for i := range hidingPlaces {
		f.Add(i, "hunter2", "correct horse battery staple")
		f.Add(i, "a\nb: c", "-----\x00\xff")
	}
	f.Fuzz(func(t *testing.T, at int, first, second string) {
		place := hidingPlaces[uint(at)%uint(len(hidingPlaces))]
		if place.oneLine {
			clean := strings.NewReplacer("\n", "", "\r", "", "\t", "", "\v", "", "\f", "", " ", "", "\u0085", "", "\u00a0", "")
			first, second = "x"+clean.Replace(first)+"x", "x"+clean.Replace(second)+"x"
		}
		before := place.object("the value before: " + fmt.Sprint(at))
		one, other := planOf(before, place.object("1"+first)), planOf(before, place.object("2"+second))
		sameWhatever(t, place.name, one, other)
	})
}
