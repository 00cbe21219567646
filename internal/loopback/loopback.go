// Package loopback gives processes addresses of the loopback network that no other process
// of this project has on the same machine: each sandbox and each test whose nodes are
// simulated listens on the ports that CrateDB has, so an address is all that tells them apart.
package loopback

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
)

// blocks are how many /16 can be claimed: 127.1 to 127.253.
const blocks = 253

// Block is one /16 of the loopback network that belongs to whoever claimed it.
type Block struct {
	// Second is the second number of the block's addresses: 127.Second.x.y.
	Second byte

	claim net.Listener
}

// Claim claims a free block. An abstract Unix socket is the claim: it belongs to the same
// network namespace as the addresses, leaves no file, and is gone when the process is,
// however it ends. It fails where all 253 blocks are taken.
func Claim() (*Block, error) {
	// Processes that start at once begin to look at different places, and a block that was
	// just released rests before it is used again.
	start := os.Getpid()
	for i := range blocks {
		second := byte(1 + (start+i)%blocks)
		claim, err := net.Listen("unix", fmt.Sprintf("@stevedore-sandbox-127.%d", second))
		if err == nil {
			return &Block{Second: second, claim: claim}, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("claiming loopback addresses: %w", err)
		}
	}
	return nil, fmt.Errorf("claiming loopback addresses: %d sandboxes and tests run on this machine already, stop one", blocks)
}

// Release gives the block back.
func (b *Block) Release() { _ = b.claim.Close() }

// Address is 127.Second.third.fourth.
func (b *Block) Address(third, fourth byte) netip.Addr {
	return netip.AddrFrom4([4]byte{127, b.Second, third, fourth})
}

var own struct {
	sync.Mutex
	block *Block
	third byte
}

// Subnet is how the addresses of a /24 begin that nobody else has, in this process and in
// others: "127.7.1.". It stays this process's until it ends.
func Subnet() (string, error) {
	own.Lock()
	defer own.Unlock()
	if own.block == nil || own.third == 254 {
		block, err := Claim()
		if err != nil {
			return "", err
		}
		own.block, own.third = block, 0
		held = append(held, block)
	}
	own.third++
	return fmt.Sprintf("127.%d.%d.", own.block.Second, own.third), nil
}

// held are the blocks of Subnet: a claim that nobody refers to is closed by the garbage
// collector, and another process would take the block.
var held []*Block
