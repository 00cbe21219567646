package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outOfGit is a folder that is in no Git working tree.
func outOfGit(t *testing.T, files map[string]string) string {
	t.Helper()
	for _, name := range append(ciMarks, "CI_PROJECT_DIR", "GITHUB_WORKSPACE") {
		t.Setenv(name, "")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, dir, files)
	return dir
}

var overlaid = map[string]string{
	"base/a.yaml": orders("orders", "3"), "base/kustomization.yaml": "resources: [a.yaml]\n",
	"prod/kustomization.yaml": "resources: [../base]\n",
	"typo/kustomization.yaml": "resources: [../base]\npatches:\n- {path: p.yaml, target: {kind: CrateDB, name: order}}\n",
	"typo/p.yaml":             "- {op: replace, path: /spec/nodes/data/0/replicas, value: 4}\n",
}

func TestAPatchThatMatchesNothingIsSaidAtItsEntry(t *testing.T) {
	r := newRepository(t)
	put(t, r.dir, overlaid)
	t.Chdir(r.dir)
	for _, args := range [][]string{{"typo"}, {"typo", "--untrusted"}} {
		end := stevedore(t, append([]string{"validate"}, args...)...)
		assert.Equal(t, exitError, end.code)
		assert.Equal(t, "typo/kustomization.yaml:3:3: patches[0].target: matches nothing, so that kustomize leaves the patch out: no CrateDB is called \"order\": did you mean orders?\n", end.err)
	}
}

func TestABaseBesideAFolderOutsideOfGitIsReadWithRoot(t *testing.T) {
	dir := outOfGit(t, overlaid)
	t.Chdir(dir)
	end := stevedore(t, "validate", "prod")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "prod/kustomization.yaml:1:13: resources[0]: leads out of the tree: ")
	assert.Contains(t, end.err, "give the folder that holds both by --root DIR")

	for _, args := range [][]string{{"validate", "prod", "--root", "."}, {"validate", "prod", "--root", ".", "--untrusted"},
		{"render", "prod", "--root", dir}, {"diff", "prod", "--against", "./prod", "--root", "."}} {
		end = stevedore(t, args...)
		assert.Equal(t, 0, end.code, "%v: %s", args, end.err)
		assert.NotContains(t, end.err, "leads out", "%v", args)
	}
	end = stevedore(t, "validate", "typo", "--root", "..")
	assert.Contains(t, end.err, "typo/kustomization.yaml:3:3: ", "as it is named from here")
	end = stevedore(t, "validate", "prod", "--root", "typo")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "reading prod: it is not inside of --root typo: name a folder that holds both")
	assert.Contains(t, stevedore(t, "validate", "prod", "--root", "nope").err, "--root nope is no folder")

	// In a working tree the flag is not needed, and nothing is said of it.
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	assert.Equal(t, 0, stevedore(t, "validate", "prod").code)
}

func TestTheReportOfCodeQualityNamesFilesOfTheRepositoryThatTheyAreIn(t *testing.T) {
	places := func(t *testing.T, args ...string) (paths []string) {
		t.Helper()
		report := filepath.Join(t.TempDir(), "report.json")
		end := stevedore(t, append(args, "--code-quality", report)...)
		assert.Equal(t, exitError, end.code, end.err)
		data, err := os.ReadFile(report)
		require.NoError(t, err)
		var issues []struct {
			Location struct {
				Path  string
				Lines struct{ Begin int }
			}
		}
		require.NoError(t, json.Unmarshal(data, &issues))
		for _, issue := range issues {
			assert.Positive(t, issue.Location.Lines.Begin)
			paths = append(paths, issue.Location.Path)
		}
		return paths
	}
	wrong := map[string]string{"clusters/a.yaml": strings.Replace(orders("orders", "3"), "replicas", "replicsa", 1)}

	r := newRepository(t)
	put(t, r.dir, wrong)
	put(t, r.dir, map[string]string{"ci/x": ""})
	elsewhere := outOfGit(t, wrong)
	checkout := outOfGit(t, map[string]string{"work/x": ""})

	t.Chdir(r.in("ci"))
	assert.Contains(t, places(t, "validate", "../clusters"), "clusters/a.yaml", "beside us, in one repository")
	t.Chdir(checkout)
	assert.Contains(t, places(t, "validate", r.in("clusters")), "clusters/a.yaml", "in another repository")
	assert.Contains(t, places(t, "validate", filepath.Join(elsewhere, "clusters")), "a.yaml", "in none: in the folder that was named")
	t.Setenv("CI_PROJECT_DIR", elsewhere)
	assert.Contains(t, places(t, "validate", filepath.Join(elsewhere, "clusters")), "clusters/a.yaml", "in the platform's checkout")
}

