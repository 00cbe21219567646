package testcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Private says that the way to the nodes counts as ours.
func (c *Cluster) Private() bool { return true }

// DialPod comes from an address that is no node's, as the daemon does.
func (c *Cluster) DialPod(ctx context.Context, pod string, port int) (net.Conn, error) {
	n := c.InPod(pod)
	if n == nil {
		return nil, fmt.Errorf("there is no pod %s", pod)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.prefix + "200")}}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(n.Address, strconv.Itoa(port)))
}

// InPod is the node in a pod; nil where there is none.
func (c *Cluster) InPod(pod string) *Node {
	for _, n := range c.Nodes {
		if n.Pod == pod {
			return n
		}
	}
	return nil
}

// Exec runs a command in a pod. crash is one of its own, which comes from the node's own
// address; every other command is this machine's, with /data/ as the node's volume.
func (c *Cluster) Exec(ctx context.Context, pod, container string, command []string, stdin io.Reader) (stdout, stderr string, exit int, err error) {
	n := c.InPod(pod)
	if n == nil || container != "crate" {
		return "", "", 0, fmt.Errorf("there is no container %s in pod %s", container, pod)
	}
	if !n.Running() {
		return "", "", 0, fmt.Errorf("the container %s in pod %s does not run", container, pod)
	}
	if command[0] == "crash" {
		return n.crash(stdin)
	}
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.ReplaceAll(a, "/data/", n.Folder()+string(filepath.Separator))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out, messages strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &messages
	err = cmd.Run()
	if _, failed := err.(*exec.ExitError); failed {
		err = nil
	}
	return strings.ReplaceAll(out.String(), n.Folder()+string(filepath.Separator), "/data/"), messages.String(), cmd.ProcessState.ExitCode(), err
}

// crash runs one statement and prints as `crash --format json` does.
func (n *Node) crash(stdin io.Reader) (stdout, stderr string, exit int, err error) {
	statement, err := io.ReadAll(stdin)
	if err != nil {
		return "", "", 0, err
	}
	a, err := n.post("", "", strings.TrimSuffix(strings.TrimSpace(string(statement)), ";"))
	if err != nil {
		return "", "CONNECT ERROR\n" + err.Error() + "\n", 1, nil
	}
	if a.Status != 200 {
		return "", "CONNECT OK\n" + a.Error.Message + "\n", 1, nil
	}
	printed := make([]map[string]any, len(a.Rows))
	for i, row := range a.Rows {
		printed[i] = map[string]any{}
		for j, name := range a.Cols {
			printed[i][name] = row[j]
		}
	}
	text, err := json.MarshalIndent(printed, "", "  ")
	return string(text) + "\n", "CONNECT OK\n", 0, err
}
