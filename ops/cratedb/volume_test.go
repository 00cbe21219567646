package cratedb

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// listing answers one command.
type listing struct {
	command        []string
	stdout, stderr string
	exit           int
	err            error
}

func (l *listing) Exec(_ context.Context, _, _ string, command []string, _ io.Reader) (string, string, int, error) {
	l.command = command
	return l.stdout, l.stderr, l.exit, l.err
}

const (
	emptyVolume = "/data/data0/nodes:\n0\n\n/data/data0/nodes/0:\n_state\nindices\nnode.lock\n\n/data/data0/nodes/0/_state:\nnode-0.st\n\n/data/data0/nodes/0/indices:\n"
	// As a real 6.4.3 has it.
	oneShard = emptyVolume + "EayxmsNfQlmuHLeNf6vNxQ\n\n/data/data0/nodes/0/indices/EayxmsNfQlmuHLeNf6vNxQ:\n2\n_state\n\n/data/data0/nodes/0/indices/EayxmsNfQlmuHLeNf6vNxQ/2:\n_state\nindex\ntranslog\n\n" +
		"/data/data0/nodes/0/indices/EayxmsNfQlmuHLeNf6vNxQ/2/index:\n_0.cfe\n\n/data/data0/nodes/0/indices/EayxmsNfQlmuHLeNf6vNxQ/_state:\nstate-1.st\n"
)

func TestWhatAListingSaysOfAVolume(t *testing.T) {
	shard := []model.ShardFolder{{UUID: "EayxmsNfQlmuHLeNf6vNxQ", ID: 2, Path: "/data/data0/nodes/0/indices/EayxmsNfQlmuHLeNf6vNxQ/2"}}
	for _, c := range []struct {
		name    string
		listing listing
		paths   []string
		folders []model.ShardFolder
		words   string
	}{
		{"no shard", listing{stdout: emptyVolume}, []string{"/data/data0"}, nil, ""},
		{"one shard", listing{stdout: oneShard}, []string{"/data/data0"}, shard, ""},
		{"only the state of an index", listing{stdout: emptyVolume + "u\n\n/data/data0/nodes/0/indices/u:\n_state\n\n/data/data0/nodes/0/indices/u/_state:\n"}, []string{"/data/data0"}, nil, ""},
		{"a node that has never run there", listing{stdout: "/data/data0/nodes:\n"}, []string{"/data/data0"}, nil, "no node has ever run in /data/data0"},
		{"the second data path says nothing", listing{stdout: emptyVolume}, []string{"/data/data0", "/data/data1"}, nil, "no node has ever run in /data/data1"},
		{"nothing at all", listing{}, []string{"/data/data0"}, nil, "no node has ever run"},
		{"a folder went meanwhile", listing{stdout: emptyVolume, stderr: "ls: cannot open directory", exit: 2}, []string{"/data/data0"}, nil, "ls ended with 2"},
		{"there is no ls", listing{exit: 127, stderr: "not found"}, []string{"/data/data0"}, nil, "127"},
		{"exec is forbidden", listing{err: errors.New("forbidden")}, []string{"/data/data0"}, nil, "forbidden"},
		{"cut off: what was found is said", listing{stdout: oneShard, err: errors.New("more than 1 MiB")}, []string{"/data/data0"}, shard, "1 MiB"},
		{"the paths are not known", listing{stdout: emptyVolume}, nil, nil, "path.data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folders, err := Volume{Executor: &c.listing, Paths: func(string) []string { return c.paths }}.Folders(t.Context(), "p")
			assert.Equal(t, c.folders, folders)
			if c.words == "" {
				require.NoError(t, err)
				assert.Equal(t, []string{"ls", "-1R", "/data/data0/nodes"}, c.listing.command)
				return
			}
			require.ErrorContains(t, err, c.words)
		})
	}
}
