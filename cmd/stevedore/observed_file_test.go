package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/exported"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/plan"
)

// shrunk is a work tree in which these clusters have a node less than at HEAD.
func shrunk(t *testing.T, clusters ...string) repository {
	t.Helper()
	r := newRepository(t)
	before, now := map[string]string{}, map[string]string{}
	for _, name := range clusters {
		file := "clusters/" + name + ".yaml"
		before[file], now[file] = orders(name, "4"), orders(name, "3")
	}
	r.commit(before)
	put(t, r.dir, now)
	t.Chdir(r.dir)
	return r
}

// manyTables makes a reading so large that its content is cut out before YAML sees it. Spaces
// and quotes in names are what YAML folds and escapes.
func manyTables(o daemon.Observation) daemon.Observation {
	for i := range 200 {
		o.Data.Tables = append(o.Data.Tables, daemon.ObservationTable{
			Name: fmt.Sprintf(`doc.it's a "table" – %d`, i), Replicas: "1", Shards: 1, Started: 2, TotalShardsPerNode: -1, On: [][3]int64{{1, 1 << 20, 1 << 20}, {1, 1 << 20, 1 << 20}},
		})
	}
	return o
}

func TestAReadingIsTakenFromAllThatKubectlPrints(t *testing.T) {
	for size, reading := range map[string]daemon.Observation{"small": readingOf(4), "large": manyTables(readingOf(4))} {
		ours := publishedMap(t, inProd("orders"), reading)
		other := publishedMap(t, record.Cluster{Namespace: "test", Name: "orders"}, readingOf(2))
		for name, text := range map[string]string{
			"one as YAML":           kubectlYAML(t, ours),
			"one as JSON":           kubectlJSON(t, ours),
			"a List as YAML":        kubectlYAML(t, other, ours),
			"a List as JSON":        kubectlJSON(t, ours, other),
			"documents":             kubectlYAML(t, other) + "---\n" + kubectlYAML(t, ours),
			"documents of Lists":    "# of two clusters\n---\n" + kubectlYAML(t) + "---\n" + kubectlYAML(t, ours, other) + "---\n",
			"with Windows' endings": strings.ReplaceAll(kubectlYAML(t, ours), "\n", "\r\n"),
			"with a mark of UTF-8":  "\ufeff" + kubectlJSON(t, ours),
		} {
			for _, by := range []string{"observations", standardInput} {
				t.Run(size+", "+name+", "+by, func(t *testing.T) {
					shrunk(t, "orders")
					file, stdin, called := standardInput, text, "standard input"
					if by != standardInput {
						file, stdin = written(t, by, text), ""
						called = file
					}
					end := fed(t, stdin, "diff", "clusters", "--against", "HEAD", "--observation", file, "--fail-on", "unknown")
					assert.Equal(t, exitChanges, end.code, "all is known: %s%s", end.out, end.err)
					assert.Contains(t, strings.Join(strings.Fields(end.out), " "), "; database read more than 5 minutes ago, from "+called+")")
					if size == "small" {
						assert.Contains(t, end.out, "drain data-hot-3: 2 shards, 20 GiB move, fits: the nodes that stay are at 56 % of the low")
					} else {
						assert.Contains(t, end.out, "drain data-hot-3: 2 shards, 20 GiB move, fits")
					}
				})
			}
		}
	}
}

// inContent replaces words in the content of a ConfigMap.
func inContent(t *testing.T, object *corev1.ConfigMap, old, now string) *corev1.ConfigMap {
	t.Helper()
	changed := object.DeepCopy()
	require.Contains(t, changed.Data[names.DataKey], old)
	changed.Data[names.DataKey] = strings.Replace(changed.Data[names.DataKey], old, now, 1)
	return changed
}

