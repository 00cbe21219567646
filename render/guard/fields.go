package guard

import (
	"strings"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/internal/located"
)

// The fields of a kustomization, those of kustomize's api v0.21. What kustomize
// would take from the network, run, or keep for the whole process is known and
// refused; its own strict decoder would name neither line nor remedy for a
// field that it does not know.
var (
	kustomizationFields = mapping("",
		one("apiVersion"), one("kind"), anything("metadata"),
		one("namePrefix"), one("nameSuffix"), checkedNamespace(),
		free("commonLabels"), free("commonAnnotations"),
		entries("labels", mapping("", free("pairs"), flag("includeSelectors"), flag("includeTemplates"),
			flag("includeVolumeClaimTemplates"), anything("fields"))),
		texts("resources"), texts("components"), texts("bases"), texts("configurations"),
		texts("patchesStrategicMerge"),
		entries("patches", patchFields()), entries("patchesJson6902", patchFields()),
		entries("images", mapping("", one("name"), one("newName"), one("newTag"), one("tagSuffix"), one("digest"))),
		entries("replicas", mapping("", one("name"), whole("count"))),
		entries("replacements", mapping("", one("path"), anything("source"), anything("targets"), anything("sourceValue"))),
		anything("vars"), anything("sortOptions"), texts("buildMetadata"),
		mapping("generatorOptions", generatorOptionFields()...),
		entries("configMapGenerator", generatorFields()),
		entries("secretGenerator", generatorFields(one("type"))),

		no("openapi", "openapi-not-supported: it would change every other build's merges too: take it out, a definition's lists are merged by name without it"),
		no("crds", "crds-not-supported: it would change every other build's merges too: take it out"),
		no("helmCharts", "helm-not-supported: a chart is a program from the network: commit what it renders"),
		no("helmGlobals", "helm-not-supported: a chart is a program from the network: commit what it renders"),
		no("helmChartInflationGenerator", "helm-not-supported: a chart is a program from the network: commit what it renders"),
		no("generators", "plugins-not-supported: generators may run programs: use configMapGenerator or secretGenerator, or commit what they make"),
		no("transformers", "plugins-not-supported: transformers may run programs: use patches, labels, images or replacements"),
		no("validators", "plugins-not-supported: validators may run programs: take it out"),
		no("imageTags", "unknown field: did you mean images?"),
	)
	replacementFile = mapping("", anything("source"), anything("targets"), anything("sourceValue"))
)

func mapping(name string, children ...*located.Field) *located.Field {
	return &located.Field{Name: name, Kind: located.Object, Fields: children}
}

func one(name string) *located.Field { return &located.Field{Name: name, Kind: located.Text} }

func checkedNamespace() *located.Field {
	return &located.Field{Name: "namespace", Kind: located.Text, Check: func(s string) string {
		if s == "" {
			return "" // as if it were left out
		}
		return definition.CheckNamespace(s)
	}}
}

func anything(name string) *located.Field { return &located.Field{Name: name, Kind: located.Any} }

func flag(name string) *located.Field { return &located.Field{Name: name, Kind: located.Boolean} }

func whole(name string) *located.Field {
	zero := 0.0
	return &located.Field{Name: name, Kind: located.Integer, Min: &zero}
}

func free(name string) *located.Field {
	return &located.Field{Name: name, Kind: located.Map, Items: &located.Field{Kind: located.Text}}
}

func texts(name string) *located.Field { return entries(name, &located.Field{Kind: located.Text}) }

func entries(name string, item *located.Field) *located.Field {
	return &located.Field{Name: name, Kind: located.List, Items: item}
}

func no(name, message string) *located.Field {
	return &located.Field{Name: name, Kind: located.Any, Refused: message}
}

func patchFields() *located.Field {
	return mapping("", one("path"), one("patch"),
		mapping("target", one("group"), one("version"), one("kind"), one("name"), one("namespace"),
			one("labelSelector"), one("annotationSelector")),
		mapping("options", flag("allowNameChange"), flag("allowKindChange")))
}

func generatorOptionFields() []*located.Field {
	return []*located.Field{free("labels"), free("annotations"), flag("disableNameSuffixHash"), flag("immutable")}
}

func generatorFields(more ...*located.Field) *located.Field {
	return mapping("", append(more, one("name"), one("namespace"),
		&located.Field{Name: "behavior", Kind: located.Text, Enum: []string{"create", "replace", "merge"}},
		texts("files"),
		entries("literals", &located.Field{Kind: located.Text, Secret: true}), texts("envs"), one("env"),
		mapping("options", generatorOptionFields()...))...)
}

// hosts are what kustomize, or git for it, takes for a host without a scheme.
var hosts = []string{"github.com", "gitlab.com", "bitbucket.org", "ssh.dev.azure.com", "dev.azure.com"}

// remote says why a path is none inside the tree, or "" when it is one. Whether
// a folder of that name exists is no answer: kustomize ran git for a local
// folder named github.com/a/b.
func remote(value string) string {
	const advice = ": commit the files and name their path"
	lower := strings.ToLower(value)
	first, _, _ := strings.Cut(lower, "/")
	switch {
	case strings.TrimSpace(value) == "":
		return "is empty: write a path"
	case strings.ContainsAny(value, "\x00\r\n\t"):
		return "is no path: it has a control character"
	case strings.Contains(value, ":"), strings.Contains(first, "@"), strings.Contains(value, "//"),
		strings.Contains(value, "?"), strings.Contains(lower, "_git/"), strings.HasSuffix(lower, ".git"),
		strings.Contains(lower, ".git/"):
		return "is remote or may be read as it: nothing is fetched" + advice
	case strings.HasPrefix(value, "/"), strings.HasPrefix(value, "~"):
		return "is absolute: write a path relative to the kustomization"
	case strings.Contains(value, "\\"):
		return "has a backslash: write / between folders"
	}
	for _, host := range hosts {
		if first == host || strings.HasSuffix(first, "."+host) {
			return "is remote or may be read as it: nothing is fetched" + advice
		}
	}
	return ""
}