func TestWhatIsNoFolderOfDefinitionsIsSaidWithWhatToWrite(t *testing.T) {
	dir := outOfGit(t, map[string]string{
		"clusters/a.yaml": orders("orders", "3"), "clusters/east/README.md": "x", "clusters/west/README.md": "x", "empty/README.md": "x", "hidden/.x/a.yaml": orders("orders", "3"),
		"bare/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n",
	})
	t.Chdir(dir)
	const folder = "definitions are a folder, which is read with all that they refer to"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-"}, folder + ": nothing is read from standard input: write it to a file of a folder of its own, and name the folder"},
		{[]string{"-f", "-"}, "definitions are a folder, which is named without a flag, as in: stevedore "},
		{[]string{"-f", "clusters"}, "definitions are a folder, which is named without a flag, as in: stevedore "},
		{[]string{"--filename", "clusters"}, "definitions are a folder, which is named without a flag, as in: stevedore "},
		{[]string{"-k", "clusters"}, "definitions are a folder, which is named without a flag, as in: stevedore "},
		{[]string{"clusters/a.yaml"}, "reading clusters/a.yaml: it is a file, and " + folder + ": name the folder that it is in, clusters; --cluster NAME looks at one cluster of it"},
		{[]string{"nope"}, "reading nope: there is no such folder; in . there are bare, empty, hidden, clusters\n"},
		{[]string{"clutsers"}, "reading clutsers: there is no such folder: did you mean clusters?\n"},
		{[]string{"emtpy/bare"}, "reading emtpy/bare: there is no such folder; in . there are empty, "},
		{[]string{"clutsers/wset/"}, "reading clutsers/wset/: there is no such folder: did you mean clusters/west?\n"},
		{[]string{"clusters/wset/a.yaml"}, "reading clusters/wset/a.yaml: there is no such folder: did you mean clusters/west?\n"},
		{[]string{"clusters/west/b.yaml"}, "there is no such folder: a definition is named by the folder that it is in, clusters/west\n"},
		{[]string{"empty/x"}, "reading empty/x: there is no such folder; in empty there is no folder\n"},
		{[]string{"https://example.com/a"}, "reading https://example.com/a: nothing is fetched: clone it, and name the folder"},
		{[]string{"empty"}, "reading empty: there is no CrateDB definition in it: it has no file that ends with .yaml or .yml"},
		{[]string{"hidden"}, "reading hidden: there is no CrateDB definition in it: its YAML files are hidden, and files and folders that begin with a dot are passed over"},
		{[]string{"bare"}, "reading bare: there is no CrateDB definition in it: its only YAML file has none of kind CrateDB, apiVersion cloud.crate.io/v1"},
	} {
		for _, verb := range []string{"validate", "render"} {
			end := stevedore(t, append([]string{verb}, c.args...)...)
			assert.Equal(t, exitError, end.code, "%s %v", verb, c.args)
			assert.Contains(t, end.err, c.want, "%s %v", verb, c.args)
			assert.Empty(t, end.out)
		}
	}
}