func TestAFileThatIsNoneOfReadingsIsRefusedWithItsLine(t *testing.T) {
	const word = "hunter2"
	ours := publishedMap(t, inProd("orders"), readingOf(4))
	plain := kubectlYAML(t, ours)
	with := func(change func(*corev1.ConfigMap)) string {
		changed := ours.DeepCopy()
		change(changed)
		return kubectlYAML(t, changed)
	}
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: prod}\nstringData: {password: " + word + "}\n"
	for _, c := range []struct {
		name, text string
		line       string // with its colon; "" where none is known
		says       string
	}{
		{"a Secret", secret, "1:", "it is no ConfigMap, and readings are ConfigMaps: export nothing else: " + exported.Command},
		{"a Secret behind a reading", plain + "---\n" + secret, fmt.Sprint(strings.Count(plain, "\n")+2, ":"), "it is no ConfigMap"},
		{"a Secret in a List", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(secret, "\n", "\n  "), "4:", "it is no ConfigMap"},
		{"a ConfigMap of another API", strings.Replace(plain, "apiVersion: v1", "apiVersion: example.com/v1", 1), "1:", "it is no ConfigMap"},
		{"a List that is none", "apiVersion: v1\nkind: List\nitems: " + word + "\n", "3:", "items is a list in what kubectl prints, and not here"},
		{"a value of another type", strings.Replace(plain, "kind: ConfigMap", "kind: ["+word+"]", 1), "", "kind is a text in what kubectl prints, and not here"},
		{"an alias", "a: &a {kind: ConfigMap}\nmetadata: *a\nkind: ConfigMap\napiVersion: v1\n", "2:", "it is no object of Kubernetes"},
		{"an object without a kind", "password: " + word + "\n", "1:", "it is no object of Kubernetes, and a ConfigMap is expected: " + exported.Command},
		{"an error of kubectl", "Error from server (Forbidden): " + word + "\n", "1:", "it is n"},
		{"a page of a web server", "<!DOCTYPE html>\n<html><body>" + word + "</body></html>\n", "1:", "it is no object of Kubernetes"},
		{"no text", "\x1f\x8b\x08\x00\x00" + word, "", "it is neither YAML nor JSON"},
		{"YAML that is broken", plain + "  - " + word + ": [\n", "", "it is neither YAML nor JSON from here on"},
		{"cut short", kubectlJSON(t, publishedMap(t, inProd("orders"), manyTables(readingOf(4))))[:9000], "", "it is neither YAML nor JSON"},
		{"empty", "\n", "", "it is empty, and kubectl prints a List also where there are no readings: did the export fail? It is made by: " + exported.Command},
		{"documents without a word", "---\n# nothing\n---\n", "", "there is no object in it"},

		{"a record of another kind", with(func(o *corev1.ConfigMap) {
			o.Name = names.OperationConfigMap("orders")
			record.Decorate(o, "orders", record.Operation)
		}), "1:", "the ConfigMap holds no reading: those that do have the label stevedore.dev/record=observation"},
		{"a ConfigMap of somebody", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: prod}\ndata: {a: " + word + "}\n", "1:", "the ConfigMap holds no reading"},
		{"another name", with(func(o *corev1.ConfigMap) { o.Name = "copy-of-" + o.Name }), "1:", "the ConfigMap holds no reading"},
		{"no namespace", with(func(o *corev1.ConfigMap) { o.Namespace = "" }), "1:", "the ConfigMap holds no reading"},
		{"no content", with(func(o *corev1.ConfigMap) { o.Data = nil }), "1:", "the ConfigMap holds no reading: it has no data.json under data"},
		{"no time", kubectlYAML(t, inContent(t, ours, `"at":`, `"was":`)), "1:", "the ConfigMap holds no reading of cluster prod/orders: it has no time"},

		{"a newer release", kubectlYAML(t, inContent(t, ours, `"schemaVersion":1`, `"schemaVersion":2`)), "1:",
			"the reading of cluster prod/orders was written by a newer release of stevedore (schemaVersion 2, and this one knows 1): use the release that the daemon runs"},
		{"another release", kubectlYAML(t, inContent(t, ours, `"schemaVersion":1`, `"schemaVersion":0`)), "1:", "was written by another release of stevedore (schemaVersion 0, "},
		{"content that is cut short", kubectlYAML(t, inContent(t, ours, `"green","nodes"`, `"`+word)), "1:", "the reading of cluster prod/orders is damaged: it is not as a daemon writes it, or is cut short: export it again: " + exported.Command},
		{"content of another type", kubectlYAML(t, inContent(t, ours, `"health":"green"`, `"health":["`+word+`"]`)), "1:", "is damaged"},
		{"a time that is none", kubectlYAML(t, inContent(t, ours, `"at":"2`, `"at":"`+word)), "1:", "is damaged"},
		{"more copies than fit into memory", kubectlYAML(t, inContent(t, ours, `"on":[[2,`, `"on":[[2000000000000000,`)), "1:", "is damaged"},
		{"copies on nodes that are not there", kubectlYAML(t, inContent(t, ours, `"on":[[2,`, `"on":[[1,1,1],[2,`)), "1:", "is damaged"},
		{"two readings of one cluster", plain + "---\n" + plain, "1:", "there is another reading of cluster prod/orders at line " + fmt.Sprint(strings.Count(plain, "\n")+2)},
		{"two outputs without a line between", plain + plain, "", "is there twice, before at line 4: between two outputs in one file there has to be a line ---"},
		{"two outputs of JSON without a line between", kubectlJSON(t, ours) + kubectlJSON(t, ours), "", "between two outputs in one file there is a line ---"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shrunk(t, "orders")
			file := written(t, "observations.yaml", c.text)
			end := stevedore(t, "diff", "clusters", "--against", "HEAD", "--observation", file)
			assert.Equal(t, exitError, end.code)
			assert.Empty(t, end.out)
			assert.True(t, strings.HasPrefix(end.err, file+":"+c.line), end.err)
			assert.Contains(t, end.err, c.says)
			assert.NotContains(t, end.err, word, "nothing of the file is said")
		})
	}
}

