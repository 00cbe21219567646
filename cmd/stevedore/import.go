package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/plaintext"
	"stevedore.dev/stevedore/internal/record"
)

func newImport() *cobra.Command {
	var kube kubeFlags
	var rendering renderFlags
	var out importOutput
	cmd := &cobra.Command{
		Use:   "import CLUSTER",
		Short: "Write the definition of a cluster that crate-operator made",
		Long: `import reads a cluster that runs, and writes the definition that renders it: of its
CrateDB object (cloud.crate.io/v1) and its StatefulSets, or of the StatefulSets alone.
Where the two differ, what runs wins. Every difference that is left is listed with what
it means: nothing, in place, at the next restart of the pods, or that it cannot be
changed. It changes nothing in the Kubernetes cluster. Secrets are referred to, and never
copied.

Give it the flags that the daemon has (--cloud-provider, --sql-exporter-image,
--jmx-exporter-url): they are part of what is rendered.`,
		Example: `  stevedore import prod/orders
  stevedore import -n prod orders --out clusters/orders`,
		Args: takesOne("CLUSTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			config, err := rendering.config()
			if err != nil {
				return err
			}
			cfg, namespace, err := kube.config()
			if err != nil {
				return err
			}
			cluster, err := kube.cluster(args[0], namespace)
			if err != nil {
				return err
			}
			cfg.QPS = -1
			client, err := dynamic.NewForConfig(cfg)
			if err != nil {
				return fmt.Errorf("making the client for the API server: %w", err)
			}
			typed, err := kubernetes.NewForConfig(cfg)
			if err != nil {
				return fmt.Errorf("making the client for the API server: %w", err)
			}
			in, unread, err := readCluster(cmd.Context(), client, cluster)
			if err != nil {
				return withAdvice(err)
			}
			in.Config = config
			result, err := derive.From(cmd.Context(), in)
			if _, missing := errors.AsType[*derive.NotFound](err); missing {
				err = errors.Join(namespaceThere(cmd.Context(), typed, cluster.Namespace), err)
			}
			if err != nil {
				return fmt.Errorf("cluster %s: %w", cluster, err)
			}
			result.Notes = append(result.Notes, unread...)
			return out.write(cmd, result)
		},
	}
	kube.add(cmd, true)
	rendering.add(cmd)
	out.add(cmd)
	cmd.ValidArgsFunction = kube.running
	return cmd
}

// kindsOfClusters are what belongs to a cluster of crate-operator's. Without those that are needed
// nothing can be said; the others are only listed among the differences.
var kindsOfClusters = []struct {
	resource schema.GroupVersionResource
	needed   bool
}{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, true},
	{schema.GroupVersionResource{Version: "v1", Resource: "services"}, true},
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	{schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, true},
	{schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, false},
	{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, false},
	{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, false},
	{schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, false},
}

