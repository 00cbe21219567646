package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/server"
	"github.com/go-git/go-git/v5/storage"
)

// localSession serves a repository of this machine inside of the process: git
// itself would read that repository's configuration, which can name commands.
type localSession struct {
	transport.UploadPackSession
	storage storage.Storer
}

func openLocalSession(dir string) (*localSession, error) {
	repo, err := openLocal(dir, false)
	if err != nil {
		return nil, err
	}
	if shallow, err := repo.Storer.Shallow(); err == nil && len(shallow) > 0 {
		return nil, errShallow
	}
	endpoint := &transport.Endpoint{Protocol: "file", Path: dir}
	session, err := server.NewClient(server.MapLoader{endpoint.String(): repo.Storer}).NewUploadPackSession(endpoint, nil)
	if err != nil {
		return nil, err
	}
	return &localSession{session, repo.Storer}, nil
}

// UploadPack sends whole objects. go-git's own looks for deltas, which took 2 s
// and a gigabyte of allocations for 5,000 files that never leave the machine. It
// also fails at what the client has and this repository does not.
func (l *localSession) UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	var common []plumbing.Hash
	for _, h := range req.Haves {
		if l.storage.HasEncodedObject(h) == nil {
			common = append(common, h)
		}
	}
	hashes, err := revlist.Objects(l.storage, req.Wants, common)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := packfile.NewEncoder(w, l.storage, false).Encode(hashes, 0)
		w.CloseWithError(err)
	}()
	return packp.NewUploadPackResponseWithPackfile(req, &owned{PipeReader: r, ended: ended}), nil
}

// owned waits at its end for the goroutine that writes.
type owned struct {
	*io.PipeReader
	ended chan struct{}
}

func (o *owned) Close() error {
	err := o.PipeReader.Close()
	<-o.ended
	return err
}

var errShallow = errors.New("the repository is shallow: a part of its history is missing")

func openLocal(dir string, anyFolderOfIt bool) (*gogit.Repository, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrRepositoryNotFound, pathless(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is not a folder", transport.ErrRepositoryNotFound, filepath.Base(dir))
	}
	repo, err := gogit.PlainOpenWithOptions(dir, &gogit.PlainOpenOptions{DetectDotGit: anyFolderOfIt, EnableDotGitCommonDir: true})
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		return nil, fmt.Errorf("%w: no Git repository in %s", transport.ErrRepositoryNotFound, dir)
	}
	return repo, err
}
