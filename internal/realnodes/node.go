//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/sandbox/process"
)

const (
	// diskSize is a node's disk; its file takes no more than what is written.
	diskSize = 24 << 30
	// kubeletPause is between an end of a kubelet and its next start.
	kubeletPause = 3 * time.Second
	// containerdWithin is how long containerd may take to answer.
	containerdWithin = time.Minute
)

// Node is one machine of the cluster. Its methods may not be called beside each
// other.
type Node struct {
	// Name is also that of the Node object.
	Name    string
	Zone    string
	Address netip.Addr

	cluster *Cluster
	number  int
	dir     string

	mu         sync.Mutex // of init
	init       *process.Process
	containerd *service
	kubelet    *service
	proxy      *service
}

func newNode(c *Cluster, number int) *Node {
	return &Node{
		Name: fmt.Sprintf("node-%d", number), Zone: string(rune('a' + (number-1)%3)), Address: nodeAddress(number),
		cluster: c, number: number, dir: filepath.Join(c.dir, "nodes", strconv.Itoa(number)),
	}
}

// prepare makes its disk, its certificate and its files.
func (n *Node) prepare() error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", n.Name, err)
	}
	disk, err := os.Create(filepath.Join(n.dir, diskImage))
	if err == nil {
		err = errors.Join(disk.Truncate(diskSize), disk.Close())
	}
	if err != nil {
		return fmt.Errorf("making the disk of %s: %w", n.Name, err)
	}
	if err := run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1", "-m", "0", disk.Name()); err != nil {
		return err
	}
	return n.writeFiles()
}

// PowerOn starts the machine, with its disk as it was left, and returns when its
// containerd and its kubelet run.
func (n *Node) PowerOn(ctx context.Context) error {
	if n.pid() != 0 {
		return fmt.Errorf("switching %s on: it is on", n.Name)
	}
	if err := disksFree(n.dir); err != nil {
		return fmt.Errorf("switching %s on: %w", n.Name, err)
	}
	if err := n.begin(); err != nil {
		return fmt.Errorf("switching %s on: %w", n.Name, err)
	}
	pid := n.pid()
	if err := plug(n.number, len(n.cluster.Nodes), pid); err != nil {
		return fmt.Errorf("joining %s to the network: %w", n.Name, err)
	}
	n.containerd = n.service(pid, "containerd", "containerd", "--config", n.file("containerd.toml"))
	if err := n.containerd.start(); err != nil {
		return err
	}
	if err := n.awaitContainerd(ctx, pid); err != nil {
		return err
	}
	if err := n.importImages(ctx, pid); err != nil {
		return err
	}
	n.proxy = n.service(pid, "kube-proxy", n.cluster.o.NodeBinary, "kube-proxy", "--kubeconfig="+n.cluster.file("kube-proxy.kubeconfig"),
		"--hostname-override="+n.Name, "--proxy-mode=iptables", "--cluster-cidr="+podRange, "--conntrack-max-per-core=0")
	if err := n.proxy.start(); err != nil {
		return err
	}
	n.kubelet = n.service(pid, "kubelet", n.cluster.o.NodeBinary, "kubelet", "--config="+n.file("kubelet.yaml"),
		"--kubeconfig="+n.file("kubeconfig"), "--root-dir=/var/lib/kubelet", "--hostname-override="+n.Name,
		"--node-ip="+n.Address.String(), "--node-labels=topology.kubernetes.io/zone="+n.Zone, "--v=2")
	return n.kubelet.start()
}

// begin starts the machine's first process and waits until its namespaces are made.
func (n *Node) begin() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer reader.Close()
	command := exec.Command(self)
	command.Env = append(os.Environ(), roleVariable+"="+roleNode, nodeDirVariable+"="+n.dir, nodeNameVariable+"="+n.Name)
	command.ExtraFiles = []*os.File{writer}
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: worldNamespaces}
	first, err := n.cluster.starter.Start(command, nil)
	_ = writer.Close()
	if err != nil {
		return err
	}
	said, err := io.ReadAll(reader)
	if err == nil && len(said) > 0 {
		err = errors.New(string(said))
	}
	if err != nil {
		first.Stop(0)
		return fmt.Errorf("making its namespaces: %w", err)
	}
	n.mu.Lock()
	n.init = first
	n.mu.Unlock()
	return nil
}

// pid is that of its first process; 0 while it is off.
func (n *Node) pid() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.init == nil {
		return 0
	}
	return n.init.ID()
}

// service is one of the machine's own, which init keeps running.
func (n *Node) service(pid int, name string, command ...string) *service {
	return &service{
		name: name + " of " + n.Name, log: n.file(name + ".log"), starter: n.cluster.starter, dir: n.dir,
		command: insideOf(pid, command...), again: kubeletPause, ended: n.cluster.finish,
	}
}

