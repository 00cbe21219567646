package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/plan"
)

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: prod}\ndata: {a: " + value + "}\n"
}

// move is what a plan says of one object that stands elsewhere.
type move struct{ object, change, from, to string }

func movesOf(p plan.Plan) (all []move) {
	for _, o := range p.Objects {
		if o.From != "" || o.To != "" || o.Change == plan.Moved {
			all = append(all, move{o.Kind + " " + o.Key.Name, string(o.Change), o.From, o.To})
		}
	}
	return all
}

func TestWhatOnlyStandsInAnotherFileIsMovedAndNothingIsDone(t *testing.T) {
	const overlay = "resources: [../../base]\nnamespace: prod\n"
	for _, c := range []struct {
		name        string
		before, now map[string]string
		want        []move
		code        int
	}{
		{
			"a definition in another file",
			map[string]string{"clusters/a.yaml": orders("orders", "3")},
			map[string]string{"clusters/a.yaml": "", "clusters/orders.yaml": orders("orders", "3")},
			[]move{{"CrateDB orders", "moved", "clusters/a.yaml", "clusters/orders.yaml"}}, exitOK,
		},
		{
			"in another folder, with what travels with it",
			map[string]string{"clusters/a/x.yaml": orders("orders", "3"), "clusters/a/m.yaml": configMap("m", "1")},
			map[string]string{"clusters/a": "", "clusters/b/x.yaml": orders("orders", "3"), "clusters/b/m.yaml": configMap("m", "1")},
			[]move{{"CrateDB orders", "moved", "clusters/a/x.yaml", "clusters/b/x.yaml"}, {"ConfigMap m", "moved", "clusters/a/m.yaml", "clusters/b/m.yaml"}}, exitOK,
		},
		{
			"what travels with it alone",
			map[string]string{"clusters/x.yaml": orders("orders", "3"), "clusters/m.yaml": configMap("m", "1")},
			map[string]string{"clusters/m.yaml": "", "clusters/x.yaml": orders("orders", "3") + "---\n" + configMap("m", "1")},
			[]move{{"ConfigMap m", "moved", "clusters/m.yaml", "clusters/x.yaml"}}, exitOK,
		},
		{
			"moved and changed",
			map[string]string{"clusters/x.yaml": orders("orders", "3"), "clusters/m.yaml": configMap("m", "1")},
			map[string]string{"clusters/m.yaml": "", "clusters/n.yaml": configMap("m", "2")},
			[]move{{"ConfigMap m", "changed", "clusters/m.yaml", "clusters/n.yaml"}}, exitChanges,
		},
		{
			"moved, and the cluster is changed besides",
			map[string]string{"clusters/x.yaml": orders("orders", "3")},
			map[string]string{"clusters/x.yaml": "", "clusters/y.yaml": orders("orders", "4")},
			[]move{{"CrateDB orders", "moved", "clusters/x.yaml", "clusters/y.yaml"}}, exitChanges,
		},
		{
			"added",
			map[string]string{"clusters/x.yaml": orders("orders", "3")},
			map[string]string{"clusters/m.yaml": configMap("m", "1")},
			[]move{{"ConfigMap m", "added", "", "clusters/m.yaml"}}, exitChanges,
		},
		{
			"an overlay, and its base stays",
			map[string]string{"base/x.yaml": orders("orders", "3"), "base/kustomization.yaml": "resources: [x.yaml]\n", "clusters/a/kustomization.yaml": overlay},
			map[string]string{"clusters/a": "", "clusters/b/kustomization.yaml": overlay},
			[]move{{"CrateDB orders", "moved", "clusters/a/kustomization.yaml", "clusters/b/kustomization.yaml"}}, exitOK,
		},
		{
			"a base beside the folder, and its overlay stays",
			map[string]string{"base/x.yaml": orders("orders", "3"), "base/kustomization.yaml": "resources: [x.yaml]\n", "clusters/a/kustomization.yaml": overlay},
			map[string]string{"base/x.yaml": "", "base/y.yaml": orders("orders", "3"), "base/kustomization.yaml": "resources: [y.yaml]\n"},
			[]move{{"CrateDB orders", "moved", "base/x.yaml", "base/y.yaml"}}, exitOK,
		},
		{
			"what a kustomization generates",
			map[string]string{"clusters/a/x.yaml": orders("orders", "3"), "clusters/a/kustomization.yaml": "resources: [x.yaml]\nconfigMapGenerator: [{name: m, namespace: prod, literals: [a=b]}]\n"},
			map[string]string{"clusters/a": "", "clusters/b/x.yaml": orders("orders", "3"), "clusters/b/kustomization.yaml": "resources: [x.yaml]\nconfigMapGenerator: [{name: m, namespace: prod, literals: [a=b]}]\n"},
			[]move{{"CrateDB orders", "moved", "clusters/a/x.yaml", "clusters/b/x.yaml"}, {"ConfigMap m-GENERATED", "moved", "clusters/a/kustomization.yaml", "clusters/b/kustomization.yaml"}}, exitOK,
		},
		{
			"a kustomization that is new beside it",
			map[string]string{"clusters/x.yaml": orders("orders", "3")},
			map[string]string{"clusters/kustomization.yaml": "resources: [x.yaml]\n"}, nil, exitOK,
		},
		{
			"other lines of the same file",
			map[string]string{"clusters/x.yaml": orders("orders", "3") + "---\n" + configMap("m", "1")},
			map[string]string{"clusters/x.yaml": configMap("m", "1") + "---\n" + orders("orders", "3")}, nil, exitOK,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRepository(t)
			r.commit(c.before)
			r.commit(c.now)
			t.Chdir(r.dir)
			plans, end := planned(t, "clusters", "--against", "HEAD^1", "--fail-on", "deletion")
			require.Equal(t, c.code, end.code, end.err)
			var got []move
			for _, p := range plans {
				got = append(got, movesOf(p)...)
			}
			for i := range got {
				if strings.HasPrefix(got[i].object, "ConfigMap m-") {
					got[i].object = "ConfigMap m-GENERATED"
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestAMoveIsSaidInEachFormat(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"clusters/a/x.yaml": orders("orders", "3"), "clusters/same.yaml": orders("same", "3"), "clusters/other.yaml": orders("other", "3")})
	r.commit(map[string]string{"clusters/a": "", "clusters/b/x.yaml": orders("orders", "3")})
	t.Chdir(r.dir)
	diff := func(code int, args ...string) string {
		t.Helper()
		end := stevedore(t, append([]string{"diff", "clusters", "--against", "HEAD^1"}, args...)...)
		require.Equal(t, code, end.code, end.err)
		return end.out
	}
	text := diff(exitOK)
	assert.Contains(t, text, "\n    > CrateDB.cloud.crate.io orders (moved from clusters/a/x.yaml to clusters/b/x.yaml)\n")
	assert.Contains(t, text, "\nnothing differs, 1 cluster only moved, 2 as they are: 1 moved to another file\n")
	assert.Equal(t, "prod/orders  1 moved to another file\nnothing differs, 1 cluster only moved, 2 as they are: 1 moved to another file\n", diff(exitOK, "--summary"))
	markdown := diff(exitOK, "-o", "markdown")
	assert.Contains(t, markdown, "### stevedore: nothing differs, 1 cluster only moved, 2 as they are\n")
	assert.Contains(t, markdown, "! CrateDB.cloud.crate.io orders (moved from clusters/a/x.yaml to clusters/b/x.yaml)\n")
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(diff(exitOK, "-o", "sarif")), &log))
	require.Len(t, log.Runs[0].Results, 1)
	result := log.Runs[0].Results[0]
	assert.Equal(t, "moved", result.RuleID)
	assert.Equal(t, "note", result.Level)
	assert.Equal(t, "prod/orders: CrateDB.cloud.crate.io orders: moved from clusters/a/x.yaml to clusters/b/x.yaml; nothing is done for it", result.Message.Text)
	assert.Equal(t, "clusters/b/x.yaml", result.Locations[0].PhysicalLocation.ArtifactLocation.URI)

	// A move does not hide what happens elsewhere, and the other way round.
	r.commit(map[string]string{"clusters/other.yaml": orders("other", "4")})
	end := stevedore(t, "diff", "clusters", "--against", "HEAD~2")
	assert.Equal(t, exitChanges, end.code)
	assert.Contains(t, end.out, "\n1 cluster differs, 1 cluster only moved, 1 as they are: 1 operation, 1 object differs, 1 moved to another file\n")
}

// Two folders are compared by what stands in them, wherever they are.
func TestTwoFoldersAreNoMove(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"one/a.yaml": orders("orders", "3"), "two/a.yaml": orders("orders", "3"), "three/b.yaml": orders("orders", "3")})
	plans, end := planned(t, dir+"/two", "--against", dir+"/one", "--trusted")
	assert.Equal(t, exitOK, end.code, end.err)
	assert.Empty(t, plans)
	plans, end = planned(t, dir+"/three", "--against", dir+"/one", "--trusted")
	assert.Equal(t, exitOK, end.code, end.err)
	require.Len(t, plans, 1)
	assert.Equal(t, []move{{"CrateDB orders", "moved", "a.yaml", "b.yaml"}}, movesOf(plans[0]))
}

