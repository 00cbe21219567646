package render

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/password"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/internal/located"
)

// travel gives an object that is no definition to its cluster: the only one of
// the build, or the one that its label names.
func (a *attribution) travel(here []*found, i item) {
	o := i.object
	label := o.GetLabels()[names.ClusterLabel]
	refuse := func(format string, args ...any) {
		p := a.problemOf(i, format, args...)
		if len(here) == 1 {
			here[0].refuse(p)
		} else {
			a.problems = append(a.problems, p)
		}
	}
	var candidates []*found
	for _, f := range here {
		if label == "" || (label == f.Name && (o.GetNamespace() == "" || o.GetNamespace() == f.Namespace || len(here) == 1)) {
			candidates = append(candidates, f)
		}
	}
	switch {
	case len(here) == 0:
		refuse("belongs to no cluster: put it into the folder or kustomization of a definition")
		return
	case len(candidates) == 0:
		refuse("names the cluster %q by its label %s, and no such cluster is built here", label, names.ClusterLabel)
		return
	case len(candidates) > 1 && len(slices.Compact(clusterNames(candidates))) == 1:
		return // that its cluster is defined more than once is reported
	case len(candidates) > 1:
		refuse("belongs to one of the clusters %s: say which by the label %s", strings.Join(clusterNames(candidates), ", "), names.ClusterLabel)
		return
	}
	f := candidates[0]
	stop := func(format string, args ...any) {
		f.refuse(a.problemOf(i, format, args...))
	}
	gk := o.GroupVersionKind().GroupKind()
	if _, encrypted := o.Object["sops"]; encrypted {
		stop("is encrypted with SOPS, which is not supported yet: make the Secret in the namespace by other means")
		return
	}
	if !a.cfg.allows(gk) {
		stop("is of kind %s, which may not travel with a cluster; these may: %s", kindName(gk), strings.Join(a.cfg.kinds(), ", "))
		return
	}
	if o.GetName() == "" {
		stop("has no name: write metadata.name")
		return
	}
	wide := clusterWide(o.GetAPIVersion(), o.GetKind())
	if !wide && o.GetNamespace() == "" {
		o.SetNamespace(f.Namespace)
	}
	if !wide && o.GetNamespace() != f.Namespace {
		stop("is for namespace %s, its cluster is in %s: an object travels within its cluster's namespace", o.GetNamespace(), f.Namespace)
		return
	}
	if err := plainSecret(o); err != nil {
		stop("%v", err)
		return
	}
	f.oddPasswords(i, o)
	dropServerFields(o)
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	o.SetLabels(with(labels, names.ClusterLabel, f.Name))
	k := keyOf(o)
	if before, twice := f.others[k]; twice {
		stop("stands twice, in %s and in %s: keep one", before, i.file)
		return
	}
	f.others[k] = i.file
	f.Others = append(f.Others, o)
}

// problemOf is one of an object, at its document where that can be told.
func (a *attribution) problemOf(i item, format string, args ...any) definition.Problem {
	p := definition.Problem{File: i.file, Message: i.describe() + " " + fmt.Sprintf(format, args...)}
	data, err := fs.ReadFile(a.tree, i.file)
	if err != nil || i.generated {
		return p
	}
	documents, _ := located.Parse(data)
	for _, d := range documents {
		kind, _ := located.String(located.Get(d.Node, "kind"))
		name, _ := located.String(located.Get(d.Node, "metadata", "name"))
		// A prefix changes the name; the only document of a file is meant anyway.
		if kind == i.object.GetKind() && (name == i.object.GetName() || len(documents) == 1) {
			p.Line, p.Column = d.Node.Line+d.Line, d.Node.Column
			return p
		}
	}
	return p
}

// oddPasswords warns of a Secret that is made from a file whose last line break nobody can
// type, before the daemon refuses it. It stops nothing: a cluster may have such a password
// for long.
func (f *found) oddPasswords(i item, o *unstructured.Unstructured) {
	if f.Definition == nil || o.GetKind() != "Secret" || o.GetAPIVersion() != "v1" {
		return
	}
	data, _ := o.Object["data"].(map[string]any)
	for _, u := range f.Definition.Spec.Users {
		text, _ := data[u.Password.Key].(string)
		value, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		if u.Password.Name != o.GetName() || err != nil {
			continue
		}
		if why := password.Unusable(value); why != "" {
			f.refuse(definition.Problem{File: i.file, Path: "data." + u.Password.Key, Warning: true, Cluster: f.String(),
				Message: fmt.Sprintf("%s has a value for user %s that is not made a password: %s", i.describe(), u.Name, why)})
		}
	}
}

func clusterNames(clusters []*found) []string {
	var texts []string
	for _, f := range clusters {
		texts = append(texts, f.String())
	}
	slices.Sort(texts)
	return texts
}

// plainSecret turns stringData into data: the server does so too, and owns
// other fields than were applied then.
func plainSecret(o *unstructured.Unstructured) error {
	if o.GetKind() != "Secret" || o.GetAPIVersion() != "v1" {
		return nil
	}
	plain, ok := o.Object["stringData"]
	if !ok {
		return nil
	}
	values, isMap := plain.(map[string]any)
	if !isMap && plain != nil {
		return fmt.Errorf("has a stringData that is no map")
	}
	data, isMap := o.Object["data"].(map[string]any)
	if !isMap {
		data = map[string]any{}
	}
	for k, v := range values {
		text, isText := v.(string)
		if !isText {
			return fmt.Errorf("has a value in stringData that is no text: put %s into quotes", k)
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(o.Object, "stringData")
	if len(data) > 0 {
		o.Object["data"] = data
	}
	return nil
}

// dropServerFields takes off what only the server or stevedore writes, such as
// of an object that was exported from a cluster.
func dropServerFields(o *unstructured.Unstructured) {
	delete(o.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink", "ownerReferences"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	annotations := o.GetAnnotations()
	for _, a := range []string{"kubectl.kubernetes.io/last-applied-configuration", names.AppliedAnnotation, names.HoldAnnotation} {
		delete(annotations, a)
	}
	if len(annotations) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	} else {
		o.SetAnnotations(annotations)
	}
}

// sortObjects orders objects by kind and name: their order in a kustomization
// carries no meaning, and equal content has to be equal bytes.
func sortObjects(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(kindName(a.GroupVersionKind().GroupKind()), kindName(b.GroupVersionKind().GroupKind())),
			cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}