// inside makes a command that runs on the machine.
func (n *Node) inside(ctx context.Context, pid int, command ...string) *exec.Cmd {
	all := insideOf(pid, command...)
	return exec.CommandContext(ctx, all[0], all[1:]...)
}

func (n *Node) awaitContainerd(ctx context.Context, pid int) error {
	err := within(containerdWithin, func() error {
		if ctx.Err() != nil {
			return nil
		}
		out, err := n.inside(ctx, pid, "ctr", "version").CombinedOutput()
		if err != nil {
			return fmt.Errorf("asking containerd of %s: %w: %s", n.Name, err, out)
		}
		return nil
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w; its last words:\n%s", err, n.containerd.lastWords(5, func(string) bool { return true }))
	}
	return nil
}

// importImages brings the images that its containerd does not have.
func (n *Node) importImages(ctx context.Context, pid int) error {
	archives, err := filepath.Glob(filepath.Join(n.cluster.o.Images, "*.tar"))
	if err != nil || len(archives) == 0 {
		return fmt.Errorf("looking for images in %s: there are none (%v)", n.cluster.o.Images, err)
	}
	for _, archive := range archives {
		mark := filepath.Join(n.root(pid), "var/lib/containerd", "imported-"+filepath.Base(archive))
		if _, err := os.Stat(mark); err == nil {
			continue
		}
		out, err := n.inside(ctx, pid, "ctr", "-n", "k8s.io", "images", "import", archive).CombinedOutput()
		if err != nil {
			return fmt.Errorf("importing %s on %s: %w: %s", archive, n.Name, err, strings.TrimSpace(string(out)))
		}
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			return fmt.Errorf("importing %s on %s: %w", archive, n.Name, err)
		}
	}
	return nil
}

// root is the machine's root folder as it is seen from outside of it.
func (n *Node) root(pid int) string { return fmt.Sprintf("/proc/%d/root", pid) }

func (n *Node) file(name string) string { return filepath.Join(n.dir, name) }

// CutPower ends all that runs on the machine at once, pods and all; its disk stays
// as it is then. PowerOn is the cure.
func (n *Node) CutPower() {
	n.mu.Lock()
	first := n.init
	n.init = nil
	n.mu.Unlock()
	if first == nil {
		return
	}
	first.Signal(syscall.SIGKILL)
	for _, s := range []*service{n.kubelet, n.proxy, n.containerd} {
		if s != nil {
			s.end(0)
		}
	}
	<-first.Done()
}

// CutNetwork pulls the machine's cable: all on it runs on, and reaches nobody.
func (n *Node) CutNetwork() error { return run("ip", "link", "set", cable(n.number), "down") }

// JoinNetwork puts the cable back.
func (n *Node) JoinNetwork() error { return run("ip", "link", "set", cable(n.number), "up") }

// KillKubelet kills the kubelet as kill -9 does; it is started again after
// seconds. Its pods run on meanwhile.
func (n *Node) KillKubelet() { n.kubelet.kill() }

// StopKubelet ends the kubelet until StartKubelet; its pods run on.
func (n *Node) StopKubelet() { n.kubelet.end(0) }

// StartKubelet starts the kubelet that StopKubelet has ended.
func (n *Node) StartKubelet() error { return n.kubelet.start() }

// ballast is the file that fills a disk.
const ballast = "ballast"

// FillDisk takes room on the machine's disk, until so many bytes are left.
func (n *Node) FillDisk(left int64) error {
	pid := n.pid()
	if pid == 0 {
		return fmt.Errorf("filling the disk of %s: it is off", n.Name)
	}
	at := filepath.Join(n.root(pid), volumesDir)
	var has syscall.Statfs_t
	if err := syscall.Statfs(at, &has); err != nil {
		return fmt.Errorf("filling the disk of %s: %w", n.Name, err)
	}
	file, err := os.OpenFile(filepath.Join(at, ballast), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("filling the disk of %s: %w", n.Name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("filling the disk of %s: %w", n.Name, err)
	}
	take := int64(has.Bavail)*has.Bsize - left
	if take <= 0 {
		return nil
	}
	if err := syscall.Fallocate(int(file.Fd()), 0, info.Size(), take); err != nil {
		return fmt.Errorf("filling the disk of %s: %w", n.Name, err)
	}
	return nil
}

// EmptyDisk gives back what FillDisk took.
func (n *Node) EmptyDisk() error {
	pid := n.pid()
	if pid == 0 {
		return fmt.Errorf("emptying the disk of %s: it is off", n.Name)
	}
	return os.RemoveAll(filepath.Join(n.root(pid), volumesDir, ballast))
}
