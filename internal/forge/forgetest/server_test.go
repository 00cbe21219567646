package forgetest_test

import (
	"context"
	"net"
	"net/http"
	"sync"
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
	end := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(end) // before the server's own, which waits for its requests
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
	case <-time.After(10 * time.Minute):
		t.Fatal("the request does not arrive")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, server.Quiet(short), context.DeadlineExceeded)
	end()
	long, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	assert.NoError(t, server.Quiet(long))
}
