package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/sources/directory"
)

// rootFlag names the folder that stands for the working tree.
const rootFlag = "root"

// rootOf is what a verb's --root says; "" where it has none.
func rootOf(cmd *cobra.Command) string {
	if flag := cmd.Flags().Lookup(rootFlag); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// readTree takes a snapshot of a folder, as the daemon would of its repository:
// with the whole working tree around it where there is one, for an overlay may
// stand on a base beside the folder; within is a folder that stands for the working
// tree, "" for none. distrusted: a stranger may have put a link where the folder is
// looked for.
func readTree(ctx context.Context, path, within string, distrusted bool) (tree fs.FS, root, dir string, err error) {
	if err := folderAt(path); err != nil {
		return nil, "", "", err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, "", "", fmt.Errorf("reading %s: %w", path, err)
	}
	root, dir = workingTree(absolute)
	if within != "" {
		if root, dir, err = insideOf(within, absolute); err != nil {
			return nil, "", "", fmt.Errorf("reading %s: %w", path, err)
		}
	}
	if distrusted {
		if err := leadsOut(path, absolute, root); err != nil {
			return nil, "", "", err
		}
	}
	if root != absolute {
		tree, err := snapshotOf(ctx, root)
		if err == nil {
			return tree, root, dir, nil
		}
		// A working tree may be too large to take whole; then the folder is all.
		if within != "" {
			return nil, "", "", fmt.Errorf("reading --root %s: %w", within, err)
		}
	}
	tree, err = snapshotOf(ctx, absolute)
	return tree, path, ".", err
}

// insideOf gives the folder within, which has to hold path, and path inside of it.
func insideOf(within, path string) (root, dir string, err error) {
	if info, err := os.Stat(within); err != nil || !info.IsDir() {
		return "", "", fmt.Errorf("--root %s is no folder", within)
	}
	root, err = filepath.Abs(within)
	if err != nil {
		return "", "", fmt.Errorf("--root %s: %w", within, err)
	}
	inside, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(inside) {
		return "", "", fmt.Errorf("it is not inside of --root %s: name a folder that holds both it and what it refers to", within)
	}
	return root, filepath.ToSlash(inside), nil
}

// workingTree is the folder with .git that path is in, and path inside of it;
// path itself where there is none.
func workingTree(path string) (root, dir string) {
	for root = path; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			inside, err := filepath.Rel(root, path)
			if err != nil {
				return path, "."
			}
			return root, filepath.ToSlash(inside)
		}
		if root == filepath.Dir(root) {
			return path, "."
		}
	}
}

func inWorkingTree(path string) bool {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	root, _ := workingTree(absolute)
	_, err = os.Stat(filepath.Join(root, ".git"))
	return err == nil
}

// leadsOut refuses a path that leaves its working tree through a link. Without
// a working tree the folder itself may be none.
func leadsOut(path, absolute, root string) error {
	real, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	within, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	inside, err := filepath.Rel(within, real)
	info, failed := os.Lstat(absolute)
	if err != nil || !filepath.IsLocal(inside) || failed != nil || root == absolute && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("reading %s: it goes through a link, which is not followed where files are not trusted: name the folder itself", path)
	}
	return nil
}

