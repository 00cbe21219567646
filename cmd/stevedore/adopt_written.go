package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	moving "stevedore.dev/stevedore/internal/adopt"
	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/render"
)

// folder is that of the definition; a file in it may be named.
func (a *adoptComparison) folder() string {
	if info, err := os.Stat(a.path); err == nil && !info.IsDir() {
		return filepath.Dir(a.path)
	}
	return a.path
}

// written is what the named definition says of StatefulSets that somebody wrote (spec.operations.adopt); nil
// where it names none, or there is no definition.
func (a *adoptComparison) written(cmd *cobra.Command, kube *kubeFlags, cluster record.Cluster) (*moving.Written, error) {
	if a.path == "" {
		return nil, nil
	}
	renderer, err := a.rendering.renderer(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer func() { _ = renderer.Close() }()
	if named, err := a.names(cmd, renderer, cluster); err != nil || !named {
		return nil, err
	}
	cfg, _, err := kube.config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for the API server: %w", err)
	}
	pins, err := pinsOnceAdopted(cmd.Context(), client, derive.Input{}, cluster)
	if err != nil {
		return nil, err
	}
	clusters, good, err := renderPath(cmd, renderer, a.folder(), cluster.String(), func(string, string) render.Pins { return pins })
	if err != nil {
		return nil, err
	}
	if !good || len(clusters) == 0 {
		return nil, fmt.Errorf("the definition %s of cluster %s is not good: see the problems above", a.path, cluster)
	}
	return moving.WrittenOf(clusters[0].cluster.Definition, clusters[0].rendered.Objects), nil
}

// names reports whether the definition of the cluster names a StatefulSet of somebody's. Problems are said
// by whoever renders it.
func (a *adoptComparison) names(cmd *cobra.Command, renderer render.Renderer, cluster record.Cluster) (bool, error) {
	_, trusted := renderer.(render.InProcess)
	tree, _, dir, err := readTree(cmd.Context(), a.folder(), rootOf(cmd), !trusted)
	if err != nil {
		return false, err
	}
	build, err := renderer.Build(cmd.Context(), tree, dir)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", a.path, err)
	}
	for i := range build.Clusters {
		if c := &build.Clusters[i]; c.Namespace == cluster.Namespace && c.Name == cluster.Name && c.Definition != nil {
			return len(c.Definition.Spec.Operations.Adopt) > 0, nil
		}
	}
	return false, nil
}