func TestWhatCannotBeReadAsAFileOfReadingsIsSaid(t *testing.T) {
	shrunk(t, "orders")
	large := written(t, "large.yaml", "")
	require.NoError(t, os.Truncate(large, exported.MaxBytes+1))
	padded := written(t, "padded.yaml", strings.Repeat("a: b\n", 1<<20))
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"live clusters", []string{"--observation", "x.yaml"}, "--observation is for --against: against live clusters the reading is read there; add --against REVISION, or leave --observation out"},
		{"a variable that is empty", []string{"--against", "HEAD", "--observation", ""}, "--observation names no file: give the file that this makes, or leave --observation out: " + exported.Command},
		{"no such file", []string{"--against", "HEAD", "--observation", "nope.yaml"}, "reading --observation: open nope.yaml: "},
		{"a folder", []string{"--against", "HEAD", "--observation", "clusters"}, "reading clusters: "},
		{"too large", []string{"--against", "HEAD", "--observation", large}, large + ": it has more than the 64 MiB that are read"},
		{"too much that is no content", []string{"--against", "HEAD", "--observation", padded}, padded + ": it has more than 4 MiB beside the content of ConfigMaps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := stevedore(t, append([]string{"diff", "clusters"}, c.args...)...)
			assert.Equal(t, exitError, end.code)
			assert.Contains(t, end.err, c.says)
			assert.Empty(t, end.out)
		})
	}
}

// unknownOfEach is what is not known of each cluster, by its name.
func unknownOfEach(plans []plan.Plan) map[string][]string {
	of := map[string][]string{}
	for _, p := range plans {
		of[p.Name] = p.Unknown
	}
	return of
}

