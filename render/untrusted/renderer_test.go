//go:build linux && (amd64 || arm64)

package untrusted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"stevedore.dev/stevedore/internal/confine"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/sources/tree"
)

// forever is not a plain select: the runtime would notice that nothing can ever
// happen.
var forever = time.After(time.Hour)

// child modes of this test binary; each gets bytes and seconds, as Verb does.
var modes = map[string]func(limits confine.Limits){
	Verb: func(l confine.Limits) {
		if err := Serve(l.Memory, l.CPU); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
	// What kustomize or a parser could do to us.
	"eats memory": func(l confine.Limits) {
		begin(l)
		var all [][]byte
		for {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
			runtime.KeepAlive(all)
		}
	},
	"recurses": func(l confine.Limits) {
		begin(l)
		var down func(n int) int
		down = func(n int) int { return down(n+1) + n }
		down(0)
	},
	"spins": func(l confine.Limits) {
		begin(l)
		for {
			runtime.Gosched()
		}
	},
	"waits":   func(l confine.Limits) { begin(l); <-forever },
	"panics":  func(l confine.Limits) { begin(l); panic("password: hunter2") },
	"ends":    func(l confine.Limits) { begin(l) },
	"babbles": func(l confine.Limits) { begin(l); _ = send(os.Stdout, 'Z', nil, 1); <-forever },
	"promises": func(l confine.Limits) {
		begin(l)
		_, _ = os.Stdout.Write([]byte{'b', 0xff, 0xff, 0xff, 0xff})
		<-forever
	},
	"lies": func(l confine.Limits) { begin(l); _ = send(os.Stdout, kindBuilt, []byte("["), maxResponse); <-forever },
	"asks for what is not there": func(l confine.Limits) {
		begin(l)
		_, _, _ = receive(os.Stdin, maxRequest)
		_ = send(os.Stdout, kindFile, fileQuestion{entry: 1 << 31, content: true}.bytes(), maxResponse)
		_, said, _ := receive(os.Stdin, maxRequest)
		_ = send(os.Stdout, kindFailed, said, maxResponse)
		<-forever
	},
	"cannot be confined": func(confine.Limits) {
		_ = send(os.Stdout, kindFailed, []byte("no seccomp here"), maxResponse)
	},
	// A parent that is killed while its child is busy.
	"parent": func(confine.Limits) {
		r, err := Start(context.Background(), Options{Command: []string{"/proc/self/exe", "spins"}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(r.cmd.Process.Pid)
		<-forever
	},
}

func begin(l confine.Limits) {
	if err := confine.Enter(l); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = send(os.Stdout, kindReady, nil, maxResponse)
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 {
		if mode := modes[os.Args[1]]; mode != nil {
			memory, _ := strconv.ParseInt(os.Args[2], 10, 64)
			seconds, _ := strconv.Atoi(os.Args[3])
			mode(confine.Limits{Memory: memory, CPU: time.Duration(seconds) * time.Second})
			return
		}
	}
	code := m.Run()
	if binary, _ := childOf(); race {
		_ = os.Remove(binary)
	}
	os.Exit(code)
}

// childOf is the binary whose modes are run: this one or, since the race
// detector's memory has no limit that makes sense, the same without it.
var childOf = sync.OnceValues(func() (string, error) {
	if !race {
		return "/proc/self/exe", nil
	}
	binary := filepath.Join(os.TempDir(), fmt.Sprintf("child-%d-untrusted", os.Getpid()))
	cmd := exec.Command("go", "test", "-c", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building the child: %w: %s", err, out)
	}
	return binary, err
})

func child(t *testing.T) string {
	t.Helper()
	binary, err := childOf()
	require.NoError(t, err)
	return binary
}

func start(t *testing.T, mode string, o Options) (*Renderer, error) {
	t.Helper()
	o.Command = []string{child(t), mode}
	r, err := Start(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = r.Close() })
	}
	return r, err
}

// Renders are compared as JSON: that is what goes to the API server.
func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	require.NoError(t, err)
	return string(text)
}

func snapshot(t *testing.T, dir string) *tree.FS {
	t.Helper()
	b := tree.NewBuilder(tree.Limits{})
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil || rel == ".":
			return err
		case d.IsDir():
			return b.Folder(filepath.ToSlash(rel))
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return b.File(filepath.ToSlash(rel), tree.Bytes(data))
	}))
	fsys, err := b.FS(".")
	require.NoError(t, err)
	return fsys
}

