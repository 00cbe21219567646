//go:build linux

package realnodes

import (
	"context"
	"io"
	"net"
	"sync"
)

// forward hands each connection that a listener takes on to an address, until ctx
// ends; it then closes all of them and returns.
func forward(ctx context.Context, listener net.Listener, network, address string) {
	var open sync.WaitGroup
	defer open.Wait()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		open.Go(func() {
			defer client.Close()
			server, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return
			}
			defer server.Close()
			stop := context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })
			defer stop()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(server, client)
				_ = server.Close()
			}()
			_, _ = io.Copy(client, server)
			_ = client.Close()
			<-done
		})
	}
}