func TestHostileNamesOfFilesThatMoveStayNames(t *testing.T) {
	r := newRepository(t)
	r.commit(map[string]string{"clusters/a.yaml": orders("orders", "3")})
	const evil = "`|<img src=x> @team [a](b) \x1b[31mred \u202e\u200b ##[error]x ::error::y\n::stop-commands::z\n```\n"
	r.commit(map[string]string{"clusters/a.yaml": "", "clusters/" + evil + ".yaml": orders("orders", "3")})
	const branch = "feature/`<img>@team\u202e\u200bx"
	r.git("update-ref", "refs/heads/"+branch, "HEAD^1")
	for _, format := range []string{"text", "markdown", "json", "sarif"} {
		end := stevedore(t, "diff", r.in("clusters"), "--against", branch, "-o", format)
		require.Equal(t, exitOK, end.code, end.err)
		unharmed(t, end.out+end.err)
		if format != "sarif" {
			assert.Contains(t, end.out, "feature/", "the branch is said")
		}
		if format == "markdown" {
			assert.Empty(t, outsideOfCode(end.out, "<img", "@team", "[a]", "](b)"), end.out)
		}
	}
	end := stevedore(t, "diff", r.in("clusters"), "--against", branch+"\x1b[31m\n::error::x")
	assert.Equal(t, exitError, end.code)
}

