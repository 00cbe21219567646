package main

import (
	"context"
	"time"
)

// stopContext is for what has to be done after the program was told to stop.
func stopContext(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}
