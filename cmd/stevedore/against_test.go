package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
)

// repository is one of the tests' own, with its work tree.
type repository struct {
	*testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here to make commits with")
	}
	for _, name := range ciMarks {
		t.Setenv(name, "")
	}
	r := repository{T: t, dir: filepath.Join(t.TempDir(), "work")}
	require.NoError(t, os.MkdirAll(r.dir, 0o755))
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repository) git(args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	require.NoError(r, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// commit writes files ("" takes one away) and commits all there is.
func (r repository) commit(files map[string]string) (hash string) {
	r.Helper()
	for name, content := range files {
		if content == "" {
			require.NoError(r, os.RemoveAll(filepath.Join(r.dir, name)))
			delete(files, name)
		}
	}
	put(r.T, r.dir, files)
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "commit")
	return r.git("rev-parse", "HEAD")
}

func (r repository) in(name string) string { return filepath.Join(r.dir, name) }

// put writes files: a text is a file, "-> " a link.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			_ = os.Remove(path)
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// orders is a definition with so many nodes.
func orders(name, replicas string) string {
	return strings.NewReplacer("NAME", name, "REPLICAS", replicas).Replace(`apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: NAME, namespace: prod}
spec:
  cluster: {name: NAME, imageRegistry: crate, version: 6.4.3}
  nodes:
    data:
    - name: hot
      replicas: REPLICAS
      resources:
        limits: {cpu: 2, memory: 4Gi}
        disk: {count: 1, size: 64GiB, storageClass: default}
        heapRatio: 0.25
`)
}

// planned are the plans of `diff`, and how it ended.
func planned(t *testing.T, args ...string) ([]plan.Plan, ended) {
	t.Helper()
	end := stevedore(t, append([]string{"diff", "-o", "json"}, args...)...)
	var plans []plan.Plan
	if end.out != "" {
		require.NoError(t, json.Unmarshal([]byte(end.out), &plans), end.out)
	}
	return plans, end
}

func TestARevisionIsNamedAsGitNamesIt(t *testing.T) {
	r := newRepository(t)
	one := r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3")})
	r.git("tag", "v1")
	r.git("tag", "-a", "-m", "annotated", "v1-annotated")
	r.git("branch", "feature/grow")
	r.git("update-ref", "refs/remotes/origin/main", one)
	two := r.commit(map[string]string{"clusters/a.yaml": orders("orders", "4")})
	put(t, r.dir, map[string]string{"clusters/a.yaml": orders("orders", "5")}) // not committed
	t.Chdir(r.dir)

	grown := func(path, against string, from, to int) {
		t.Helper()
		plans, end := planned(t, path, "--against", against)
		require.Equal(t, exitChanges, end.code, "%s: %s", against, end.err)
		require.Len(t, plans, 1)
		assert.Equal(t, against, plans[0].Basis.Against)
		assert.Equal(t, plan.Offline, plans[0].Basis.Kind)
		assert.False(t, plans[0].Basis.New)
		require.Len(t, plans[0].Operations, 1)
		assert.Contains(t, plans[0].Operations[0].Summary, strings.NewReplacer("F", string(rune('0'+from)), "T", string(rune('0'+to))).Replace("from F to T nodes"))
	}
	for _, revision := range []string{"v1", "v1-annotated", "feature/grow", "origin/main", "refs/heads/feature/grow", one, one[:7], "HEAD~1", "HEAD^1", "HEAD^", two[:10] + "~1"} {
		t.Run(revision, func(t *testing.T) { grown("clusters", revision, 3, 5) })
	}
	// What is not committed is seen on the newer side only.
	grown("clusters", "HEAD", 4, 5)
	grown(filepath.Join(r.dir, "clusters"), "HEAD", 4, 5)
	plans, _ := planned(t, "clusters", "--against", "HEAD")
	assert.Equal(t, two, plans[0].Revision, "the commit that the work tree stands on")

	// As a job of CI has it: no branch is checked out.
	r.git("checkout", "-q", "--detach", "-f", two)
	grown("clusters", "HEAD^1", 3, 4)
	grown("clusters", "main~1", 3, 4)
	_, end := planned(t, "clusters", "--against", "HEAD")
	assert.Equal(t, exitOK, end.code, end.err)
	assert.Equal(t, "[]\n", end.out)

	// From below the work tree, and in a second one.
	t.Chdir(r.in("clusters"))
	grown(".", "HEAD^1", 3, 4)
	second := filepath.Join(filepath.Dir(r.dir), "second")
	r.git("worktree", "add", "-q", second, two)
	grown(filepath.Join(second, "clusters"), "v1", 3, 4)
}

func TestARevisionThatIsNotThereIsAnErrorThatSaysWhatToDo(t *testing.T) {
	r := newRepository(t)
	one := r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3")})
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "4")})
	shallow := filepath.Join(filepath.Dir(r.dir), "shallow")
	r.git("clone", "-q", "--depth", "1", "file://"+r.dir, shallow)
	outside := t.TempDir()
	put(t, outside, map[string]string{"clusters/a.yaml": orders("orders", "3"), "main/a.yaml": orders("orders", "3")})
	const deeper = `have CI clone more of the history: fetch-depth: 2 for HEAD^1 and 0 for all of it (actions/checkout), GIT_DEPTH: "0" (GitLab)`
	for _, c := range []struct {
		name, path, against string
		says                []string
	}{
		{"no such branch", r.in("clusters"), "mian", []string{"--against mian is no folder, and as a revision", "no such revision", "origin/NAME, and has to be fetched"}},
		{"no such commit", r.in("clusters"), strings.Repeat("0123456789", 4), []string{"no such revision", "name a branch, a tag or a commit that is there"}},
		{"before the first commit", r.in("clusters"), "HEAD~2", []string{"no such revision"}},
		{"what is no revision at all", r.in("clusters"), "a..b", []string{"no such revision"}},
		{"a shallow clone, its parent", filepath.Join(shallow, "clusters"), "HEAD^1", []string{"is a shallow clone", deeper}},
		{"a shallow clone, a commit", filepath.Join(shallow, "clusters"), one, []string{"is a shallow clone", deeper}},
		{"a shallow clone, a branch", filepath.Join(shallow, "clusters"), "origin/feature", []string{"is a shallow clone", deeper}},
		{"no repository", filepath.Join(outside, "clusters"), "HEAD", []string{"--against HEAD is no folder, and as a revision", "there is no Git repository around it"}},
		{"no folder", r.in("gone"), "HEAD", []string{"reading " + r.in("gone"), "there is no such folder; in " + r.in("") + " there are clusters"}},
		{"a file that is not there", r.in("clusters/gone.yml"), "HEAD", []string{"there is no such folder: a definition is named by the folder that it is in, " + r.in("clusters")}},
		{"no folder to compare with", r.in("clusters"), "./gone", []string{"reading ./gone", "there is no such folder"}},
		{"a file", r.in("clusters/a.yaml"), "HEAD", []string{"it is a file, and definitions are a folder"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, trust := range []string{"--trusted", "--untrusted"} {
				end := stevedore(t, "diff", c.path, "--against", c.against, trust)
				assert.Equal(t, exitError, end.code)
				assert.Empty(t, end.out)
				for _, says := range c.says {
					assert.Contains(t, end.err, says)
				}
			}
		})
	}
	// A shallow clone is enough for the commit that it has.
	_, end := planned(t, filepath.Join(shallow, "clusters"), "--against", "HEAD")
	assert.Equal(t, exitOK, end.code, end.err)
}

