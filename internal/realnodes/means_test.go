//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What a test may do to a node is done, and is undone.
func TestANodeLosesAndGetsBackItsDiskCableKubeletAndPower(t *testing.T) {
	if os.Getenv("STEVEDORE_REAL_NODES") == "" {
		t.Skip("it starts real nodes: `make truth` runs it")
	}
	code, said := runProgram(t, "means", "", func(*exec.Cmd) {})
	assert.Zero(t, code, said)
}

// means is the part of that test that is inside of the world.
func means(ctx context.Context, c *Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	node := c.Nodes[0]
	left := func() int64 {
		var has syscall.Statfs_t
		_ = syscall.Statfs(filepath.Join(node.root(node.pid()), volumesDir), &has)
		return int64(has.Bavail) * has.Bsize
	}
	before := left()
	if err := node.FillDisk(2 << 30); err != nil {
		return err
	}
	if now := left(); now < 2<<30-(64<<20) || now > 2<<30+(64<<20) {
		return fmt.Errorf("%d bytes are left of a disk that was filled to 2 GiB", now)
	}
	if err := node.EmptyDisk(); err != nil {
		return err
	}
	if now := left(); now < before-(64<<20) {
		return fmt.Errorf("%d bytes are left of a disk that was emptied, before it were %d", now, before)
	}

	kubelet := net.JoinHostPort(node.Address.String(), "10250")
	answers := func() error {
		conn, err := net.DialTimeout("tcp", kubelet, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	silent := func() error {
		if answers() == nil {
			return errors.New("the kubelet answers")
		}
		return nil
	}
	for _, step := range []struct {
		what string
		do   func() error
		then func() error
	}{
		{"nothing", func() error { return nil }, answers},
		{"its cable is cut", node.CutNetwork, silent},
		{"its cable is back", node.JoinNetwork, answers},
		{"its kubelet is stopped", func() error { node.StopKubelet(); return nil }, silent},
		{"its kubelet is started", node.StartKubelet, answers},
		{"its kubelet is killed", func() error { node.KillKubelet(); return nil }, answers},
		{"its power is cut", func() error { node.CutPower(); return nil }, silent},
		{"its power is back", func() error { return node.PowerOn(ctx) }, answers},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if err := within(time.Minute, step.then); err != nil {
			return fmt.Errorf("after %s: %w", step.what, err)
		}
	}
	return c.AwaitReady(ctx, node)
}