var (
	crateDBs = schema.GroupVersionResource{Group: names.OperatorGroup, Version: "v1", Resource: "cratedbs"}
	secrets  = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

// readCluster reads what derive needs, and says what may not be read. Of Secrets it keeps the keys of
// those that the definition will refer to.
func readCluster(ctx context.Context, client dynamic.Interface, cluster record.Cluster) (in derive.Input, unread []derive.Note, err error) {
	in = derive.Input{Namespace: cluster.Namespace, Cluster: cluster.Name}
	for _, kind := range kindsOfClusters {
		list, err := client.Resource(kind.resource).Namespace(cluster.Namespace).List(ctx, metav1.ListOptions{})
		switch {
		case err == nil:
			for i := range list.Items {
				in.Live = append(in.Live, &list.Items[i])
			}
		case kind.needed || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return in, nil, fmt.Errorf("listing %s of namespace %s: %w", kind.resource.Resource, cluster.Namespace, err)
		case apierrors.IsForbidden(err):
			unread = append(unread, derive.Note{Code: "unread", Text: fmt.Sprintf("%s may not be read: they are not among the differences", kind.resource.Resource)})
		}
	}
	object, err := client.Resource(crateDBs).Namespace(cluster.Namespace).Get(ctx, cluster.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		in.Object = object
	case apierrors.IsForbidden(err):
		unread = append(unread, derive.Note{Code: "unread", Person: true, Text: "the CrateDB object may not be read: the definition is of the StatefulSets alone"})
	case !apierrors.IsNotFound(err):
		return in, nil, fmt.Errorf("reading the CrateDB object %s: %w", cluster, err)
	}
	keys := map[string][]string{}
	for _, need := range derive.Needed(in) {
		if _, known := keys[need.Name]; known {
			continue
		}
		secret, err := client.Resource(secrets).Namespace(cluster.Namespace).Get(ctx, need.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			data, _, _ := unstructured.NestedMap(secret.Object, "data")
			keys[need.Name] = append([]string{}, slices.Sorted(maps.Keys(data))...)
			in.Live = append(in.Live, withoutValues(secret))
		case apierrors.IsForbidden(err):
			return in, unread, nil // in.Secrets stays nil: they could not be read
		case !apierrors.IsNotFound(err):
			return in, nil, fmt.Errorf("reading Secret %s: %w", need.Name, err)
		}
	}
	in.Secrets = keys
	return in, unread, nil
}

// withoutValues is a Secret's name and owners.
func withoutValues(secret *unstructured.Unstructured) *unstructured.Unstructured {
	only := &unstructured.Unstructured{}
	only.SetAPIVersion(secret.GetAPIVersion())
	only.SetKind(secret.GetKind())
	only.SetNamespace(secret.GetNamespace())
	only.SetName(secret.GetName())
	only.SetOwnerReferences(secret.GetOwnerReferences())
	return only
}

// running completes the clusters that run in the namespace, those of stevedore's included.
func (k *kubeFlags) running(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return quietly(cmd, func(ctx context.Context) (found []string, err error) {
		client, namespace, err := k.client(completionTimeout)
		if err != nil {
			return nil, err
		}
		sets, err := client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: names.ComponentLabel + "=" + names.Component})
		if err != nil {
			return nil, err
		}
		for _, set := range sets.Items {
			found = append(found, set.Labels[names.NameLabel])
		}
		return found, nil
	})
}

// importOutput is where a definition goes, and how it is printed.
type importOutput struct{ dir, format string }

func (o *importOutput) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "out", "", "write the files into this folder, over none that is there (default: print the YAML)")
	cmd.Flags().StringVarP(&o.format, "output", "o", "yaml", "yaml, or json with the files, the notes and the differences")
}

func (o *importOutput) check() error {
	if o.format != "yaml" && o.format != "json" {
		return fmt.Errorf("-o %q is not known: write yaml or json", o.format)
	}
	return nil
}

// write prints or writes the definition, says what a person should know, and ends with 2 where
// something is left to do for one.
func (o *importOutput) write(cmd *cobra.Command, r *derive.Result) error {
	out := cmd.OutOrStdout()
	if o.dir != "" {
		written, err := writeNew(o.dir, r.Files)
		if err != nil {
			return err
		}
		if o.format == "yaml" {
			for _, file := range written {
				if _, err := fmt.Fprintln(out, file); err != nil {
					return err
				}
			}
		}
	}
	switch {
	case o.format == "json":
		if err := printJSON(out, r); err != nil {
			return err
		}
	case o.dir == "":
		// The last file only lists the others: a folder of YAML does without.
		for i, file := range r.Files[:len(r.Files)-1] {
			if i > 0 {
				file.Text = "---\n" + file.Text
			}
			if _, err := fmt.Fprint(out, file.Text); err != nil {
				return err
			}
		}
	}
	if o.format == "yaml" {
		fmt.Fprint(cmd.ErrOrStderr(), plaintext.Text(saidOf(r)))
	}
	if asksAPerson(r) {
		return exitCode(exitProblem)
	}
	return nil
}