func snapshotOf(ctx context.Context, path string) (fs.FS, error) {
	source, err := directory.New(directory.Options{Dir: path, Quiet: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	snapshot, err := source.Fetch(ctx)
	if closing := source.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	return snapshot.Tree, nil
}

// sayProblems prints each problem with the path a person can open from here, and
// keeps it for annotations.
func sayProblems(cmd *cobra.Command, root string, problems []definition.Problem) {
	keepProblems(cmd, root, problems)
	here, _ := os.Getwd()
	for _, problem := range problems {
		if problem.File != "" {
			problem.File = filepath.Join(root, filepath.FromSlash(problem.File))
			if short, err := filepath.Rel(here, problem.File); err == nil && filepath.IsAbs(problem.File) {
				problem.File = short
			}
		}
		fmt.Fprintln(cmd.ErrOrStderr(), problem.String())
	}
}

// errNoDefinition and noCluster are of a folder without what was asked for.
var errNoDefinition = errors.New("there is no CrateDB definition")

type noCluster struct{ filter string }

func (n noCluster) Error() string { return "there is no cluster " + n.filter + " in it" }

// namesRoot tells of --root where a folder that is all there is refers to what is
// beside it.
func namesRoot(problems []definition.Problem) {
	for i := range problems {
		if strings.HasPrefix(problems[i].Message, guard.LeadsOut) {
			problems[i].Message += "; or give the folder that holds both by --root DIR: this one is in no Git working tree, which would be taken by itself"
		}
	}
}

// whatIsThere says of a folder without definitions what it has instead.
func whatIsThere(tree fs.FS, dir string) string {
	read, hidden, json := 0, 0, 0
	_ = fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".json" {
			json++
		}
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
			return nil // what cannot be read is said elsewhere
		}
		if inside := strings.TrimPrefix(name, dir+"/"); strings.HasPrefix(inside, ".") || strings.Contains(inside, "/.") {
			hidden++
		} else {
			read++
		}
		return nil
	})
	switch {
	case read == 0 && hidden > 0:
		return "its YAML files are hidden, and files and folders that begin with a dot are passed over"
	case read == 0 && json > 0:
		return "it has no file that ends with .yaml or .yml; JSON is YAML too, under such a name"
	case read == 0:
		return "it has no file that ends with .yaml or .yml"
	case read == 1:
		return "its only YAML file has none of kind CrateDB, apiVersion cloud.crate.io/v1"
	}
	return fmt.Sprintf("none of its %d YAML files has one of kind CrateDB, apiVersion cloud.crate.io/v1; those that a kustomization does not name are left out", read)
}

// renderedCluster is a cluster with its objects.
type renderedCluster struct {
	cluster  render.Cluster
	rendered *render.Rendered
	// root is where the tree of the files' paths begins, dir the folder inside of it
	// that was asked for.
	root, dir string
}

// renderPath renders the selected clusters of a folder and says every problem.
func renderPath(cmd *cobra.Command, renderer render.Renderer, path, filter string, pins func(namespace, name string) render.Pins) (clusters []renderedCluster, good bool, err error) {
	return renderTouched(cmd, renderer, path, filter, pins, func(render.Cluster) bool { return true })
}

// renderTouched leaves those that are not touched unrendered (nil): what is made
// of them is as it was.
func renderTouched(cmd *cobra.Command, renderer render.Renderer, path, filter string, pins func(namespace, name string) render.Pins, touched func(render.Cluster) bool) (clusters []renderedCluster, good bool, err error) {
	_, trusted := renderer.(render.InProcess)
	tree, root, dir, err := readTree(cmd.Context(), path, rootOf(cmd), !trusted)
	if err != nil {
		return nil, false, err
	}
	build, err := renderer.Build(cmd.Context(), tree, dir)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	problems := problemsOf(build)
	warnings := build.Warnings
	for _, cluster := range build.Clusters {
		if !selects(filter, cluster.Namespace, cluster.Name) {
			continue
		}
		warnings = append(warnings, cluster.Warnings...)
		if len(cluster.Problems) > 0 {
			continue
		}
		if !touched(cluster) {
			clusters = append(clusters, renderedCluster{cluster: cluster, root: root, dir: dir})
			continue
		}
		rendered, more, err := renderer.Render(cmd.Context(), cluster, pins(cluster.Namespace, cluster.Name))
		if err != nil {
			return nil, false, fmt.Errorf("rendering %s/%s of %s: %w", cluster.Namespace, cluster.Name, path, err)
		}
		problems = append(problems, more...)
		if len(more) == 0 {
			clusters = append(clusters, renderedCluster{cluster, rendered, root, dir})
		}
	}
	if rootOf(cmd) == "" && !inWorkingTree(path) {
		namesRoot(problems)
	}
	sayProblems(cmd, root, slices.Concat(problems, warnings))
	if len(build.Clusters) == 0 && len(problems) == 0 {
		return nil, false, fmt.Errorf("reading %s: %w in it: %s", path, errNoDefinition, whatIsThere(tree, dir))
	}
	if filter != "" && len(clusters) == 0 && len(problems) == 0 {
		var there []string
		for _, cluster := range build.Clusters {
			there = append(there, cluster.Namespace+"/"+cluster.Name)
		}
		return nil, false, fmt.Errorf("reading %s: %w, but %s", path, noCluster{filter}, strings.Join(there, ", "))
	}
	return clusters, len(problems) == 0, nil
}