// A folder of the pull request may have the name of the revision.
func TestANameThatIsARevisionIsNeverAFolderOfTheSameName(t *testing.T) {
	r := newRepository(t)
	one := r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3")})
	r.git("update-ref", "refs/remotes/origin/main", one)
	now := orders("orders", "4")
	hiding := map[string]string{"clusters/a.yaml": now}
	gone := strings.Repeat("0123456789", 4)
	for _, name := range []string{"HEAD^1", one, "origin/main", gone} {
		hiding[name+"/a.yaml"] = now
	}
	r.commit(hiding)
	t.Chdir(r.dir)
	for _, against := range []string{"HEAD^1", one, "origin/main"} {
		for _, trust := range []string{"--trusted", "--untrusted"} {
			plans, end := planned(t, "clusters", "--against", against, trust)
			assert.Equal(t, exitChanges, end.code, "%s %s", against, end.err)
			assert.Len(t, plans, 1)
		}
	}
	end := stevedore(t, "diff", "clusters", "--against", gone, "--untrusted")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "is not taken for it where files are not trusted: write ./"+gone)
	for _, against := range []string{"./" + gone, r.in(gone)} {
		_, end = planned(t, "clusters", "--against", against, "--untrusted")
		assert.Equal(t, exitOK, end.code, end.err)
	}
	_, end = planned(t, "clusters", "--against", gone, "--trusted")
	assert.Equal(t, exitOK, end.code, "a person's own folder: "+end.err)
}