// writeNew writes files into a folder, all or none: where one is there already, nothing is written.
func writeNew(dir string, files []derive.File) (written []string, err error) {
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is there already, and is not written over: give another folder, or move it away", path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("looking at %s: %w", path, err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder: %w", err)
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return written, fmt.Errorf("writing: %w", err)
		}
		_, err = f.WriteString(file.Text)
		if err = errors.Join(err, f.Close()); err != nil {
			return written, fmt.Errorf("writing %s: %w", path, err)
		}
		written = append(written, path)
	}
	return written, nil
}

// asksAPerson: somebody has to look at the definition before it is pushed.
func asksAPerson(r *derive.Result) bool {
	return slices.ContainsFunc(r.Notes, func(n derive.Note) bool { return n.Person }) ||
		slices.ContainsFunc(r.Differences, func(d derive.Difference) bool { return d.Effect == derive.EffectImmutable })
}

// saidOf are the notes, and the differences by what they mean: what is alike in several objects once.
func saidOf(r *derive.Result) string {
	var b strings.Builder
	for _, person := range []bool{true, false} {
		for _, note := range r.Notes {
			if note.Person == person {
				fmt.Fprintf(&b, "%s: %s\n", map[bool]string{true: "to do", false: "note"}[person], note.Text)
			}
		}
	}
	for _, effect := range []derive.Effect{derive.EffectImmutable, derive.EffectRestart, derive.EffectInPlace, derive.EffectNothing} {
		lines := differencesOf(r.Differences, effect)
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n", headings[effect])
		for _, line := range lines {
			fmt.Fprintln(&b, "  "+line)
		}
	}
	return b.String()
}

var headings = map[derive.Effect]string{
	derive.EffectImmutable: "Differs from what is live, and cannot be changed",
	derive.EffectRestart:   "Differs from what is live, and comes at the next restart of the pods",
	derive.EffectInPlace:   "Differs from what is live, and comes in place",
	derive.EffectNothing:   "Differs from what is live, and means nothing",
}

func differencesOf(all []derive.Difference, effect derive.Effect) (lines []string) {
	type alike struct{ kind, path, change, reason string }
	objects := map[alike][]string{}
	var order []alike
	for _, d := range all {
		if d.Effect != effect {
			continue
		}
		key := alike{d.Object.Kind, d.Path, inShort(d.Live) + " -> " + inShort(d.Rendered), d.Reason}
		switch {
		case d.Path == "" && d.Live != nil:
			key.change = "is not rendered"
		case d.Path == "":
			key.change = "is new"
		}
		if objects[key] == nil {
			order = append(order, key)
		}
		objects[key] = append(objects[key], d.Object.Name)
	}
	for _, key := range order {
		of := objects[key]
		line := key.kind + " " + of[0]
		if len(of) > 1 {
			line = fmt.Sprintf("%s %s and %d more", key.kind, of[0], len(of)-1)
		}
		line = strings.TrimSuffix(line+" "+key.path, " ") + ": " + key.change
		if key.path == "" {
			line = strings.Replace(line, ": ", " ", 1)
		}
		if key.reason != "" {
			line += " (" + key.reason + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// inShort is a value on one line; structures are only as long as a reader follows.
func inShort(v any) string {
	if v == nil {
		return "(none)"
	}
	text, ok := v.(string)
	if owners, is := ownersIn(v); is {
		text = owners
	} else if !ok {
		data, err := json.Marshal(v)
		if err != nil {
			return "…"
		}
		text = string(data)
	}
	const longest = 60
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}

// ownersIn are owner references by kind and name; false for another value.
func ownersIn(v any) (string, bool) {
	list, _ := v.([]any)
	var all []string
	for _, item := range list {
		owner, _ := item.(map[string]any)
		if owner["uid"] == nil {
			return "", false
		}
		all = append(all, fmt.Sprintf("%v %v", owner["kind"], owner["name"]))
	}
	return strings.Join(all, ", "), len(all) > 0
}