func TestEachClusterHasItsOwnReading(t *testing.T) {
	smaller := readingOf(4)
	for i := range smaller.Nodes {
		smaller.Nodes[i].Bytes, smaller.Data.Tables[0].On[i] = 2*gib, [3]int64{2, 2 * gib, gib}
	}
	r := newRepository(t)
	r.commit(map[string]string{
		"clusters/orders.yaml": orders("orders", "4"), "clusters/metrics.yaml": orders("metrics", "4"), "clusters/logs.yaml": orders("logs", "4"),
		"clusters/same.yaml": orders("same", "4"), "clusters/gone.yaml": orders("gone", "4"),
	})
	put(t, r.dir, map[string]string{
		"clusters/orders.yaml": orders("orders", "3"), "clusters/metrics.yaml": orders("metrics", "3"), "clusters/logs.yaml": orders("logs", "3"),
		"clusters/new.yaml": orders("new", "3"), "clusters/known.yaml": orders("known", "3"),
	})
	require.NoError(t, os.Remove(r.in("clusters/gone.yaml")))
	t.Chdir(r.dir)
	put(t, r.dir, map[string]string{"observations.yaml": kubectlYAML(t,
		publishedMap(t, inProd("orders"), readingOf(4)), publishedMap(t, inProd("metrics"), smaller), publishedMap(t, inProd("same"), readingOf(4)),
		publishedMap(t, inProd("gone"), readingOf(4)), publishedMap(t, inProd("known"), readingOf(4)),
		publishedMap(t, record.Cluster{Namespace: "test", Name: "orders"}, readingOf(4)), publishedMap(t, record.Cluster{Namespace: "test", Name: "logs"}, readingOf(4)),
	)})

	plans, end := planned(t, "clusters", "--against", "HEAD", "--observation", "observations.yaml", "--fail-on", "unknown")
	assert.Equal(t, 3, end.code, "of logs nothing is known")
	summaries := map[string]string{}
	for _, p := range plans {
		if len(p.Operations) > 0 {
			summaries[p.Name] = p.Operations[0].Summary
		}
	}
	assert.Contains(t, summaries["orders"], "drain data-hot-3: 2 shards, 20 GiB move, fits")
	assert.Contains(t, summaries["metrics"], "drain data-hot-3: 2 shards, 2 GiB move, fits")
	assert.Equal(t, map[string][]string{
		"orders": {}, "metrics": {}, "gone": {}, "new": {},
		"logs":  {"observations.yaml has no reading of prod/logs: health, tables without replicas, sizes of shards and disks, and whether a drain fits, are not known"},
		"known": {"observations.yaml has a reading of prod/known, and HEAD does not define it: it is planned as a new cluster, and the reading is not used"},
	}, unknownOfEach(plans))

	text, err := os.ReadFile("observations.yaml")
	require.NoError(t, err)
	var lines []int
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "- ") {
			lines = append(lines, i+1)
		}
	}
	assert.Equal(t, fmt.Sprintf("observations.yaml: note: 2 reading(s) of clusters that clusters does not define are not used (line %d, %d)\n", lines[5], lines[6]), end.err)

	// Who asks for one cluster is told of its own.
	plans, end = planned(t, "clusters", "--against", "HEAD", "--observation", "observations.yaml", "--cluster", "prod/orders", "--fail-on", "unknown")
	require.Len(t, plans, 1)
	assert.Equal(t, exitChanges, end.code)
	assert.Empty(t, end.err)
}

// A damaged reading stops the plan of its cluster, and of no other.
func TestAReadingOfAnotherFolderIsNotLookedInto(t *testing.T) {
	shrunk(t, "orders")
	damaged := inContent(t, publishedMap(t, inProd("elsewhere"), readingOf(4)), "{", "[")
	file := written(t, "observations.yaml", kubectlYAML(t, damaged, publishedMap(t, inProd("orders"), readingOf(4))))
	plans, end := planned(t, "clusters", "--against", "HEAD", "--observation", file)
	require.Len(t, plans, 1, end.err)
	assert.Empty(t, plans[0].Unknown)
	assert.Contains(t, end.err, "note: 1 reading(s) of clusters that clusters does not define are not used (line 3)")
}

