package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	product "stevedore.dev/stevedore/render"
)

// What is measured is a fleet of good definitions, in which a mark restarts nothing.
func TestAFleetIsGoodAndAMarkChangesOneService(t *testing.T) {
	rendered := func(files map[string]string) map[string]string {
		dir := t.TempDir()
		require.NoError(t, writeFiles(dir, files))
		build := product.BuildFolder(t.Context(), os.DirFS(dir), "clusters", product.Config{})
		require.Empty(t, build.Problems)
		require.Len(t, build.Clusters, len(files))
		texts := map[string]string{}
		for _, cluster := range build.Clusters {
			require.Empty(t, cluster.Problems)
			made, problems := product.Render(cluster, product.Config{}, product.Pins{})
			require.Empty(t, problems)
			for _, object := range made.Objects {
				folder, err := folderOf(object)
				require.NoError(t, err)
				assert.Equal(t, cluster.Name, folder)
				text, err := object.MarshalJSON()
				require.NoError(t, err)
				texts[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = string(text)
			}
		}
		return texts
	}
	files := definitions(27)
	before := rendered(files)
	assert.Contains(t, before, "Service fleet-01/crate-c0026")
	files[cluster(3).file()] = cluster(3).definition(1, "another")
	var changed []string
	for what, text := range rendered(files) {
		if text != before[what] {
			changed = append(changed, what)
		}
	}
	assert.Equal(t, []string{"Service fleet-00/crate-c0003"}, changed)
}

func TestAChildIsMeasuredWithAllThatItStarted(t *testing.T) {
	result := t.TempDir() + "/usage.json"
	require.NoError(t, measured([]string{result, "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3"}))
	text, err := os.ReadFile(result)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"Code":3`)
	took, err := ofProcess(os.Getpid())
	require.NoError(t, err)
	assert.Positive(t, took.Peak)
}

func TestThePageKeepsWhatStandsAroundTheTables(t *testing.T) {
	page, err := between("# Title\n\n"+beginMeasured+"old\n"+endMeasured+"\nMore\n", "new\n")
	require.NoError(t, err)
	assert.Equal(t, "# Title\n\n"+beginMeasured+"new\n"+endMeasured+"\nMore\n", page)
	_, err = between("# Title\n", "new\n")
	assert.ErrorContains(t, err, "has no lines")
}

func TestTheReportSetsEachBesideTheOthers(t *testing.T) {
	r := newReport()
	r.objects[100] = 600
	second := func(n float64) usage {
		return usage{Wall: time.Duration(n * float64(time.Second)), CPU: time.Duration(n * float64(time.Second)), Peak: 100 << 20}
	}
	r.peer(100, bareName, cold{usage: second(2), requests: 600}, nil, nil)
	r.peer(100, "kubectl", cold{usage: second(6), requests: 600, server: 5 * time.Second}, &compared{second(5), 600}, &compared{second(20), 600})
	r.steady(100, steady{
		cold: cold{usage: second(2.2), requests: 900, server: 7 * time.Second}, diff: &compared{second(3), 10}, idleFor: 30 * time.Second, idleCPU: time.Second,
		idleRequests: 2, held: 90 << 20, peak: 120 << 20, pushes: []time.Duration{time.Second / 4, time.Second / 2},
	})
	text := r.text()
	for _, row := range []string{
		"| 100 | 600 | stevedore | 2.20 s | 2.20 s | 7.00 s | 100 MiB | 900 | 1.10 × | 1.2 ×: met |",
		"| 100 | 600 | kubectl | 6.00 s | 6.00 s | 5.00 s | 100 MiB | 600 | 3.00 × | – |",
		"| 100 | stevedore | 3.00 s | 3.00 s | 100 MiB | 10 | 1/6.7 | **1/10 of kubectl's loop: missed** |",
		"| 100 | 2.00 s | 4 | 90 MiB | 120 MiB | 250 ms | 500 ms | 500 ms | **no requests: missed** |",
	} {
		assert.Contains(t, text, row+"\n")
	}
	assert.NotContains(t, text, "The sandbox")
}

// What every start of every verb costs: a package that makes something large when it
// is linked in is noticed by nobody.
func TestNothingLargeIsMadeBeforeItIsNeeded(t *testing.T) {
	const most = 4 << 20
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		binary = "../../bin/stevedore"
	}
	if _, err := os.Stat(binary); err != nil {
		t.Skip("there is no binary: run `make` first")
	}
	command := exec.CommandContext(t.Context(), binary, "version")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := command.CombinedOutput()
	require.NoError(t, err)
	traced := regexp.MustCompile(`(?m)^init (\S+) .* (\d+) bytes, \d+ allocs$`).FindAllStringSubmatch(string(out), -1)
	require.NotEmpty(t, traced, string(out))
	for _, each := range traced {
		bytes, err := strconv.Atoi(each[2])
		require.NoError(t, err)
		assert.Less(t, bytes, most, "bytes that package %s takes at each start", each[1])
	}
}

func TestPercentilesAreByTheNearestRank(t *testing.T) {
	var sorted []time.Duration
	for n := range 20 {
		sorted = append(sorted, time.Duration(n+1))
	}
	assert.Equal(t, []time.Duration{10, 19, 20}, []time.Duration{percentile(sorted, 50), percentile(sorted, 95), percentile(sorted, 100)})
	assert.Equal(t, time.Duration(7), percentile([]time.Duration{7}, 95))
	assert.Zero(t, percentile(nil, 95))
}

func TestAClusterIsHeardOfOnce(t *testing.T) {
	log := newTold()
	for _, part := range []string{
		"time=x level=INFO msg=\"the cluster is as its defin", "ition says\" namespace=fleet-00 cluster=c0001\n",
		"msg=\"the cluster is as its definition says\" namespace=fleet-00 cluster=c0001\nmsg=\"receiving pushes\" address=127.0.0.1:9 path=/push\n",
	} {
		_, err := log.Write([]byte(part))
		require.NoError(t, err)
	}
	assert.Equal(t, map[string]bool{"fleet-00/c0001": true}, log.clusters)
	assert.Equal(t, "127.0.0.1:9", log.address)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Error(t, log.until(ctx, "another", time.Minute, nil, func() bool { return len(log.clusters) == 2 }))
}

func TestTheAPIServersOwnListsOfServicesAreNotCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		listed int
		left   int
	}{
		{"none", 0, 0},
		{"its own", 2, 0},
		{"more than it makes in a minute", 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := map[string]int{"LIST services": 5}, map[string]int{"LIST services": 5 + c.listed, "GET services": 1, "WATCH services": 2}
			withoutRepairs(before, after, time.Minute)
			total, _ := since(before, after)
			assert.Equal(t, c.left+1, total)
		})
	}
}
