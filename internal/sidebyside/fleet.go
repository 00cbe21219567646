package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// perNamespace clusters share a namespace.
const perNamespace = 25

// objectsFile has one cluster's objects, beside its kustomization.
const objectsFile = "objects.yaml"

// cluster is one of a fleet, by its number.
type cluster int

func (c cluster) namespace() string { return fmt.Sprintf("fleet-%02d", int(c)/perNamespace) }
func (c cluster) name() string      { return fmt.Sprintf("c%04d", int(c)) }
func (c cluster) secret() string    { return c.name() + "-app" }
func (c cluster) service() string   { return "crate-" + c.name() }

// file is where the definition stands in its repository.
func (c cluster) file() string { return "clusters/" + c.namespace() + "/" + c.name() + ".yaml" }

// markAnnotation on a cluster's Service is what a commit changes: nothing restarts
// for it.
const markAnnotation = "example.com/mark"

// definition of a cluster of so many nodes with one user, and a mark.
func (c cluster) definition(nodes int, mark string) string {
	return strings.NewReplacer("NAMESPACE", c.namespace(), "NAME", c.name(), "SECRET", c.secret(), "NODES", fmt.Sprint(nodes), "MARK", mark).
		Replace(`apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata:
  name: NAME
  namespace: NAMESPACE
spec:
  cluster:
    name: NAME
    imageRegistry: crate
    version: 6.4.3
    service:
      annotations:
        example.com/mark: "MARK"
  nodes:
    data:
    - name: hot
      replicas: NODES
      resources:
        limits: {cpu: 1, memory: 1Gi}
        disk: {count: 1, size: 16GiB, storageClass: default}
        heapRatio: 0.5
  users:
  - name: app
    password:
      secretKeyRef: {name: SECRET, key: password}
`)
}

// definitions of a whole fleet of clusters of one node, by file.
func definitions(size int) map[string]string {
	files := map[string]string{}
	for c := range cluster(size) {
		files[c.file()] = c.definition(1, "0")
	}
	return files
}

func writeFiles(root string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manifests are the objects that a folder of definitions makes, as others take them:
// a folder a cluster with a kustomization, and one over them all.
type manifests struct {
	dir     string
	objects []*unstructured.Unstructured
}

// all is the folder of the kustomization over all clusters.
func (m manifests) all() string { return m.dir }

// render makes the manifests of definitions by `stevedore render`.
func render(ctx context.Context, binary, definitions, dir string) (manifests, error) {
	command := exec.CommandContext(ctx, binary, "render", definitions, "-o", "json")
	var out, words bytes.Buffer
	command.Stdout, command.Stderr = &out, &words
	if err := command.Run(); err != nil {
		return manifests{}, fmt.Errorf("rendering %s: %w: %s", definitions, err, words.String())
	}
	made := manifests{dir: dir}
	if err := json.Unmarshal(out.Bytes(), &made.objects); err != nil {
		return manifests{}, fmt.Errorf("reading what was rendered: %w", err)
	}
	texts := map[string]*strings.Builder{}
	var folders []string
	for _, object := range made.objects {
		folder, err := folderOf(object)
		if err != nil {
			return manifests{}, err
		}
		if texts[folder] == nil {
			texts[folder] = &strings.Builder{}
			folders = append(folders, folder)
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return manifests{}, err
		}
		texts[folder].WriteString("---\n" + string(text))
	}
	files := map[string]string{"kustomization.yaml": "resources:\n- " + strings.Join(folders, "\n- ") + "\n"}
	for _, folder := range folders {
		files[folder+"/kustomization.yaml"] = "resources:\n- " + objectsFile + "\n"
		files[folder+"/"+objectsFile] = texts[folder].String()
	}
	return made, writeFiles(dir, files)
}

// folderOf a cluster's object is named as the cluster, which each name ends with.
func folderOf(object *unstructured.Unstructured) (string, error) {
	name := object.GetName()
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 || len(name)-dash != len("-c0000") {
		return "", fmt.Errorf("%s %s does not end with the name of a cluster", object.GetKind(), name)
	}
	return name[dash+1:], nil
}
