package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"

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
	if errors.Is(err, transport.ErrRepositoryNotFound) {
		return sources.Snapshot{}, &sources.Error{Reason: sources.RepositoryNotFound, Doing: doing,
			Err: errors.New("there is no Git repository around it"), Advice: "name a folder of a clone"}
	}
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
	hash, err := resolve(repo, revision)
	if err != nil {
		return sources.Snapshot{}, noRevision(repo, doing, err)
	}
	o := &objects{storage: repo.Storer}
	if repo.Storer.HasEncodedObject(*hash) != nil {
		return sources.Snapshot{}, noRevision(repo, doing, plumbing.ErrObjectNotFound)
	}
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

// resolve takes the name of a reference as it stands first: go-git reads an "@" in
// one as the beginning of something else.
func resolve(repo *gogit.Repository, revision string) (*plumbing.Hash, error) {
	for _, rule := range plumbing.RefRevParseRules {
		name := plumbing.ReferenceName(fmt.Sprintf(rule, revision))
		if name.Validate() != nil {
			continue
		}
		if ref, err := storer.ResolveReference(repo.Storer, name); err == nil {
			hash := ref.Hash()
			return &hash, nil
		}
	}
	return repo.ResolveRevision(plumbing.Revision(revision))
}

// noRevision says what to do about a revision that is not there: a clone of CI
// has the last commit alone, if it is not told otherwise.
func noRevision(repo *gogit.Repository, doing string, err error) error {
	e := &sources.Error{Reason: sources.ReferenceNotFound, Doing: doing,
		Err:    fmt.Errorf("the repository has no such revision: %w", err),
		Advice: "name a branch, a tag or a commit that is there (git branch -a, git tag); a branch of the remote is origin/NAME, and has to be fetched",
	}
	if shallow, failed := repo.Storer.Shallow(); failed == nil && len(shallow) > 0 {
		e.Err = fmt.Errorf("the repository has no such revision, and is a shallow clone, without the older commits: %w", err)
		e.Advice = "have CI clone more of the history: fetch-depth: 2 for HEAD^1 and 0 for all of it (actions/checkout), GIT_DEPTH: \"0\" (GitLab); or git fetch --unshallow"
	}
	return e
}

// Repositories are the names that a source may have for the clone that dir is in:
// the URLs of its remotes and the clone's own path, each without scheme, user and
// .git, which two people write in two ways; and dir's place in it. None where dir is
// in no clone.
func Repositories(dir string) (names []string, inside string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, ""
	}
	repo, err := openLocal(abs, true)
	if err != nil {
		return nil, ""
	}
	work, err := repo.Worktree()
	if err != nil {
		return nil, ""
	}
	root := work.Filesystem.Root()
	if inside, err = filepath.Rel(root, abs); err != nil {
		return nil, ""
	}
	names = []string{Bare("file://" + filepath.ToSlash(root))}
	if remotes, err := repo.Remotes(); err == nil {
		for _, remote := range remotes {
			for _, url := range remote.Config().URLs {
				names = append(names, Bare(url))
			}
		}
	}
	return names, filepath.ToSlash(inside)
}

// Bare is a URL without scheme, user and .git.
func Bare(url string) string {
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		// As scp has it: user@host:path.
		if host, path, ok := strings.Cut(url, ":"); ok && !strings.Contains(host, "/") {
			scheme, rest = "ssh", host+"/"+strings.TrimLeft(path, "/")
		} else {
			scheme, rest = "file", url
		}
	}
	if host, path, ok := strings.Cut(rest, "/"); ok && scheme != "file" {
		rest = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:]) + "/" + path
	}
	return strings.TrimSuffix(strings.TrimRight(rest, "/"), ".git")
}
