package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// fetch is what one look needs from the remote.
type fetch struct {
	conn         *connection
	has          advertised
	capabilities *capability.List
	want         choice
	commit       *object.Commit
}

// update brings the wanted commit into the mirror and gives its tree.
func (s *Source) update(ctx context.Context, get *fetch) (*objects, *tree.FS, error) {
	if s.mirror.generation != "" && s.mirror.packs() < maxPacks {
		files, fsys, err := s.bring(ctx, get, s.mirror.generation)
		if err == nil || !worthCloning(ctx, get.conn, err) {
			return files, fsys, err
		}
		s.opts.Log.Warn("the mirror is damaged or does not fit the remote any more, cloning anew",
			"source", s.remote.identity, "error", clean(err.Error(), Login{}))
	}
	generation, err := s.mirror.newGeneration()
	if err != nil {
		return nil, nil, err
	}
	files, fsys, err := s.bring(ctx, get, generation)
	if err == nil {
		s.carryFollowed(generation)
		err = s.mirror.adopt(generation)
	}
	if err != nil {
		_ = os.RemoveAll(generation)
		return nil, nil, err
	}
	return files, fsys, nil
}

// carryFollowed keeps the commit that is followed readable in a new generation,
// though the remote may have forgotten it.
func (s *Source) carryFollowed(generation string) {
	before, known := s.mirror.followed(s.opts.Ref)
	if !known || s.mirror.generation == "" {
		return
	}
	commit, to := plumbing.NewHash(before.Commit), openStorage(generation)
	if to.HasEncodedObject(commit) == nil {
		return
	}
	if err := carry(openStorage(s.mirror.generation), to, commit); err != nil {
		s.opts.Log.Warn("the commit that was followed before cannot be kept in the new mirror", "source", s.remote.identity, "commit", before.Commit,
			"error", clean(err.Error(), Login{}))
	}
}

// worthCloning says whether a mirror may be what failed. The network, a server's
// refusal and a tree that is refused would fail the same with a new one.
func worthCloning(ctx context.Context, conn *connection, err error) bool {
	if ctx.Err() != nil || conn.broken() != nil || errors.Is(err, errRemote) || errors.Is(err, errTooLarge) {
		return false
	}
	if _, refused := errors.AsType[*sources.Error](err); refused {
		return false
	}
	return errors.Is(err, errIncomplete)
}

// errRemote marks what the remote answered, as opposed to what the mirror did.
var errRemote = errors.New("the remote refused")

// bring fetches into a generation what it lacks and reads the commit's tree.
func (s *Source) bring(ctx context.Context, get *fetch, generation string) (*objects, *tree.FS, error) {
	if err := s.mirror.verifyPacks(ctx, generation); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	if err := s.download(ctx, get, generation); err != nil {
		s.mirror.sweepUnfinished(generation)
		return nil, nil, err
	}
	if err := s.mirror.verifyPacks(ctx, generation); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	st := openStorage(generation)
	if err := get.resolve(st); err != nil {
		return nil, nil, err
	}
	files := &objects{storage: st, generation: generation}
	if s.files != nil && s.files.generation == generation && !s.files.damaged.Load() {
		files.before, files.sizes = s.files.folders, s.files.knownSizes()
	}
	commit, err := commitOf(st, get.want.hash)
	if err != nil {
		return nil, nil, err
	}
	get.commit = commit
	fsys, err := files.tree(ctx, commit, s.opts.Limits, s.opts.Path)
	if err != nil {
		return nil, nil, err
	}
	if err := remember(st, get.want); err != nil {
		return nil, nil, fmt.Errorf("keeping the fetched reference: %w", err)
	}
	return files, fsys, nil
}

// download fetches what is desired and not there. A commit may be behind any branch or tag, so it takes all of
// them, unless the server gives it by itself.
func (s *Source) download(ctx context.Context, get *fetch, generation string) error {
	st := openStorage(generation)
	lacks := func(hashes []plumbing.Hash) []plumbing.Hash {
		var out []plumbing.Hash
		for _, h := range hashes {
			if st.HasEncodedObject(h) != nil {
				out = append(out, h)
			}
		}
		return out
	}
	switch {
	case get.want.name != "":
		return s.transfer(ctx, get, st, lacks([]plumbing.Hash{get.want.hash}))
	case get.want.prefix != "":
		if len(get.want.matches(st)) > 0 {
			return nil
		}
		return s.transfer(ctx, get, st, lacks(get.has.tips()))
	}
	if len(lacks([]plumbing.Hash{get.want.hash})) == 0 {
		return nil
	}
	if err := s.transfer(ctx, get, st, lacks(get.has.tips())); err != nil {
		return err
	}
	st = openStorage(generation)
	if st.HasEncodedObject(get.want.hash) == nil {
		return nil
	}
	if get.capabilities.Supports(capability.AllowReachableSHA1InWant) || get.capabilities.Supports("allow-any-sha1-in-want") || get.conn.stream == nil {
		if err := s.transfer(ctx, get, st, []plumbing.Hash{get.want.hash}); err == nil || ctx.Err() != nil || get.conn.broken() != nil {
			return err
		}
	}
	return get.noCommit(get.want.hash.String())
}

