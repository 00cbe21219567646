package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	moving "stevedore.dev/stevedore/internal/adopt"
	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/derive"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/plaintext"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
)

// adoptComparison is what an adopted cluster is compared with.
type adoptComparison struct {
	rendering renderFlags
	path      string
}

func (a *adoptComparison) add(cmd *cobra.Command) {
	a.rendering.add(cmd)
	a.rendering.addTrust(cmd)
	cmd.Flags().StringVar(&a.path, "definition", "", "folder of the definition, or a file in it: what it changes afterwards is said, and what can never be changed is refused (default: the definition that import writes)")
	_ = cmd.MarkFlagFilename("definition") // it is there
}

// afterwards is what will differ once the cluster is adopted.
type afterwards struct {
	// Definition is what is compared with: a path, or "" for what import would write.
	Definition string `json:"definition,omitempty"`
	// Unknown says why nothing could be compared; "" where it could.
	Unknown     string              `json:"unknown,omitempty"`
	Notes       []derive.Note       `json:"notes,omitempty"`
	Differences []derive.Difference `json:"differences"`

	// unsupported: no definition at all renders what runs.
	unsupported bool
}

// adoptPlan is what --dry-run says.
type adoptPlan struct {
	moving.Plan
	Afterwards *afterwards `json:"afterwards,omitempty"`
}

// look compares what is live with the definition. Its error is for what a person has given wrongly,
// or may not read; what cannot be compared is said in the result.
func (a *adoptComparison) look(cmd *cobra.Command, kube *kubeFlags, cluster record.Cluster, written *moving.Written) (*afterwards, error) {
	out := &afterwards{Definition: a.path, Differences: []derive.Difference{}}
	cfg, _, err := kube.config()
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for the API server: %w", err)
	}
	typed, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making the client for the API server: %w", err)
	}
	in, unread, err := readCluster(cmd.Context(), client, cluster)
	if err != nil {
		out.Unknown = err.Error()
		return out, nil
	}
	if in.Config, err = a.rendering.config(); err != nil {
		return nil, err
	}
	for i := range in.Live {
		if written == nil {
			break
		}
		if in.Live[i], err = written.AsAdopted(in.Live[i]); err != nil {
			return nil, err
		}
	}
	if a.path == "" {
		result, err := derive.From(cmd.Context(), in)
		if out.failed(err) {
			return out, nil
		}
		out.Notes, out.Differences = append(result.Notes, unread...), result.Differences
		return out, nil
	}
	rendered, err := a.render(cmd, typed, in, cluster)
	if err != nil {
		return nil, err
	}
	if written != nil {
		out.Notes, out.Differences = unread, append(out.Differences, derive.AgainstNamed(in, rendered)...)
		return out, nil
	}
	found, err := derive.Against(in, rendered)
	if out.failed(err) {
		return out, nil
	}
	out.Notes, out.Differences = unread, append(out.Differences, found...)
	return out, nil
}

func (o *afterwards) failed(err error) bool {
	if err == nil {
		return false
	}
	o.Unknown = err.Error()
	_, o.unsupported = errors.AsType[*derive.Unsupported](err)
	return true
}

// render renders the definition as the daemon would once the StatefulSets are its own.
func (a *adoptComparison) render(cmd *cobra.Command, client kubernetes.Interface, in derive.Input, cluster record.Cluster) ([]*unstructured.Unstructured, error) {
	folder := a.path
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder = filepath.Dir(folder)
	}
	renderer, err := a.rendering.renderer(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer func() { _ = renderer.Close() }()
	pins, err := pinsOnceAdopted(cmd.Context(), client, in, cluster)
	if err != nil {
		return nil, err
	}
	clusters, good, err := renderPath(cmd, renderer, folder, cluster.String(), func(string, string) render.Pins { return pins })
	if err != nil {
		return nil, err
	}
	if !good || len(clusters) == 0 {
		return nil, fmt.Errorf("the definition %s of cluster %s is not good: see the problems above", a.path, cluster)
	}
	return clusters[0].rendered.Objects, nil
}

// pinsOnceAdopted are those of the daemon's: of its record, or else of the claims that are live.
func pinsOnceAdopted(ctx context.Context, client kubernetes.Interface, in derive.Input, cluster record.Cluster) (render.Pins, error) {
	var rec model.Record
	_, err := record.NewStore(record.OverClient(client.CoreV1(), nil)).Load(ctx, cluster, record.Operation, &rec)
	if err != nil && !errors.Is(err, record.ErrDamaged) {
		return render.Pins{}, err
	}
	return daemon.PinsOf(rec, liveSets(in.Live), cluster.Namespace, cluster.Name), nil
}

// liveSets are the StatefulSets that will be the daemon's.
type liveSets []*unstructured.Unstructured

func (l liveSets) Objects(namespace, cluster string) (out []*unstructured.Unstructured) {
	for _, o := range l {
		if o.GetKind() == "StatefulSet" && o.GetNamespace() == namespace && o.GetLabels()[names.NameLabel] == cluster {
			out = append(out, o)
		}
	}
	return out
}

// never are the differences that no update takes away, as lines.
func (o *afterwards) never() []string {
	if o.unsupported {
		return []string{o.Unknown}
	}
	return differencesOf(o.Differences, derive.EffectImmutable)
}

// comparison is what the decision rests on: only a definition that a person has named is sure to be the
// one that comes.
func (o *afterwards) comparison() adopt.Comparison {
	if o.Definition == "" {
		return adopt.Comparison{}
	}
	return adopt.Comparison{Definition: o.Definition, Never: o.never(), Unknown: o.Unknown}
}

// text says what differs, in short, and ends with what a restart has to do with it.
func (o *afterwards) text(cluster record.Cluster) string {
	var b strings.Builder
	for _, note := range o.Notes {
		fmt.Fprintf(&b, "%s: %s\n", map[bool]string{true: "to do", false: "note"}[note.Person], note.Text)
	}
	for _, effect := range []derive.Effect{derive.EffectImmutable, derive.EffectRestart, derive.EffectInPlace} {
		if lines := differencesOf(o.Differences, effect); len(lines) > 0 {
			fmt.Fprintf(&b, "%s:\n  %s\n", headings[effect], strings.Join(lines, "\n  "))
		}
	}
	if nothing := o.count(derive.EffectNothing); nothing > 0 {
		fmt.Fprintf(&b, "%d more mean nothing (-o json has them)\n", nothing)
	}
	of := "the definition that import writes"
	if o.Definition != "" {
		of = o.Definition
	}
	switch restart := len(differencesOf(o.Differences, derive.EffectRestart)); {
	case o.Unknown != "":
		fmt.Fprintf(&b, "afterwards: no pod restarts now; what differs from %s is not known: %s\n", of, o.Unknown)
	case restart > 0:
		fmt.Fprintf(&b, "afterwards, with %s: no pod restarts now; %d differences come at the next restart, which somebody asks for (stevedore restart %s)\n", of, restart, cluster)
	default:
		fmt.Fprintf(&b, "afterwards, with %s: no pod restarts now, and a restart would change nothing\n", of)
	}
	return plaintext.Text(b.String())
}

func (o *afterwards) count(effect derive.Effect) (n int) {
	for i := range o.Differences {
		if o.Differences[i].Effect == effect {
			n++
		}
	}
	return n
}
