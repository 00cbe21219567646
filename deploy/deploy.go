// Package deploy holds what the daemon is installed with, and says what it grants; its tests hold
// the parts against each other.
package deploy

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed daemon namespace reader cluster
var files embed.FS

// Folders that are applied by themselves.
const (
	// Daemon is applied once, as a part of deploy; Namespace once a namespace with clusters;
	// Cluster is optional, and of the whole Kubernetes cluster.
	Daemon, Namespace, Cluster = "daemon", "namespace", "cluster"
)

// Objects are those of a folder, as they stand in its files: without the namespace that its
// kustomization gives them.
func Objects(folder string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	names, err := fs.Glob(files, folder+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of deploy/%s: %w", folder, err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the manifest deploy/%s: %w", name, err)
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			object := &unstructured.Unstructured{}
			if err == nil {
				err = yaml.Unmarshal(document, &object.Object)
			}
			if err != nil {
				return nil, fmt.Errorf("reading the manifest deploy/%s: %w", name, err)
			}
			if kind := object.GetKind(); kind != "" && kind != "Kustomization" {
				out = append(out, object)
			}
		}
	}
	return out, nil
}

// Rules are what the Role, or the ClusterRole, of a folder grants.
func Rules(folder string) ([]rbacv1.PolicyRule, error) {
	objects, err := Objects(folder)
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	for _, object := range objects {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.Role
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return nil, fmt.Errorf("reading the role of deploy/%s: %w", folder, err)
		}
		rules = append(rules, role.Rules...)
	}
	return rules, nil
}

// Account is the ServiceAccount that the daemon runs as.
func Account() (metav1.ObjectMeta, error) {
	objects, err := Objects(Namespace)
	if err != nil {
		return metav1.ObjectMeta{}, err
	}
	for _, object := range objects {
		var binding rbacv1.RoleBinding
		if object.GetKind() != "RoleBinding" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil {
			return metav1.ObjectMeta{}, fmt.Errorf("reading the binding of deploy/%s: %w", Namespace, err)
		}
		if len(binding.Subjects) > 0 {
			return metav1.ObjectMeta{Namespace: binding.Subjects[0].Namespace, Name: binding.Subjects[0].Name}, nil
		}
	}
	return metav1.ObjectMeta{}, fmt.Errorf("deploy/%s binds its role to nobody", Namespace)
}
