// Package exported reads the records that kubectl has printed into a file: for a process
// that has no access to the cluster that they are in.
package exported

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
)

// Limits of what is read. The largest record has 512 KiB, so that a file of many clusters
// is far below.
const (
	// MaxBytes are those of one file.
	MaxBytes = 64 << 20
	// maxBeside are those beside the records' content. All that YAML makes of a text is a
	// hundred times as large as the text, and this is the part that it makes something of.
	maxBeside = 4 << 20
)

// Observations are the readings of databases in a file, by cluster.
type Observations struct {
	// Name is the file's, as a person has named it.
	Name  string
	found map[record.Cluster][]reading
}

// reading is one ConfigMap's content, which nobody has looked into.
type reading struct {
	line int
	data scalar
}

// Command makes such a file; errors end with it.
const Command = "kubectl get configmap -A -l " + record.Label + "=" + string(record.Observation) + " -o yaml"

// Read reads what `kubectl get configmap -o yaml` or `-o json` prints: one ConfigMap, a List
// of them, or several documents. It takes readings only, and keeps them packed: of a
// large fleet one command looks at few. Errors say the file and the line, and quote
// nothing of what stands there, which may be anything.
func Read(name string, in io.Reader) (*Observations, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case len(text) > MaxBytes:
		return nil, fmt.Errorf("%s: it has more than the %d MiB that are read: export fewer namespaces (-n instead of -A), a file for each", name, MaxBytes>>20)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%s: it is empty, and kubectl prints a List also where there are no readings: did the export fail? It is made by: %s", name, Command)
	}
	o := &Observations{Name: name, found: map[record.Cluster][]reading{}}
	documents, err := parse(text)
	for i := 0; err == nil && i < len(documents); i++ {
		err = o.take(documents[i])
	}
	if at, ok := errors.AsType[*fault](err); ok {
		if at.line == 0 {
			return nil, fmt.Errorf("%s: %s", name, at.message)
		}
		return nil, fmt.Errorf("%s:%d: %s", name, at.line, at.message)
	}
	return o, err
}

// take keeps the readings of one document: a ConfigMap or a List.
func (o *Observations) take(n node) error {
	kind, err := n.text("kind")
	if err != nil {
		return err
	}
	if kind != "List" && kind != "ConfigMapList" {
		return o.takeOne(n, kind)
	}
	items, err := n.list("items")
	if err != nil {
		return err
	}
	for _, item := range items {
		kind, err := item.text("kind")
		if err != nil {
			return err
		}
		if err := o.takeOne(item, kind); err != nil {
			return err
		}
	}
	return nil
}

func (o *Observations) takeOne(n node, kind string) error {
	apiVersion, err := n.text("apiVersion")
	if err != nil {
		return err
	}
	switch {
	case kind == "":
		return n.fault("it is no object of Kubernetes, and a ConfigMap is expected: %s", Command)
	case kind != "ConfigMap" || apiVersion != "v1":
		return n.fault("it is no ConfigMap, and readings are ConfigMaps: export nothing else: %s", Command)
	}
	cluster, err := clusterOf(n)
	if err != nil {
		return err
	}
	if cluster == (record.Cluster{}) {
		return n.fault("the ConfigMap holds no reading: those that do have the label %s=%s and the name that the daemon gave them: %s", record.Label, record.Observation, Command)
	}
	data, err := n.child("data")
	if err != nil {
		return err
	}
	content, err := data.scalar(names.DataKey)
	if err != nil {
		return err
	}
	if content.absent() {
		return n.fault("the ConfigMap holds no reading: it has no %s under data: export it again: %s", names.DataKey, Command)
	}
	o.found[cluster] = append(o.found[cluster], reading{line: n.line(), data: content})
	return nil
}

// clusterOf is whose reading a ConfigMap is; the zero value where it is none.
func clusterOf(n node) (record.Cluster, error) {
	metadata, err := n.child("metadata")
	if err != nil {
		return record.Cluster{}, err
	}
	labels, err := metadata.child("labels")
	if err != nil {
		return record.Cluster{}, err
	}
	object := metav1.ObjectMeta{Labels: map[string]string{}}
	for key, into := range map[string]*string{"name": &object.Name, "namespace": &object.Namespace} {
		if *into, err = metadata.text(key); err != nil {
			return record.Cluster{}, err
		}
	}
	for _, key := range []string{names.ClusterLabel, record.Label} {
		if object.Labels[key], err = labels.text(key); err != nil {
			return record.Cluster{}, err
		}
	}
	cluster, kind, ours := record.IsRecord(&object)
	if !ours || kind != record.Observation || cluster.Namespace == "" {
		return record.Cluster{}, nil
	}
	return cluster, nil
}

// Load reads a cluster's reading into the value, which is to be the zero value before, and
// says where it stands, for errors; "" where the file has none.
func (o *Observations) Load(cluster record.Cluster, into any) (place string, err error) {
	all := o.found[cluster]
	if len(all) == 0 {
		return "", nil
	}
	place = fmt.Sprintf("%s:%d", o.Name, all[0].line)
	if len(all) > 1 {
		return place, fmt.Errorf("%s: there is another reading of cluster %s at line %d, and which one holds cannot be known: export each Kubernetes cluster to a file of its own, and each time to a new file", place, cluster, all[1].line)
	}
	data, err := all[0].data.unquoted()
	if err == nil {
		err = record.Decode(record.Observation, data, into)
	}
	if version, ok := errors.AsType[*record.SchemaVersionError](err); ok {
		other := "another"
		if version.Version > names.SchemaVersion {
			other = "a newer"
		}
		return place, fmt.Errorf("%s: the reading of cluster %s was written by %s release of stevedore (schemaVersion %d, and this one knows %d): use the release that the daemon runs", place, cluster, other, version.Version, names.SchemaVersion)
	}
	if err != nil {
		// The words of a decoder may quote what it has read.
		return place, fmt.Errorf("%s: the reading of cluster %s is damaged: it is not as a daemon writes it, or is cut short: export it again: %s", place, cluster, Command)
	}
	return place, nil
}

// Lines are where the readings of other clusters than these begin, in order.
func (o *Observations) Lines(known func(record.Cluster) bool) []int {
	var lines []int
	for cluster, all := range o.found {
		if known(cluster) {
			continue
		}
		for _, one := range all {
			lines = append(lines, one.line)
		}
	}
	slices.Sort(lines)
	return lines
}