func TestAClusterThatOnlyOneSideHas(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"README": "x"})
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3"), "clusters/b.yaml": orders("logs", "1")})
	t.Chdir(r.dir)

	// The folder itself is new.
	plans, end := planned(t, "clusters", "--against", "HEAD^1")
	require.Equal(t, exitChanges, end.code, end.err)
	require.Len(t, plans, 2)
	for _, p := range plans {
		assert.True(t, p.Basis.New)
		assert.Equal(t, []string{"bootstrap"}, operationKinds(p))
	}
	assert.Contains(t, stevedore(t, "diff", "clusters", "--against", "HEAD^1").out, "prod/orders (new: it is not in HEAD^1")

	r.commit(map[string]string{"clusters/b.yaml": "", "clusters/c.yaml": orders("metrics", "1")})
	plans, end = planned(t, "clusters", "--against", "HEAD^1")
	require.Equal(t, exitChanges, end.code, end.err)
	require.Len(t, plans, 2)
	assert.Equal(t, "logs", plans[0].Name)
	require.Len(t, plans[0].Objects, 1)
	assert.Equal(t, plan.Orphaned, plans[0].Objects[0].Change)
	assert.Contains(t, plans[0].Objects[0].Why, "nothing of the cluster is deleted, because the definition in HEAD^1 does not consent to delete-cluster")
	assert.Empty(t, plans[0].Operations)
	assert.Equal(t, "metrics", plans[1].Name)
	assert.True(t, plans[1].Basis.New)

	for _, filter := range []string{"logs", "prod/logs"} {
		plans, end = planned(t, "clusters", "--against", "HEAD^1", "--cluster", filter)
		require.Equal(t, exitChanges, end.code, end.err)
		require.Len(t, plans, 1, "what is gone can be asked for by name")
		assert.Equal(t, "logs", plans[0].Name)
	}
	_, end = planned(t, "clusters", "--against", "HEAD^1", "--cluster", "neither")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "there is no cluster neither in it, but prod/metrics, prod/orders")

	// The last one goes.
	r.commit(map[string]string{"clusters/a.yaml": "", "clusters/c.yaml": "", "clusters/README": "none"})
	plans, end = planned(t, "clusters", "--against", "HEAD^1")
	require.Equal(t, exitChanges, end.code, end.err)
	assert.Len(t, plans, 2)
	_, end = planned(t, "clusters", "--against", "HEAD")
	assert.Equal(t, exitError, end.code, "there is nothing on either side")
	assert.Contains(t, end.err, "there is no CrateDB definition in it")
}

// The plan knew of the consent in the revision that it compared with, and did not look.
func TestADeletionThatTheOlderRevisionConsentedToIsPlanned(t *testing.T) {
	r := newRepository(t)
	consents := strings.Replace(orders("orders", "3"), "spec:\n", "spec:\n  operations: {consent: [delete-cluster]}\n", 1)
	r.commit(map[string]string{"clusters/a.yaml": consents, "clusters/b.yaml": orders("logs", "1")})
	r.commit(map[string]string{"clusters/a.yaml": ""})
	t.Chdir(r.dir)
	plans, end := planned(t, "clusters", "--against", "HEAD^1", "--fail-on", "deletion")
	require.Equal(t, planprint.ExitFailOn, end.code, end.err)
	require.Len(t, plans, 1)
	assert.Equal(t, []string{"delete"}, operationKinds(plans[0]))
	var gone []string
	for _, o := range plans[0].Objects {
		if o.Change == plan.Removed {
			gone = append(gone, o.Kind+" "+o.Key.Name)
		}
	}
	assert.Contains(t, gone, "StatefulSet crate-data-hot-orders")
	assert.Contains(t, gone, "Service crate-orders")
	assert.NotContains(t, gone, "CrateDB orders", "Kubernetes has no such object")

	// The daemon refuses to delete all clusters of a source at once.
	both := strings.Replace(consents, "name: orders", "name: logs", 2)
	r.commit(map[string]string{"clusters/a.yaml": consents, "clusters/b.yaml": both})
	r.commit(map[string]string{"clusters/a.yaml": "", "clusters/b.yaml": "", "clusters/README": "x"})
	plans, end = planned(t, "clusters", "--against", "HEAD^1")
	require.Equal(t, exitChanges, end.code, end.err)
	require.Len(t, plans, 2)
	for _, p := range plans {
		require.Len(t, p.Refused, 1)
		assert.Equal(t, "mass-removal", p.Refused[0].Name)
		assert.Empty(t, p.Operations)
	}
}

