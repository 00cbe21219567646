// Package httpserve runs an HTTP server for as long as its owner lives.
package httpserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers on the listener until ctx ends, lets what is under way end within
// grace, cuts off the rest and closes. An error says what was being served.
func Serve(ctx context.Context, server *http.Server, listener net.Listener, what string, grace time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s on %s: %w", what, listener.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(stop)
	if err != nil {
		_ = server.Close()
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("stop serving %s: %w", what, err)
	}
	return nil
}
