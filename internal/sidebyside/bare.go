package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// bareApply is a server-side apply of each object and nothing else, so many
// clusters at a time: a mode of this program, and what a reconcile is compared with.
func bareApply(args []string) error {
	if len(args) != 3 {
		return errors.New("bare-apply wants a kubeconfig, a folder and a number of workers")
	}
	workers, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	cfg.QPS = -1
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	finder, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	files, err := filepath.Glob(filepath.Join(args[1], "*", objectsFile))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("finding objects in %s: %d files, %w", args[1], len(files), err)
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(workers)
	for _, file := range files {
		group.Go(func() error {
			objects, err := readObjects(file)
			if err != nil {
				return err
			}
			for _, object := range objects {
				kind := object.GroupVersionKind()
				mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
				if err != nil {
					return err
				}
				_, err = client.Resource(mapping.Resource).Namespace(object.GetNamespace()).
					Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "bare", Force: true})
				if err != nil {
					return fmt.Errorf("applying %s %s: %w", kind.Kind, object.GetName(), err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// readObjects reads a file of YAML documents.
func readObjects(file string) ([]*unstructured.Unstructured, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	decoder := yaml.NewYAMLOrJSONDecoder(opened, 4096)
	var all []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, object)
	}
}
