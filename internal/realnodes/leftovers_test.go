//go:build linux

package realnodes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// programVariable makes this test's binary a program that uses the package; its
// value says how it ends.
const programVariable = "STEVEDORE_REAL_NODES_PROGRAM"

func TestMain(m *testing.M) {
	if how := os.Getenv(programVariable); how != "" {
		Isolate()
		os.Exit(program(how))
	}
	os.Exit(m.Run())
}

func program(how string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cluster, err := Start(ctx, Options{Nodes: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Println("ready")
	switch how {
	case "means":
		if err := means(ctx, cluster); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 6
		}
	case "fails":
		return 4
	case "panics":
		panic("the program has a bug")
	case "waits":
		<-ctx.Done()
	case "hangs":
		select {}
	}
	if err := cluster.Stop(context.Background()); err != nil {
		return 5
	}
	return 0
}

// However a run ends, the machine is as it was: no process, namespace, mount, disk,
// link, rule or control group more, and every sysctl as before.
func TestNothingOfARunStaysHoweverItEnds(t *testing.T) {
	if os.Getenv("STEVEDORE_REAL_NODES") == "" {
		t.Skip("it starts real nodes: `make truth` runs it")
	}
	nothing := func(*exec.Cmd) {}
	for _, c := range []struct {
		name, how string
		env       string
		code      int
		// ready is done once its node is.
		ready func(*exec.Cmd)
		// next: only the run after it puts the machine back.
		next bool
	}{
		{name: "it ends", how: "ends", code: 0, ready: nothing},
		{name: "it fails and cleans nothing up", how: "fails", code: 4, ready: nothing},
		{name: "it panics", how: "panics", code: 2, ready: nothing},
		{name: "it cannot start", how: "ends", env: "STEVEDORE_IMAGES=/nowhere", code: 3},
		{name: "Ctrl-C", how: "waits", code: 0, ready: func(c *exec.Cmd) { _ = c.Process.Signal(os.Interrupt) }},
		{name: "two of them, and it does not listen", how: "hangs", code: 137, ready: func(c *exec.Cmd) {
			_ = c.Process.Signal(os.Interrupt)
			<-time.After(time.Second)
			_ = c.Process.Signal(os.Interrupt)
		}},
		{name: "it is killed", how: "hangs", code: -1, next: true, ready: func(c *exec.Cmd) { _ = c.Process.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := tracesNow()
			require.NotEmpty(t, before["namespace"])
			code, said := runProgram(t, c.how, c.env, c.ready)
			assert.Equal(t, c.code, code, said)
			if c.next {
				assert.FileExists(t, stateDir+"/before.json", "nobody was there to put the machine back")
				code, said = runProgram(t, "ends", "", nothing)
				require.Zero(t, code, said)
			}
			assert.NoError(t, before.stays())
			assert.NoDirExists(t, stateDir)
		})
	}
}

// runProgram runs it until it ends, and gives its exit code, -1 after a kill, and
// what it said.
func runProgram(t *testing.T, how, env string, ready func(*exec.Cmd)) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(ctx, self)
	command.Env = append(os.Environ(), programVariable+"="+how)
	if env != "" {
		command.Env = append(command.Env, env)
	}
	// The program's own children hold them too: they are read until all have ended.
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	command.Stdout, command.Stderr = writer, writer
	require.NoError(t, command.Start())
	_ = writer.Close()
	said := ""
	lines := bufio.NewReader(reader)
	for {
		line, err := lines.ReadString('\n')
		said += line
		if line == "ready\n" {
			ready(command)
		}
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	_ = command.Wait()
	return command.ProcessState.ExitCode(), said
}