func noPins(string, string) render.Pins { return render.Pins{} }

func newRender() *cobra.Command {
	var (
		rendering renderFlags
		filter    string
		output    string
	)
	cmd := &cobra.Command{
		Use:   "render PATH",
		Short: "Print the Kubernetes objects that a folder makes",
		Long: `render prints what a folder of definitions makes, without looking at any
cluster. Values of Secrets are not shown.`,
		Example: `  stevedore render examples/tiers
  stevedore render examples/tiers --cluster cratedb/orders -o json`,
		Args: takesOne("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "yaml" && output != "json" {
				return fmt.Errorf("-o %q is not known: write yaml or json", output)
			}
			renderer, err := rendering.renderer(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = renderer.Close() }()
			clusters, good, err := renderPath(cmd, renderer, args[0], filter, noPins)
			if err != nil {
				return err
			}
			objects := []*unstructured.Unstructured{}
			for _, cluster := range clusters {
				for _, object := range cluster.rendered.Objects {
					objects = append(objects, compare.MaskObject(object))
				}
			}
			if err := printObjects(cmd.OutOrStdout(), output, objects); err != nil {
				return err
			}
			if !good {
				return exitCode(exitError)
			}
			return nil
		},
	}
	rendering.add(cmd)
	rendering.addTrust(cmd)
	cmd.Flags().StringVar(&filter, "cluster", "", "only this one: NAME or NAMESPACE/NAME")
	complete(cmd, "cluster", rendering.inFolder)
	cmd.ValidArgsFunction = oneFolder
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "yaml or json")
	return cmd
}

func printObjects(out io.Writer, format string, objects []*unstructured.Unstructured) error {
	if format == "json" {
		return printJSON(out, objects)
	}
	for i, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("printing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

func newValidate() *cobra.Command {
	var rendering renderFlags
	var filter string
	var notes annotations
	cmd := &cobra.Command{
		Use:   "validate PATH",
		Short: "Say everything that is wrong with a folder of definitions",
		Long: `validate prints each problem as file:line:column, all at once, and ends with
exit code 1 if there is one. It needs no cluster and no network. In GitHub Actions
they are annotations at their lines; --code-quality writes them for GitLab.`,
		Example: `  stevedore validate examples/overlays`,
		Args:    takesOne("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			notes.begin(cmd)
			renderer, err := rendering.renderer(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { _ = renderer.Close() }()
			clusters, good, err := renderPath(cmd, renderer, args[0], filter, noPins)
			if err = errors.Join(err, notes.write(cmd, nil)); err != nil {
				return err
			}
			if !good {
				return exitCode(exitError)
			}
			for _, cluster := range clusters {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s/%s: good, %d objects\n", cluster.cluster.Namespace, cluster.cluster.Name, len(cluster.rendered.Objects)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	rendering.add(cmd)
	rendering.addTrust(cmd)
	notes.add(cmd)
	cmd.Flags().StringVar(&filter, "cluster", "", "only this one: NAME or NAMESPACE/NAME")
	complete(cmd, "cluster", rendering.inFolder)
	cmd.ValidArgsFunction = oneFolder
	return cmd
}
