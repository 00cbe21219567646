package setting

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// AttributePrefix begins the names of a node's own attributes, which it reads when it starts.
const AttributePrefix = "node.attr."

// AttributesOf are the node.attr.* of a StatefulSet's template, without that prefix.
func AttributesOf(set *unstructured.Unstructured) model.SettingList {
	found := map[string]string{}
	manifest.EachCommand(set, func(arguments []any) []any {
		for _, a := range arguments {
			name, value, ok := strings.Cut(fmt.Sprint(a), "=")
			if name, is := strings.CutPrefix(name, "-C"+AttributePrefix); ok && is && !strings.ContainsAny(value, "$`") {
				found[name] = value // the last one wins
			}
		}
		return nil
	})
	var out []model.Setting
	for name, value := range found {
		out = append(out, model.Setting{Name: name, Value: value})
	}
	return manifest.NewSettingList(out)
}