func (f *fetch) noCommit(what string) error {
	return &sources.Error{Reason: sources.ReferenceNotFound, Doing: "choosing the commit " + what,
		Err:    errors.New("no branch or tag of the remote has a commit with this name"),
		Advice: "check it, and that a branch or a tag which contains it was pushed"}
}

// resolve finds the one commit that an abbreviation means.
func (f *fetch) resolve(st *filesystem.Storage) error {
	if f.want.prefix == "" || !f.want.hash.IsZero() {
		return nil
	}
	found := f.want.matches(st)
	switch len(found) {
	case 0:
		return f.noCommit(f.want.prefix)
	case 1:
		f.want.hash = found[0]
		return nil
	}
	return &sources.Error{Reason: sources.ReferenceNotFound, Doing: "choosing the commit " + f.want.prefix,
		Err: fmt.Errorf("%d commits begin like this", len(found)), Advice: "write more digits: " + found[0].String() + " or " + found[1].String()}
}

func (c choice) matches(st *filesystem.Storage) []plumbing.Hash {
	prefix, err := hex.DecodeString(c.prefix[:len(c.prefix)&^1])
	if err != nil {
		return nil
	}
	all, err := st.HashesWithPrefix(prefix)
	if err != nil {
		return nil
	}
	var out []plumbing.Hash
	for _, h := range all {
		if !strings.HasPrefix(h.String(), c.prefix) {
			continue
		}
		if o, err := st.EncodedObject(plumbing.CommitObject, h); err == nil && o.Type() == plumbing.CommitObject {
			out = append(out, h)
		}
	}
	plumbing.HashesSort(out)
	return out
}

// transfer asks for objects and writes the pack that comes into the storage.
func (s *Source) transfer(ctx context.Context, get *fetch, st *filesystem.Storage, wants []plumbing.Hash) error {
	if len(wants) == 0 {
		return nil
	}
	req := packp.NewUploadPackRequestFromCapabilities(get.capabilities)
	if get.capabilities.Supports(capability.NoProgress) {
		if err := req.Capabilities.Set(capability.NoProgress); err != nil {
			return err
		}
	}
	req.Wants = wants
	req.Haves = haves(ctx, st, get.has)
	res, err := get.conn.UploadPack(ctx, req)
	if errors.Is(err, transport.ErrEmptyUploadPackRequest) {
		return fmt.Errorf("%w: it sent nothing", errIncomplete)
	}
	if err != nil {
		return get.remoteError(err)
	}
	defer res.Close()
	var r io.Reader = res
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		r = sideband.NewDemuxer(sideband.Sideband64k, res)
	case req.Capabilities.Supports(capability.Sideband):
		r = sideband.NewDemuxer(sideband.Sideband, res)
	}
	if err := writePack(st, r, s.opts.MaxBytes); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return get.remoteError(err)
	}
	return nil
}

// writePack wraps the reader and not only the connection, so that the limit
// holds for every transport.
func writePack(st *filesystem.Storage, r io.Reader, limit int64) error {
	var broken error
	counted := &limited{r: r, left: limit, broke: func(err error) { broken = err }}
	head := make([]byte, 4)
	if _, err := io.ReadFull(counted, head); err != nil {
		return fmt.Errorf("reading the pack: %w", err)
	}
	if string(head) != "PACK" {
		return errors.New("what the server sent is no pack")
	}
	err := packfile.UpdateObjectStorage(st, io.MultiReader(bytes.NewReader(head), counted))
	if broken != nil {
		err = broken
	}
	if err != nil {
		return fmt.Errorf("reading the pack: %w", err)
	}
	return nil
}

func (f *fetch) remoteError(err error) error {
	if broken := f.conn.broken(); broken != nil {
		return fmt.Errorf("%w: %w", errRemote, broken)
	}
	return fmt.Errorf("%w: %w", errRemote, unwrapAll(err))
}
