package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// ReadCommit gives the folder dir as it was at a revision of the repository that
// dir is in: a branch, a tag, a commit, HEAD~2 and what else gitrevisions(7)
// says and go-git knows. Nothing is fetched and nothing is changed; a shallow
// repository will do as long as it has that one commit. The snapshot's Source is
// the folder's absolute path.
func ReadCommit(ctx context.Context, dir, revision string, limits tree.Limits) (sources.Snapshot, error) {
	doing := fmt.Sprintf("reading %s at revision %s", dir, revision)
	fail := func(err error) (sources.Snapshot, error) {
		return sources.Snapshot{}, classify(ctx, doing, err, Login{})
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fail(err)
	}
	// A link on the way would make the path inside of the repository a wrong one.
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return fail(pathless(err))
	}
	repo, err := openLocal(abs, true)
	if err != nil {
		return fail(err)
	}
	inside := "."
	if work, err := repo.Worktree(); err == nil {
		root, err := filepath.EvalSymlinks(work.Filesystem.Root())
		if err != nil {
			return fail(pathless(err))
		}
		if inside, err = filepath.Rel(root, abs); err != nil {
			return fail(err)
		}
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(revision))
	if err != nil {
		return sources.Snapshot{}, &sources.Error{Reason: sources.ReferenceNotFound, Doing: doing,
			Err:    fmt.Errorf("the repository has no such revision: %w", err),
			Advice: "name a branch, a tag or a commit that is there; in a shallow clone fetch it first (git fetch origin " + revision + ")"}
	}
	o := &objects{storage: repo.Storer}
	commit, err := commitOf(repo.Storer, *hash)
	if err != nil {
		return fail(err)
	}
	files, err := o.tree(ctx, commit, limits, filepath.ToSlash(inside))
	if err != nil {
		if errors.Is(err, errIncomplete) {
			return sources.Snapshot{}, &sources.Error{Reason: sources.Incomplete, Doing: doing, Err: err,
				Advice: "run git fsck; a partial clone needs git fetch --refetch"}
		}
		return fail(err)
	}
	label := revision + "@"
	if fullCommit.MatchString(revision) || shortCommit.MatchString(revision) {
		label = ""
	}
	return sources.Snapshot{Source: abs, Revision: label + "sha1:" + commit.Hash.String(), Files: files, Tree: files.Whole(), Dir: files.At()}, nil
}
