package cratesim

import (
	"context"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

type sessionKey struct{}

type httpSession struct {
	hub    *conn
	client model.Client
}

func withSession(ctx context.Context, hub *conn, c model.Client) context.Context {
	return context.WithValue(ctx, sessionKey{}, httpSession{hub, c})
}

func sessionOf(ctx context.Context) (*conn, model.Client) {
	s, _ := ctx.Value(sessionKey{}).(httpSession)
	return s.hub, s.client
}
