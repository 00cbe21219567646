//go:build linux

package realnodes

import (
	"fmt"
	"net/netip"
)

// All addresses are within the world's own network, which is joined to no other.
const (
	bridge       = "br0"
	serviceRange = "10.96.0.0/16"
	podRange     = "10.244.0.0/16"
	nodeBits     = 16
)

var (
	// planeAddress is the control plane's, and the world's own.
	planeAddress = netip.MustParseAddr("10.90.0.1")
	// kubernetesAddress is the API server's for pods.
	kubernetesAddress = netip.MustParseAddr("10.96.0.1")
)

func nodeAddress(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 90, 1, byte(number)})
}

func podNetwork(number int) string { return fmt.Sprintf("10.244.%d.0/24", number) }

func cable(number int) string { return fmt.Sprintf("node%d", number) }

func makeBridge() error {
	for _, command := range [][]string{
		{"link", "add", bridge, "type", "bridge"},
		{"addr", "add", fmt.Sprintf("%s/%d", planeAddress, nodeBits), "dev", bridge},
		{"link", "set", bridge, "up"},
	} {
		if err := run("ip", command...); err != nil {
			return err
		}
	}
	return nil
}

// plug joins the network of a node's first process to the bridge, and tells each
// side the way to the other's pods.
func plug(number, nodes, pid int) error {
	address := nodeAddress(number)
	commands := [][]string{
		// The same hardware address after a power cut: the others remember it.
		{"link", "add", cable(number), "type", "veth", "peer", "name", "eth0",
			"address", fmt.Sprintf("02:00:0a:5a:01:%02x", number), "netns", fmt.Sprint(pid)},
		{"link", "set", cable(number), "master", bridge},
		{"link", "set", cable(number), "up"},
		{"route", "replace", podNetwork(number), "via", address.String()},
	}
	for _, command := range commands {
		if err := run("ip", command...); err != nil {
			return err
		}
	}
	inside := [][]string{
		{"addr", "add", fmt.Sprintf("%s/%d", address, nodeBits), "dev", "eth0"},
		{"link", "set", "eth0", "up"},
		{"route", "add", "default", "via", planeAddress.String()},
	}
	for other := 1; other <= nodes; other++ {
		if other != number {
			inside = append(inside, []string{"route", "replace", podNetwork(other), "via", nodeAddress(other).String()})
		}
	}
	for _, command := range inside {
		in := insideOf(pid, append([]string{"ip"}, command...)...)
		if err := run(in[0], in[1:]...); err != nil {
			return err
		}
	}
	return nil
}
