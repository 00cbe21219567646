package render

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// Render makes a cluster's objects: the embedded base of the pinned version,
// what is computed from the definition, the user's spec.patches last, and
// behind them what travels with the cluster. It returns every problem at once,
// and no objects when there is one. A cluster that has Problems of its own
// gets those back. The cluster is not changed, and nothing in the result is
// shared with it.
func Render(c Cluster, cfg Config, pins Pins) (*Rendered, []definition.Problem) {
	if len(c.Problems) > 0 || c.Definition == nil {
		return nil, slices.Clone(c.Problems)
	}
	m, problems := newModel(c, cfg, pins)
	if len(problems) > 0 {
		return nil, problems
	}
	objects, problems := m.objects()
	if len(problems) > 0 {
		return nil, problems
	}
	objects = append(objects, m.travelling(c.Others)...)
	revision, err := m.revision(objects)
	if err != nil {
		return nil, []definition.Problem{m.problem(0, "", "hashing the cluster's objects: %v", err)}
	}
	return &Rendered{Objects: objects, Revision: revision, Pins: m.pins}, nil
}

// problem is one of this cluster; line 0 is the definition's own.
func (m *model) problem(line int, path, format string, args ...any) definition.Problem {
	if line == 0 {
		line = m.def.Line
	}
	return definition.Problem{
		File: m.def.File, Line: line, Path: path,
		Message: fmt.Sprintf(format, args...), Cluster: m.namespace + "/" + m.def.Name,
	}
}

// travelling are the other objects, each with the cluster's label and
// namespace.
func (m *model) travelling(others []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, 0, len(others))
	for _, other := range others {
		o := other.DeepCopy()
		if o.GetNamespace() == "" && !clusterWide(o.GetAPIVersion(), o.GetKind()) {
			o.SetNamespace(m.namespace)
		}
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		o.SetLabels(with(labels, names.ClusterLabel, m.def.Name))
		result = append(result, o)
	}
	sortObjects(result)
	return result
}
