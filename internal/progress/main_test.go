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
	require.NoError(t, follow(strings.NewReader(strings.Join([]string{
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
	}, "\n")), &out, nil))
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
	in, _ := io.Pipe()
	_ = in.Close()
	assert.Error(t, follow(in, &out, nil), "a pipe that breaks is an error")
}
