package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/exported"
	"stevedore.dev/stevedore/internal/plaintext"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// observationFlag names the file of published readings that an offline plan has its
// numbers from.
type observationFlag struct{ file string }

const observationName = "observation"

func (f *observationFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, observationName, "", "file with the published readings of databases, as kubectl get configmap -o yaml prints them, or - for standard input; with --against")
	// An error would say that there is no such flag.
	_ = cmd.MarkFlagFilename(observationName, "yaml", "yml", "json")
}

// read reads the file; nil where none was named.
func (f *observationFlag) read(cmd *cobra.Command, against string) (*readings, error) {
	switch {
	case !cmd.Flags().Changed(observationName):
		return nil, nil
	case against == "":
		return nil, errors.New("--observation is for --against: against live clusters the reading is read there; add --against REVISION, or leave --observation out")
	case f.file == "":
		return nil, errors.New("--observation names no file: give the file that this makes, or leave --observation out: " + exported.Command)
	}
	in, err := openInput(f.file, cmd.InOrStdin())
	if err != nil {
		return nil, fmt.Errorf("reading --observation: %w", err)
	}
	file, err := exported.Read(f.file, in)
	_ = in.Close()
	if err != nil {
		return nil, err
	}
	return &readings{file: file, stderr: cmd.ErrOrStderr()}, nil
}

// readings are those of a file.
type readings struct {
	file   *exported.Observations
	stderr io.Writer
}

// name is how a plan calls the file.
func (r *readings) name() string {
	if r.file.Name == standardInput {
		return "standard input"
	}
	return r.file.Name
}

// take gives a basis the cluster's reading, and returns what is not known of its database.
func (r *readings) take(basis *daemon.Basis, says *plan.Basis, cluster record.Cluster, now time.Time) (unknown []string, err error) {
	const notKnown = "health, tables without replicas, sizes of shards and disks, and whether a drain fits, are not known"
	if r == nil {
		if !says.New {
			unknown = append(unknown, "no cluster was asked: "+notKnown)
		}
		return unknown, nil
	}
	var published daemon.Observation
	place, err := r.file.Load(cluster, &published)
	switch {
	case err != nil:
		return nil, err
	case place != "" && published.At.IsZero():
		return nil, fmt.Errorf("%s: the ConfigMap holds no reading of cluster %s: it has no time: export it again: %s", place, cluster, exported.Command)
	case place != "" && says.New:
		return []string{fmt.Sprintf("%s has a reading of %s, and %s does not define it: it is planned as a new cluster, and the reading is not used", r.name(), cluster, says.Against)}, nil
	case place == "" && !says.New:
		return []string{fmt.Sprintf("%s has no reading of %s: %s", r.name(), cluster, notKnown)}, nil
	case place == "":
		return nil, nil
	}
	basis.Take(published)
	says.ObservedIn = r.name()
	sayReading(says, *basis, now)
	return append(unknownOfReading(*basis, *says), otherNodes(&basis.Observed, says.Against)...), nil
}

// otherNodes says where a reading is of other nodes than those that the older side defines:
// the cluster was on its way when it was read, or the file is of another one. A plan begins
// with the nodes of the older side, and has of them only what the reading knows.
func otherNodes(observed *model.Observed, against string) (unknown []string) {
	if len(observed.Pods) == 0 || !observed.Database.NodesKnown {
		return nil // suspended: nodes are of the time before
	}
	versions := map[string]string{}
	for _, pod := range observed.Pods {
		versions[pod.NodeName] = pod.Version
	}
	var more, other []string
	for _, n := range observed.Database.Nodes {
		version, there := versions[n.Name]
		delete(versions, n.Name)
		switch {
		case !there:
			more = append(more, n.Name)
		case n.Version != "" && !strings.Contains(version, n.Version):
			other = append(other, n.Name)
		}
	}
	var fewer []string
	for name := range versions {
		fewer = append(fewer, name)
	}
	for _, each := range []struct {
		nodes []string
		words string
	}{
		{more, "the reading has %s, which %s does not define: the plan begins without them"},
		{fewer, "the reading does not have %s, which %s defines: the plan takes them to be there, and empty"},
		{other, "in the reading %s run another version of CrateDB than %s defines: the plan begins with the defined one"},
	} {
		if len(each.nodes) > 0 {
			slices.Sort(each.nodes)
			unknown = append(unknown, fmt.Sprintf(each.words, someNodes(each.nodes), against))
		}
	}
	return unknown
}

// someNodes names the first few.
func someNodes(nodes []string) string {
	const most = 5
	if len(nodes) <= most {
		return "the nodes " + strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("the nodes %s and %d more", strings.Join(nodes[:most], ", "), len(nodes)-most)
}

// noteOthers says that the file has readings of clusters that neither side has. It names
// lines and no clusters: who sees the plan of one folder need not know the others.
func (r *readings) noteOthers(known func(record.Cluster) bool, path string) {
	if r == nil {
		return
	}
	lines := r.file.Lines(known)
	if len(lines) == 0 {
		return
	}
	const most = 5
	var some []string
	for _, line := range lines[:min(len(lines), most)] {
		some = append(some, fmt.Sprint(line))
	}
	if len(lines) > most {
		some = append(some, "…")
	}
	fmt.Fprintln(r.stderr, plaintext.Line(fmt.Sprintf("%s: note: %d reading(s) of clusters that %s does not define are not used (line %s)", r.name(), len(lines), path, strings.Join(some, ", "))))
}