// The daemon refuses it: the new name would be an empty database. The plan said "bootstrap".
func TestAClusterUnderANewNameIsPlannedAsTheDaemonRefusesIt(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3")})
	r.commit(map[string]string{"clusters/a.yaml": strings.Replace(orders("purchases", "3"), "cluster: {name: purchases", "cluster: {name: orders", 1)})
	t.Chdir(r.dir)
	plans, end := planned(t, "clusters", "--against", "HEAD^1")
	require.Equal(t, exitChanges, end.code, end.err)
	i := slices.IndexFunc(plans, func(p plan.Plan) bool { return p.Name == "purchases" })
	require.GreaterOrEqual(t, i, 0)
	assert.Empty(t, plans[i].Operations)
	require.NotEmpty(t, plans[i].Refused)
	assert.Equal(t, "rename", plans[i].Refused[0].Name)
	assert.Contains(t, plans[i].Refused[0].Message, "prod/orders")
}

func TestABaseBesideTheFolderIsComparedToo(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{
		"base/kustomization.yaml":          "resources: [orders.yaml]\n",
		"base/orders.yaml":                 orders("orders", "3"),
		"clusters/prod/kustomization.yaml": "resources: [../../base]\nnamespace: prod\n",
		"clusters/test/kustomization.yaml": "resources: [../../base]\nnamespace: test\n",
	})
	r.commit(map[string]string{"base/orders.yaml": orders("orders", "4")})
	for _, trust := range []string{"--trusted", "--untrusted"} {
		plans, end := planned(t, r.in("clusters"), "--against", "HEAD^1", trust)
		require.Equal(t, exitChanges, end.code, end.err)
		require.Len(t, plans, 2)
		for _, p := range plans {
			assert.Equal(t, []string{"grow"}, operationKinds(p))
		}
	}
}

func TestWhatIsNotReadIsRefusedByName(t *testing.T) {
	r := newRepository(t)
	module := repository{t, filepath.Join(filepath.Dir(r.dir), "module")}
	require.NoError(t, os.MkdirAll(module.dir, 0o755))
	module.git("init", "-q", "-b", "main")
	module.commit(map[string]string{"c.yaml": orders("metrics", "3")})
	r.git("submodule", "add", "-q", "file://"+module.dir, "clusters/sub")
	r.commit(map[string]string{
		"clusters/a.yaml":               orders("orders", "3"),
		"other/b.yaml":                  orders("logs", "3"),
		"clusters/linked.yaml":          "-> ../other/b.yaml",
		"clusters/folder":               "-> ../other",
		"clusters/out.yaml":             "-> ../../../etc/passwd",
		"clusters/k/kustomization.yaml": "resources: [../sub]\n",
		"was-a-link":                    "-> ../../etc",
		"was-a-file":                    "x",
	})
	r.git("mv", "clusters/sub", "was-a-module")
	r.commit(map[string]string{"clusters/k/kustomization.yaml": "resources: [../../was-a-module]\n"})
	t.Chdir(r.dir)
	for _, c := range []struct {
		name, prefix, against string
		says                  []string
	}{
		{"the newer side", "clusters/", "HEAD", []string{"folder: is a link to a folder, which is not gone into", "out.yaml: is, or goes through, a link out of the tree"}},
		{"the older side", "HEAD:/clusters/", "HEAD", []string{"folder: is a link to a folder, which is not gone into", "out.yaml: is, or goes through, a link out of the tree",
			"k/kustomization.yaml:1:13: resources[0]: submodules-not-supported: is inside a submodule"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := stevedore(t, "diff", "clusters", "--against", c.against, "--trusted")
			assert.Equal(t, exitError, end.code)
			for _, says := range c.says {
				assert.Contains(t, end.err, c.prefix+says)
			}
			assert.NotContains(t, end.err+end.out, "root:")
		})
	}
	// The folder itself was something else before.
	r.git("rm", "-q", "-f", "was-a-link", "was-a-file", "was-a-module")
	r.commit(map[string]string{"was-a-link/a.yaml": orders("orders", "3"), "was-a-file/a.yaml": orders("orders", "3"), "was-a-module/a.yaml": orders("orders", "3")})
	for path, says := range map[string]string{
		"was-a-link":   `the symbolic link was-a-link (to "../../etc") leads out of the tree`,
		"was-a-file":   "not a folder",
		"was-a-module": "submodules are not supported yet",
	} {
		for _, trust := range []string{"--trusted", "--untrusted"} {
			end := stevedore(t, "diff", path, "--against", "HEAD^1", trust)
			assert.Equal(t, exitError, end.code, path)
			assert.Empty(t, end.out)
			assert.Contains(t, end.err, "open "+path+": "+says, end.err)
		}
	}
	// And where the folder is a link out of the tree now.
	r.commit(map[string]string{"is-a-link": "-> " + module.dir})
	end := stevedore(t, "diff", "is-a-link", "--against", "HEAD", "--untrusted")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "is-a-link")
}