func TestTheChildMakesWhatThisProcessMakes(t *testing.T) {
	config := render.Config{DefaultNamespace: "fallback", CloudProvider: render.CloudAWS, SQLExporterImage: "exporter:1"}
	examples := snapshot(t, "../../examples")
	linked := tree.NewBuilder(tree.Limits{})
	require.NoError(t, linked.Folder("clusters"))
	require.NoError(t, linked.Folder("shared"))
	definition, err := os.ReadFile("../../examples/single/cluster.yaml")
	require.NoError(t, err)
	require.NoError(t, linked.File("shared/a.yaml", tree.Bytes(definition)))
	require.NoError(t, linked.Link("clusters/a.yaml", "../shared/a.yaml"))
	require.NoError(t, linked.Link("clusters/out.yaml", "/etc/passwd"))
	require.NoError(t, linked.Submodule("clusters/sub"))
	require.NoError(t, linked.Special("clusters/pipe.yaml"))
	folder, err := linked.FS("clusters")
	require.NoError(t, err)

	r, err := start(t, Verb, Options{Config: config})
	require.NoError(t, err)
	here := render.InProcess{Config: config}
	clusters := 0
	for _, c := range []struct {
		name string
		tree fs.FS
		dir  string
	}{
		{"all examples", examples, "."},
		{"one of them", examples, "overlays"},
		{"a folder whose links lead out of it", folder, "."},
		{"a folder that is not there", examples, "nowhere"},
		{"nothing", fstest.MapFS{}, "."},
	} {
		want, err := here.Build(t.Context(), c.tree, c.dir)
		require.NoError(t, err)
		got, err := r.Build(t.Context(), c.tree, c.dir)
		require.NoError(t, err, c.name)
		require.Equal(t, inJSON(t, want), inJSON(t, got), c.name)
		for i, cluster := range want.Clusters {
			clusters++
			wanted, problems, err := here.Render(t.Context(), cluster, render.Pins{})
			require.NoError(t, err)
			rendered, more, err := r.Render(t.Context(), got.Clusters[i], render.Pins{})
			require.NoError(t, err)
			require.Equal(t, inJSON(t, problems), inJSON(t, more), c.name)
			require.Equal(t, inJSON(t, wanted), inJSON(t, rendered), c.name)
		}
	}
	assert.Greater(t, clusters, 3)
}

func TestWhateverTheChildDoesThisProcessLivesAndSaysWhy(t *testing.T) {
	for _, c := range []struct {
		mode    string
		options Options
		says    string
	}{
		{"eats memory", Options{Memory: 256 << 20}, "took more than 256 MiB of memory and was ended"},
		{"recurses", Options{Memory: 256 << 20}, "went too deep and was ended"},
		{"spins", Options{CPU: time.Second}, "took more than 1s of processor time and was ended"},
		{"spins", Options{Deadline: 300 * time.Millisecond}, "took longer than 300ms and was ended"},
		{"waits", Options{Deadline: 300 * time.Millisecond}, "took longer than 300ms and was ended"},
		{"panics", Options{}, "the confined process ended (exit status 2)"},
		{"ends", Options{}, "talking to the confined process"},
		{"babbles", Options{}, `a message of kind 'Z' is not expected`},
		{"promises", Options{}, "the message is too long: 4294967295 bytes"},
		{"lies", Options{}, "reading the result"},
		{"asks for what is not there", Options{}, "there is no such file"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			r, err := start(t, c.mode, c.options)
			if err != nil && c.options.Deadline > 0 {
				require.ErrorContains(t, err, c.says, "a busy machine needs the time to start it")
				return
			}
			require.NoError(t, err)
			_, err = r.Build(t.Context(), fstest.MapFS{"a.yaml": {Data: []byte("a: b")}}, ".")
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "hunter2")
			if c.mode != "asks for what is not there" {
				_, _, again := r.Render(t.Context(), render.Cluster{}, render.Pins{})
				assert.Equal(t, err, again, "what is broken stays so")
			}
			require.NoError(t, r.Close())
		})
	}
}

func TestWithoutAFilterNothingIsRendered(t *testing.T) {
	_, err := start(t, "cannot be confined", Options{})
	require.ErrorIs(t, err, confine.ErrUnavailable)
	assert.ErrorContains(t, err, "no seccomp here")
}

func TestACallersContextEndsTheChild(t *testing.T) {
	r, err := start(t, "waits", Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = r.Build(ctx, fstest.MapFS{}, ".")
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheChildDiesWithItsParent(t *testing.T) {
	cmd := exec.Command(child(t), "parent", "0", "0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var child int
	_, err = fmt.Fscan(out, &child)
	require.NoError(t, err)
	require.NoError(t, unix.Kill(child, 0), "it is there")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		// An orphan that nobody waits for stays as a zombie.
		return err != nil || strings.Contains(string(status), ") Z ")
	}, 2*time.Minute, 10*time.Millisecond)
}

// What comes in from a child that went wrong must not take this process along.
func FuzzReceive(f *testing.F) {
	var good bytes.Buffer
	_ = send(&good, kindBuilt, []byte(`{"Clusters":[]}`), maxResponse)
	f.Add(good.Bytes())
	f.Add([]byte{'b', 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{'f', 0, 0, 0, 5, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			k, payload, err := receive(r, 1<<20)
			if err != nil {
				if len(payload) > len(data) || errors.Is(err, io.ErrNoProgress) {
					t.Fatal(err)
				}
				return
			}
			switch k {
			case kindFile:
				if q, err := parseQuestion(payload); err == nil {
					answer(fstest.MapFS{"a": {Data: []byte("a")}}, []listed{{Name: "a"}, {Name: "b", Kind: folder}}, q)
				}
			case kindBuilt:
				var build render.Build
				_ = json.Unmarshal(payload, &build)
			case kindRendered:
				var r rendered
				_ = json.Unmarshal(payload, &r)
			}
		}
	})
}
