package main

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/klog/v2"
)

// logOfClient sends errors that the Kubernetes client says of itself to our own log;
// its elections and watches are told by whoever uses them. It writes through klog,
// which would otherwise write to standard error in a form of its own, and which has
// no warnings to pass on: they come as what --verbose shows.
func logOfClient(log *slog.Logger) {
	klog.SetSlogLogger(slog.New(errorsOnly{log.With("from", "kubernetes client").Handler()}))
}

// errorsOnly passes errors on, and the rest where debugging is on.
type errorsOnly struct{ slog.Handler }

func (f errorsOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return f.Handler.Enabled(ctx, level) && (level >= slog.LevelError || f.Handler.Enabled(ctx, slog.LevelDebug))
}

// Handle leaves out what the client says because we have stopped it.
func (f errorsOnly) Handle(ctx context.Context, record slog.Record) error {
	stopped := false
	record.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		stopped = a.Key == "err" && (errors.Is(err, context.Canceled) || a.Value.String() == context.Canceled.Error())
		return !stopped
	})
	if stopped && !f.Handler.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return f.Handler.Handle(ctx, record)
}

func (f errorsOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return errorsOnly{f.Handler.WithAttrs(attrs)}
}

func (f errorsOnly) WithGroup(name string) slog.Handler {
	return errorsOnly{f.Handler.WithGroup(name)}
}
