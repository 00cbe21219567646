package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPackageIsALineAndAFailureAllThatWasSaid(t *testing.T) {
	var out strings.Builder
	follow(linesOf(t, strings.NewReader(strings.Join([]string{
		`{"Action":"start","Package":"m/good"}`,
		`{"Action":"run","Package":"m/good","Test":"TestA"}`,
		`{"Action":"output","Package":"m/good","Test":"TestA","Output":"a word that nobody needs\n"}`,
		`{"Action":"pass","Package":"m/good","Test":"TestA","Elapsed":12.4}`,
		`{"Action":"output","Package":"m/good","Output":"PASS\n"}`,
		`{"Action":"output","Package":"m/good","Output":"ok  \tm/good\t0.1s\n"}`,
		`{"Action":"pass","Package":"m/good","Elapsed":0.1}`,
		`{"Action":"run","Package":"m/bad","Test":"TestB"}`,
		`{"Action":"output","Package":"m/bad","Test":"TestB","Output":"    b_test.go:7: not so\n"}`,
		`{"Action":"fail","Package":"m/bad","Test":"TestB"}`,
		`{"Action":"run","Package":"m/bad","Test":"TestC"}`,
		`{"Action":"output","Package":"m/bad","Test":"TestC","Output":"panic: at once\n"}`,
		`{"Action":"fail","Package":"m/bad","Elapsed":2}`,
		`{"ImportPath":"m/broken","Action":"build-output","Output":"b.go:1:1: syntax error\n"}`,
		`what is no event`,
	}, "\n"))), &out, nil)
	assert.Equal(t, "ok  \tm/good\t0.1s\n    b_test.go:7: not so\npanic: at once\nFAIL\tm/bad\t2.0s\nb.go:1:1: syntax error\nwhat is no event\nslow\tgood TestA\t12s\n1 packages failed: m/bad\n", out.String())
}

func TestWhatRunsLongSaysWhatItIsAt(t *testing.T) {
	var out strings.Builder
	f := &follower{out: &out, packages: map[string]*running{}}
	for _, line := range []string{
		`{"Action":"run","Package":"m/slow","Test":"TestA"}`,
		`{"Action":"run","Package":"m/slow","Test":"TestB"}`,
		`{"Action":"pause","Package":"m/slow","Test":"TestB"}`,
	} {
		f.read(line)
	}
	f.sayRunning(time.Now())
	assert.Empty(t, out.String(), "it has just begun")
	f.sayRunning(time.Now().Add(2 * time.Minute))
	assert.Equal(t, "...\tm/slow\t2m0s: TestA for 2m0s\n", out.String())
}

// linesOf are the lines of what can be read to its end.
func linesOf(t *testing.T, in io.Reader) <-chan string {
	t.Helper()
	lines := make(chan string, 100)
	require.NoError(t, read(in, lines))
	close(lines)
	return lines
}

func TestACommandIsAsGoodAsItsExitCodeAndItsPipe(t *testing.T) {
	lines := make(chan string, 100)
	for name, situation := range map[string]struct {
		command string
		code    int
	}{
		"it ends well":     {"echo a line", 0},
		"its tests fail":   {"echo a line; exit 2", 2},
		"a signal ends it": {"echo a line; kill -9 $$", 1},
		"what it prints is one line, and too long": {"head -c 20000000 /dev/zero", 128 + 13},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, situation.code, run([]string{"sh", "-c", situation.command}, lines))
		})
	}
	assert.Equal(t, 1, run([]string{"no-such-command-anywhere"}, lines), "it is not there")
	assert.Len(t, lines, 3)
	in, _ := io.Pipe()
	_ = in.Close()
	assert.Error(t, read(in, lines), "a pipe that breaks is an error")
}

func TestCommandsStandBetweenTwoDashes(t *testing.T) {
	for words, commands := range map[string][][]string{
		"":                            nil,
		"--":                          nil,
		"go test -race a":             {{"go", "test", "-race", "a"}},
		"go test a -- go test -p 2 b": {{"go", "test", "a"}, {"go", "test", "-p", "2", "b"}},
		"-- go --":                    {{"go"}},
	} {
		assert.Equal(t, commands, split(strings.Fields(words)), words)
	}
}
