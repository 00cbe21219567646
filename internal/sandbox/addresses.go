package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"stevedore.dev/stevedore/internal/loopback"
)

// firstNodeAddress is the last number of the first node's address.
const firstNodeAddress = 10

// maxNodes keeps the nodes' addresses inside 127.x.0.0/24.
const maxNodes = 240

// addressBlock is the /16 of the loopback network that belongs to this sandbox alone.
type addressBlock struct {
	*loopback.Block

	mu   sync.Mutex
	next uint16          // the last two numbers of the address given out last
	used map[uint16]bool // of pods that run
}

func claimAddressBlock() (*addressBlock, error) {
	claimed, err := loopback.Claim()
	if err != nil {
		return nil, err
	}
	return &addressBlock{Block: claimed, used: map[uint16]bool{}}, nil
}

func (b *addressBlock) controlPlane() netip.Addr { return b.Address(0, 1) }

func (b *addressBlock) node(i int) netip.Addr { return b.Address(0, byte(firstNodeAddress+i)) }

// serviceRange is where cluster IPs come from. Nothing answers there.
func (b *addressBlock) serviceRange() string { return fmt.Sprintf("10.%d.0.0/16", b.Second) }

// takePod gives an address for a pod, the one that has been free for longest,
// so that a client's stale connection does not meet another pod.
func (b *addressBlock) takePod() (netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range 1 << 16 {
		b.next++
		if b.next < 1<<8 {
			b.next = 1<<8 + 1
		}
		last := byte(b.next)
		if last == 0 || last == 255 || b.used[b.next] {
			continue
		}
		b.used[b.next] = true
		return b.Address(byte(b.next>>8), last), nil
	}
	return netip.Addr{}, errors.New("no pod address is left in the sandbox")
}

func (b *addressBlock) releasePod(address netip.Addr) {
	bytes := address.As4()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.used, uint16(bytes[2])<<8|uint16(bytes[3]))
}

// freePorts finds n TCP ports of address that nothing listens on. Another
// process may take one before it is used: whoever uses them tries again.
func freePorts(address netip.Addr, n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
		if err != nil {
			return nil, fmt.Errorf("looking for a free port on %s: %w", address, err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