func TestOfWhatWasBrokenBeforeNothingIsClaimed(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3"), "clusters/b.yaml": orders("logs", "none")})
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "4"), "clusters/b.yaml": orders("logs", "3")})
	t.Chdir(r.dir)
	plans, end := planned(t, "clusters", "--against", "HEAD^1")
	assert.Equal(t, exitError, end.code, "not all is said")
	require.Len(t, plans, 1, "no cluster is called new that may be there")
	assert.Equal(t, "orders", plans[0].Name)
	assert.Contains(t, end.err, "HEAD^1:/clusters/b.yaml:")
	assert.Contains(t, end.err, "clusters/b.yaml:1: what changes of cluster prod/logs is not known: HEAD^1 has a problem that hides how it was")

	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "5"), "clusters/kustomization.yaml": "resources: [a.yaml, b.yaml, gone.yaml]\n"})
	r.commit(map[string]string{"clusters/kustomization.yaml": "resources: [a.yaml, b.yaml]\n"})
	plans, end = planned(t, "clusters", "--against", "HEAD^1")
	assert.Equal(t, exitError, end.code)
	assert.Empty(t, plans)
	assert.Contains(t, end.err, "cluster prod/orders is not known")
}

func TestASecretThatTravelsIsComparedAndNotShown(t *testing.T) {
	secret := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: extra, namespace: prod}\nstringData: {password: " + value + "}\n"
	}
	r := newRepository(t)
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3"), "clusters/s.yaml": secret("hunter2-before")})
	r.commit(map[string]string{"clusters/s.yaml": secret("hunter2-after")})
	for _, format := range []string{"text", "markdown", "json", "sarif"} {
		end := stevedore(t, "diff", r.in("clusters"), "--against", "HEAD^1", "-o", format)
		assert.Equal(t, exitChanges, end.code, end.err)
		assert.NotContains(t, end.out+end.err, "hunter2")
		assert.NotContains(t, end.out+end.err, "aHVudGVyMi")
		if format == "text" {
			assert.Contains(t, end.out, "~ Secret extra (in place)\n        ~ data.password: *** -> ***")
		}
	}
}

func TestAPushThatTakesThePauseOffSaysThatItEnds(t *testing.T) {
	r := newRepository(t)
	paused := strings.Replace(orders("orders", "3"), "namespace: prod}", `namespace: prod, annotations: {stevedore.dev/paused: "true"}}`, 1)
	r.commit(map[string]string{"a.yaml": paused})
	r.commit(map[string]string{"a.yaml": orders("orders", "3")})
	t.Chdir(r.dir)
	plans, end := planned(t, ".", "--against", "HEAD^")
	require.Equal(t, exitChanges, end.code, end.err)
	require.Len(t, plans, 1)
	assert.Equal(t, []string{"this ends the pause: the annotation stevedore.dev/paused is taken off, and stevedore acts on the cluster again"}, plans[0].Notes)
	assert.Empty(t, plans[0].Waits)

	// And the other way round it waits, and nothing is refused.
	r.commit(map[string]string{"a.yaml": strings.Replace(paused, "replicas: 3", "replicas: 4", 1)})
	plans, end = planned(t, ".", "--against", "HEAD^", "--fail-on", "refused")
	require.Equal(t, exitChanges, end.code, end.err)
	require.Len(t, plans, 1)
	require.Len(t, plans[0].Waits, 1)
	assert.Equal(t, "paused", plans[0].Waits[0].Name)
	assert.Empty(t, plans[0].Notes)
}