func TestAReadingOfOtherNodesThanTheOlderSideDefinesIsSaid(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*daemon.Observation)
		want   []string
	}{
		{"the same", func(*daemon.Observation) {}, []string{}},
		{"a version with a mark", func(o *daemon.Observation) { o.Nodes[0].Version = "" }, []string{}},
		{"more", func(o *daemon.Observation) { *o = readingOf(6) }, []string{"the reading has the nodes data-hot-4, data-hot-5, which HEAD does not define: the plan begins without them"}},
		{"many more", func(o *daemon.Observation) { *o = readingOf(11) }, []string{"the reading has the nodes data-hot-10, data-hot-4, data-hot-5, data-hot-6, data-hot-7 and 2 more, which HEAD does not define: the plan begins without them"}},
		{"fewer", func(o *daemon.Observation) { *o = readingOf(3) }, []string{"the reading does not have the nodes data-hot-3, which HEAD defines: the plan takes them to be there, and empty"}},
		{"another version", func(o *daemon.Observation) { o.Nodes[1].Version = "6.4.2" }, []string{"in the reading the nodes data-hot-1 run another version of CrateDB than HEAD defines: the plan begins with the defined one"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			shrunk(t, "orders")
			reading := readingOf(4)
			c.change(&reading)
			plans, end := planned(t, "clusters", "--against", "HEAD", "--observation", written(t, "o.yaml", kubectlYAML(t, publishedMap(t, inProd("orders"), reading))))
			require.Len(t, plans, 1, end.err)
			assert.Equal(t, c.want, plans[0].Unknown)
		})
	}
}

func TestHowOldAReadingIsStandsInEachFormat(t *testing.T) {
	shrunk(t, "orders")
	reading := readingOf(4)
	reading.At = time.Now().UTC().Truncate(time.Second).Add(-3 * time.Hour)
	put(t, ".", map[string]string{"observations.yaml": kubectlYAML(t, publishedMap(t, inProd("orders"), reading))})
	diff := func(args ...string) ended {
		t.Helper()
		return stevedore(t, append([]string{"diff", "clusters", "--against", "HEAD", "--observation", "observations.yaml"}, args...)...)
	}
	for format, says := range map[string]string{
		"text":     "database read more than 2 hours ago, from observations.yaml, which is too old to rely on",
		"markdown": "database read more than 2 hours ago, from",
		"json":     `"observedIn": "observations.yaml"`,
	} {
		assert.Contains(t, strings.Join(strings.Fields(diff("-o", format).out), " "), says, format)
	}
	assert.Equal(t, 3, diff("--fail-on", "unknown").code, "what is stale is not known")
}

func TestAHostileFileOfReadingsStaysText(t *testing.T) {
	shrunk(t, "orders")
	const evil = "`|<img src=x> @team [a](b) \x1b[31mred \u202e\u200b ##[error]x ::error::y\n::stop-commands::z\n```\n"
	reading := readingOf(4)
	reading.Data.Tables[0].Name, reading.Health, reading.Tables = "doc."+evil, "yellow", []string{evil}
	reading.Data.Unreplicated = []string{evil}
	reading.Nodes = append(reading.Nodes, daemon.ObservationNode{Name: evil, ID: evil, Version: evil})
	reading.At = reading.At.Add(-3 * time.Hour)
	name := strings.ReplaceAll(evil, "/", "") + ".yaml"
	put(t, ".", map[string]string{name: kubectlYAML(t, publishedMap(t, inProd("orders"), reading), publishedMap(t, inProd("b"), reading))})
	for _, format := range []string{"text", "markdown", "json", "sarif"} {
		end := stevedore(t, "diff", "clusters", "--against", "HEAD", "--observation", name, "-o", format)
		require.Equal(t, exitChanges, end.code, end.err)
		unharmed(t, end.out+end.err)
		if format == "markdown" {
			assert.Empty(t, outsideOfCode(end.out, "<img", "@team", "[a]", "](b)"), end.out)
		}
	}
}

func TestAFileOfReadingsIsCompletedByItsEnding(t *testing.T) {
	assert.ElementsMatch(t, []string{"json", "yaml", "yml"}, completed(t, "diff", "clusters", "--observation", ""))
}
