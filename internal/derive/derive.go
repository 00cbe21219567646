// Package derive writes the definition of a cluster that runs already: what rendering it gives is
// what is live, and every difference that is left is listed with what it means. It reads what
// crate-operator has made, from its CrateDB object or from the StatefulSets alone. It is pure: no
// client and no clock.
package derive

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/sources/tree"
)

// Input is what is known of a namespace.
type Input struct {
	Namespace, Cluster string
	// Object is crate-operator's CrateDB object; nil where there is none.
	Object *unstructured.Unstructured
	// Live are the objects of the namespace, those of other clusters included: StatefulSets, Services,
	// PodDisruptionBudgets, ConfigMaps, PersistentVolumeClaims, and what else crate-operator owns.
	// Of Secrets nothing but the metadata is read.
	Live []*unstructured.Unstructured
	// Secrets are the keys of each Secret that was found, by name; nil where none could be read.
	Secrets map[string][]string
	// Config is what the daemon is configured with. A CloudProvider that is left out is taken from
	// what is live, and said.
	Config render.Config
}

// File is one to be committed.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Note is something that a person should know.
type Note struct {
	// Code is stable: suspended, unfinished, secret-missing, secret-unread, daemon-flag, left-out,
	// not-live, users-unknown, snapshots, several-values, managed, not-kept; unread of what the caller
	// could not read.
	Code string `json:"code"`
	Text string `json:"text"`
	// Person: somebody has to do something before the definition is pushed.
	Person bool `json:"person,omitempty"`
}

// Result is a definition, and how it differs from what is live.
type Result struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Files are the definition, first, then what travels with it, and kustomization.yaml last.
	Files       []File       `json:"files"`
	Notes       []Note       `json:"notes"`
	Differences []Difference `json:"differences"`
	// Config is Input.Config with what is live in place of what was left out. With it the daemon
	// renders what Differences are about.
	Config render.Config `json:"-"`
	// Rendered are the objects that the definition makes.
	Rendered []*unstructured.Unstructured `json:"-"`
}

// Definition is the text of the definition.
func (r *Result) Definition() string { return r.Files[0].Text }

// From derives the definition of a cluster. An *Unsupported is a cluster that runs in another way,
// a *NotFound one that is not there. Any other error says why the definition of what is live is none
// that stevedore takes.
func From(ctx context.Context, in Input) (*Result, error) {
	sets, err := findSets(in)
	if err != nil {
		return nil, err
	}
	d := &draft{in: in, config: in.Config, object: in.Object}
	if d.config.DefaultNamespace == "" {
		d.config.DefaultNamespace = in.Namespace
	}
	if err := d.read(sets); err != nil {
		return nil, err
	}
	if err := d.complete(ctx); err != nil {
		return nil, err
	}
	files := d.files()
	rendered, problems := renderFiles(ctx, files, d.config, in.Cluster)
	if len(problems) > 0 {
		return nil, refusal(problems)
	}
	d.checkSecrets()
	result := &Result{Namespace: in.Namespace, Cluster: in.Cluster, Files: files, Config: d.config, Rendered: rendered}
	result.Differences = append([]Difference{}, Differences(ofCluster(in, rendered, sets), rendered)...)
	result.Notes = append([]Note{}, d.notes...)
	return result, nil
}

// Against compares what is live of a cluster with what another definition of it renders. An
// *Unsupported is a cluster that no definition renders, a *NotFound one that is not there.
func Against(in Input, rendered []*unstructured.Unstructured) ([]Difference, error) {
	sets, err := findSets(in)
	if err != nil {
		return nil, err
	}
	return Differences(ofCluster(in, rendered, sets), rendered), nil
}

// AgainstNamed is Against for a definition that names the StatefulSets that somebody wrote
// (spec.operations.adopt): only these are compared, each as the adoption makes it.
func AgainstNamed(in Input, rendered []*unstructured.Unstructured) []Difference {
	return Differences(ofCluster(in, rendered, nil), rendered)
}

// refusal joins problems into an error.
func refusal(problems []definition.Problem) error {
	var texts []string
	for _, p := range problems {
		texts = append(texts, strings.TrimPrefix(p.Path+": "+p.Message, ": "))
	}
	return fmt.Errorf("what runs cannot be written as a definition: %s", strings.Join(texts, "; "))
}

// renderFiles renders files as the daemon would render their folder.
func renderFiles(ctx context.Context, files []File, config render.Config, cluster string) ([]*unstructured.Unstructured, []definition.Problem) {
	builder := tree.NewBuilder(tree.Limits{})
	for _, f := range files {
		if err := builder.File(f.Name, tree.Bytes(f.Text)); err != nil {
			return nil, []definition.Problem{{Message: err.Error()}}
		}
	}
	folder, err := builder.FS(".")
	if err != nil {
		return nil, []definition.Problem{{Message: err.Error()}}
	}
	build := render.BuildTree(ctx, folder, config)
	if len(build.Problems) > 0 {
		return nil, build.Problems
	}
	at := slices.IndexFunc(build.Clusters, func(c render.Cluster) bool { return c.Name == cluster })
	if at < 0 {
		return nil, []definition.Problem{{Message: "the definition was not found again"}}
	}
	rendered, problems := render.Render(build.Clusters[at], config, render.Pins{})
	if len(problems) > 0 {
		return nil, problems
	}
	return rendered.Objects, nil
}
