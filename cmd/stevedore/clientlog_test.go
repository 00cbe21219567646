package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
)

func TestWhatTheKubernetesClientSaysIsInOurLogAsFarAsItIsAnError(t *testing.T) {
	t.Cleanup(func() { logOfClient(slog.New(slog.NewTextHandler(io.Discard, nil))) })
	for _, c := range []struct {
		name  string
		level slog.Level
		info  bool
	}{{"usually", slog.LevelInfo, false}, {"verbose", slog.LevelDebug, true}} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			logOfClient(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: c.level})))
			klog.Background().Info("Attempting to acquire leader lease...")
			klog.ErrorS(nil, "the watch ended")
			assert.Equal(t, c.info, bytes.Contains(out.Bytes(), []byte("leader lease")), out.String())
			assert.Contains(t, out.String(), `level=ERROR msg="the watch ended"`)
			klog.ErrorS(fmt.Errorf("reading: %w", context.Canceled), "Error retrieving lease lock")
			assert.Equal(t, c.info, bytes.Contains(out.Bytes(), []byte("lease lock")), "we have stopped it: %s", out.String())
			klog.ErrorS(context.DeadlineExceeded, "Error retrieving lease lock")
			assert.Contains(t, out.String(), "lease lock")
			assert.Contains(t, out.String(), `from="kubernetes client"`)
		})
	}
}
