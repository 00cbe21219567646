package differential

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/cratehome"
)

// arguments are those of node i in both clusters.
func arguments(i int) []string {
	args := []string{
		"-Ccluster.name=differential", "-Cnode.name=" + nodeName(i), "-Ccluster.initial_master_nodes=n0",
		"-Cgateway.expected_data_nodes=" + strconv.Itoa(Nodes), "-Cgateway.recover_after_data_nodes=1",
		"-Cauth.host_based.enabled=true", "-Cauth.host_based.config.0.user=crate", "-Cauth.host_based.config.0.method=trust",
		"-Cauth.host_based.config.99.method=password",
		"-Cnode.master=" + strconv.FormatBool(i == 0), "-Cnode.data=true",
	}
	args = append(args, "-Cnode.attr.hall="+halls[i], "-Ccluster.routing.allocation.awareness.force.hall.values=x,y,z")
	if zones[i] != "" {
		args = append(args, "-Cnode.attr.zone="+zones[i])
	}
	return args
}

// listen is the words with which a node says that it serves.
var listen = regexp.MustCompile(`\] started`)

// real starts a CrateDB of a release below a folder, at addresses that begin with
// prefix ("127.0.35.").
func real(ctx context.Context, release, prefix, dir string, keep bool) (*cluster, error) {
	owner, err := cratehome.Unprivileged()
	if err != nil {
		return nil, err
	}
	c := newCluster("CrateDB", prefix)
	c.real = true
	c.repositories = filepath.Join(dir, "repositories")
	var seeds []string
	for i := range Nodes {
		seeds = append(seeds, c.address(i)+":4300")
	}
	var running [Nodes]*exec.Cmd // each node starts and ends in a goroutine of its own
	var done [Nodes]chan struct{}
	c.start = func(i int) error {
		if keep {
			if conn, err := net.DialTimeout("tcp", c.address(i)+":4200", time.Second); err == nil {
				return conn.Close() // it runs already
			}
		}
		folder := filepath.Join(dir, nodeName(i))
		for _, f := range []string{folder, c.repositories} {
			if err := os.MkdirAll(f, 0o755); err != nil {
				return err
			}
			if owner != nil {
				if err := os.Chown(f, int(owner.ID), int(owner.Group)); err != nil {
					return err
				}
			}
		}
		args := append(arguments(i), "-Cnetwork.host="+c.address(i), "-Chttp.port=4200", "-Ctransport.tcp.port=4300", "-Cpsql.port=5432",
			// CrateDB means 127.0.0.1 by _local_, from where everybody on this machine comes.
			"-Cauth.host_based.config.0.address="+prefix+"0/24",
			"-Cdiscovery.seed_hosts="+strings.Join(seeds, ","), "-Cpath.data="+filepath.Join(folder, "data"),
			"-Cpath.logs="+filepath.Join(folder, "logs"), "-Cpath.repo="+c.repositories)
		output, err := os.OpenFile(filepath.Join(folder, "out"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		java := filepath.Join(release, "jdk")
		if _, err := os.Stat(java); err != nil {
			java = os.Getenv("JAVA_HOME")
		}
		heap := "256m"
		if i == 0 {
			heap = "384m"
		}
		cmd := exec.Command(filepath.Join(release, "bin", "crate"), args...)
		cmd.Dir = folder
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "JAVA_HOME=" + java, "HOME=" + folder, "CRATE_HEAP_SIZE=" + heap, "CRATE_DISABLE_GC_LOGGING=1",
			"CRATE_JAVA_OPTS=-XX:TieredStopAtLevel=1 -XX:ParallelGCThreads=1 -XX:ConcGCThreads=1 -Djava.io.tmpdir=" + folder}
		cmd.Stdout, cmd.Stderr = output, output
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if owner != nil {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.ID, Gid: owner.Group}
		}
		if !keep {
			cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		}
		if err := cmd.Start(); err != nil {
			_ = output.Close()
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); _ = output.Close(); close(ended) }()
		running[i], done[i] = cmd, ended
		for end := time.Now().Add(90 * time.Second); ; {
			b, _ := os.ReadFile(filepath.Join(folder, "out"))
			if listen.Match(b) {
				return nil
			}
			select {
			case <-ended:
				return fmt.Errorf("CrateDB's node %s ended at its start: %s", nodeName(i), last(b, 2000))
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
			if time.Now().After(end) {
				return fmt.Errorf("CrateDB's node %s does not serve after 90 s: %s", nodeName(i), last(b, 2000))
			}
		}
	}
	c.end = func(i int, kill bool) error {
		signal := syscall.SIGTERM
		if kill {
			signal = syscall.SIGKILL
		}
		cmd := running[i]
		if cmd == nil {
			return endOther(filepath.Join(dir, nodeName(i), "pid"), signal)
		}
		_ = syscall.Kill(-cmd.Process.Pid, signal)
		select {
		case <-done[i]:
		case <-time.After(30 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done[i]
		}
		running[i] = nil
		return nil
	}
	c.close = func() {
		c.disconnect()
		if keep {
			return
		}
		for i := range Nodes {
			_ = c.end(i, true)
		}
	}
	return c, nil
}

// endOther ends a node that a run before has left running.
func endOther(pidfile string, signal syscall.Signal) error {
	b, err := os.ReadFile(pidfile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	if err := syscall.Kill(-pid, signal); err != nil {
		return nil
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(-pid, 0) != nil {
			return os.RemoveAll(pidfile)
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}

func last(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return string(b)
}
