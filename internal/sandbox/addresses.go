package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
)

// firstNodeAddress is the last number of the first node's address.
const firstNodeAddress = 10

// maxNodes keeps the nodes' addresses inside 127.x.0.0/24.
const maxNodes = 240

// addressBlock is one /16 of the loopback network that belongs to this sandbox
// alone.
type addressBlock struct {
	second byte
	claim  net.Listener

	mu   sync.Mutex
	next uint16          // the last two numbers of the address given out last
	used map[uint16]bool // of pods that run
}

// claimAddressBlock claims a free /16. An abstract Unix socket is the claim: it
// belongs to the same network namespace as the addresses, leaves no file, and
// is gone when the process is, however it ends.
func claimAddressBlock() (*addressBlock, error) {
	// Sandboxes that start at once begin to look at different places, and a
	// block that was just released rests before it is used again.
	start := os.Getpid()
	for i := range 253 {
		second := byte(1 + (start+i)%253)
		claim, err := net.Listen("unix", fmt.Sprintf("@stevedore-sandbox-127.%d", second))
		if err == nil {
			return &addressBlock{second: second, claim: claim, used: map[uint16]bool{}}, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("claiming loopback addresses: %w", err)
		}
	}
	return nil, errors.New("claiming loopback addresses: 253 sandboxes run on this machine already, stop one")
}

func (b *addressBlock) release() { _ = b.claim.Close() }

func (b *addressBlock) address(third, fourth byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, b.second, third, fourth})
}

func (b *addressBlock) controlPlane() netip.Addr { return b.address(0, 1) }

func (b *addressBlock) node(i int) netip.Addr { return b.address(0, byte(firstNodeAddress+i)) }

// serviceRange is where cluster IPs come from. Nothing answers there.
func (b *addressBlock) serviceRange() string { return fmt.Sprintf("10.%d.0.0/16", b.second) }

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
		return b.address(byte(b.next>>8), last), nil
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
