package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
	"stevedore.dev/stevedore/sources/tree"
)

// basis finds what --against names: a folder where it is written as a path, else
// a revision. A name that could be both is the revision: a folder of that name
// may be part of the pull request that is looked at, and would hide what it does.
func (o *offlinePlans) basis(ctx context.Context, path string) (files fs.FS, root, dir string, err error) {
	if err := folderAt(path); err != nil {
		return nil, "", "", err
	}
	if writtenAsPath(o.against) {
		return readTree(ctx, o.against, o.rootFor(o.against), false)
	}
	snapshot, err := git.ReadCommit(ctx, path, o.against, tree.Limits{})
	if err == nil {
		o.within = snapshot.Dir
		return snapshot.Tree, o.against + ":", snapshot.Dir, nil
	}
	switch sources.ReasonOf(err) {
	case sources.PathNotFound:
		// The revision is there and the folder is not yet: all of it is new.
		empty, err := tree.NewBuilder(tree.Limits{}).FS(".")
		return empty, o.against + ":", ".", err
	case sources.ReferenceNotFound, sources.RepositoryNotFound:
		info, missing := os.Stat(o.against)
		if missing == nil && info.IsDir() {
			if _, trusted := o.renderer.(render.InProcess); trusted {
				return readTree(ctx, o.against, o.rootFor(o.against), false)
			}
			return nil, "", "", fmt.Errorf("--against %s is no revision of the repository that %s is in, and a folder of that name is not taken for it where files are not trusted: write ./%s if the folder is meant (as a revision: %w)",
				o.against, path, o.against, err)
		}
		return nil, "", "", fmt.Errorf("--against %s is no folder, and as a revision: %w", o.against, err)
	}
	return nil, "", "", fmt.Errorf("--against %s: %w", o.against, err)
}

// rootFor is --root where it holds the other folder too.
func (o *offlinePlans) rootFor(path string) string {
	absolute, err := filepath.Abs(path)
	if o.root == "" || err != nil {
		return ""
	}
	if _, _, err := insideOf(o.root, absolute); err != nil {
		return ""
	}
	return o.root
}

// writtenAsPath: nothing that begins so is the name of a revision.
func writtenAsPath(against string) bool {
	return filepath.IsAbs(against) || against == "." || against == ".." || strings.HasPrefix(against, "./") || strings.HasPrefix(against, "../")
}
