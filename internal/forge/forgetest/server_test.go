package forgetest_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
)

func TestAServerIsNotQuietWhileARequestOfAClientThatHasEndedIsUnderWay(t *testing.T) {
	server := forgetest.New(forge.GitHub, "team/clusters", nil)
	t.Cleanup(server.Close)
	arrived, goOn := make(chan struct{}), make(chan struct{})
	server.Answering(func(*http.Request, int) *forgetest.Answer {
		close(arrived)
		<-goOn
		return nil
	})
	client, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	_, err = client.Write([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"))
	require.NoError(t, err)
	require.NoError(t, client.Close())
	select {
	case <-arrived:
	case <-time.After(time.Minute):
		t.Fatal("the request does not arrive")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, server.Quiet(short), "1 connections are still open")
	close(goOn)
	long, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	assert.NoError(t, server.Quiet(long))
}