// unharmed: nothing in it that a terminal or the runner of a CI platform acts on.
func unharmed(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			require.Fail(t, "a character that is not seen", "%U in %q", r, text)
		}
	}
	assert.NotContains(t, text, "##[")
	for line := range strings.Lines(text) {
		assert.False(t, strings.HasPrefix(strings.TrimLeft(line, " "), "::"), line)
	}
}

// outsideOfCode are the words that stand in Markdown outside of blocks and spans
// of code, where they would mean something.
func outsideOfCode(markdown string, words ...string) (found []string) {
	var rest strings.Builder
	fence := ""
	for line := range strings.Lines(markdown) {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if strings.TrimSuffix(line, "\n") == fence {
				fence = ""
			}
		case len(ticks) >= 3:
			fence = ticks
		default:
			rest.WriteString(withoutSpans(line))
		}
	}
	text := htmlCode.ReplaceAllString(rest.String(), "")
	for _, word := range words {
		if strings.Contains(text, word) {
			found = append(found, word)
		}
	}
	return found
}

var htmlCode = regexp.MustCompile(`<code>[^<>]*</code>`)

// withoutSpans takes code spans out of a line: a run of backticks is closed by the
// next run of the same length.
func withoutSpans(line string) string {
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(line, "`")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		n := 1 + len(after) - len(strings.TrimLeft(after, "`"))
		line = after[n-1:]
		for {
			k := strings.Index(line, "`")
			if k < 0 {
				return out.String() + strings.Repeat("`", n) + line
			}
			m := len(line[k:]) - len(strings.TrimLeft(line[k:], "`"))
			line = line[k+m:]
			if m == n {
				break
			}
		}
	}
}
