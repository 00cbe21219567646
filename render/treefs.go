package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	treeRoot  = "/tree"  // where the snapshot stands
	buildRoot = "/build" // beside it, for the wrapper alone: a base may not be above its overlay
)

// treeFS shows kustomize a snapshot and one kustomization of ours, and nothing
// of this machine. It cannot be written, and ends with its context: kustomize
// itself cannot be cancelled, but it cannot go on without files either.
type treeFS struct {
	ctx     context.Context
	tree    fs.FS
	wrapper []byte // /build/kustomization.yaml
	// instead are texts that are read in place of files of the tree, by path inside of it.
	instead map[string][]byte
	// questions notes what is asked; nil: nobody wants to know.
	questions *questions
}

var errReadOnly = errors.New("a snapshot cannot be written")

// inTree gives the path inside the snapshot.
func inTree(name string) (string, bool) {
	name = path.Clean("/" + filepath.ToSlash(name))
	if name == treeRoot {
		return ".", true
	}
	return strings.CutPrefix(name, treeRoot+"/")
}

func (t *treeFS) isWrapper(name string) bool {
	return path.Clean("/"+filepath.ToSlash(name)) == buildRoot+"/kustomization.yaml"
}

// isOurs: of the wrapper or beside it.
func (t *treeFS) isOurs(name string) bool {
	return t.isWrapper(name) || path.Clean("/"+filepath.ToSlash(name)) == buildRoot+"/"+referencesFile
}

func (t *treeFS) stat(name string) (fs.FileInfo, error) {
	inside, ok := inTree(name)
	if !ok || t.ctx.Err() != nil {
		return nil, fs.ErrNotExist
	}
	return fs.Stat(t.tree, inside)
}

func (t *treeFS) ReadFile(name string) ([]byte, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, fmt.Errorf("the build took too long: %w", err)
	}
	if t.isWrapper(name) {
		return t.wrapper, nil
	}
	if path.Clean("/"+filepath.ToSlash(name)) == buildRoot+"/"+referencesFile {
		return references(), nil
	}
	inside, ok := inTree(name)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path.Base(name), Err: fs.ErrNotExist}
	}
	if text, ok := t.instead[inside]; ok {
		return text, nil
	}
	data, err := fs.ReadFile(t.tree, inside)
	t.questions.note(asksFile, name, fileAnswer(data, err))
	return data, err
}

func (t *treeFS) IsDir(name string) bool {
	if path.Clean("/"+filepath.ToSlash(name)) == buildRoot {
		return true
	}
	info, err := t.stat(name)
	is := err == nil && info.IsDir()
	t.questions.note(asksDir, name, yesAnswer(is))
	return is
}

func (t *treeFS) Exists(name string) bool {
	if t.isOurs(name) || t.IsDir(name) {
		return true
	}
	_, err := t.stat(name)
	t.questions.note(asksExists, name, yesAnswer(err == nil))
	return err == nil
}

func (t *treeFS) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	clean := path.Clean("/" + filepath.ToSlash(name))
	switch {
	case t.IsDir(clean):
		return filesys.ConfirmedDir(clean), "", nil
	case t.Exists(clean):
		return filesys.ConfirmedDir(path.Dir(clean)), path.Base(clean), nil
	}
	inside, _ := inTree(name)
	return "", "", fmt.Errorf("%q does not exist in the snapshot", inside)
}

func (t *treeFS) ReadDir(name string) ([]string, error) {
	inside, ok := inTree(name)
	if !ok {
		return nil, fs.ErrNotExist
	}
	entries, err := fs.ReadDir(t.tree, inside)
	var result []string
	for _, e := range entries {
		result = append(result, e.Name())
	}
	t.questions.note(asksList, name, namesAnswer(result, err))
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (t *treeFS) Glob(pattern string) ([]string, error) {
	inside, ok := inTree(pattern)
	if !ok {
		return nil, nil
	}
	matches, err := fs.Glob(t.tree, inside)
	for i := range matches {
		matches[i] = path.Join(treeRoot, matches[i])
	}
	t.questions.note(asksGlob, pattern, namesAnswer(matches, err))
	return matches, err
}

func (t *treeFS) Walk(name string, walk filepath.WalkFunc) error {
	t.questions.neverAgain()
	inside, ok := inTree(name)
	if !ok {
		return fs.ErrNotExist
	}
	return fs.WalkDir(t.tree, inside, func(p string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = t.ctx.Err()
		}
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		return walk(path.Join(treeRoot, p), info, err)
	})
}

func (t *treeFS) Open(name string) (filesys.File, error) {
	t.questions.neverAgain()
	inside, ok := inTree(name)
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := t.tree.Open(inside)
	if err != nil {
		return nil, err
	}
	return readOnlyFile{f}, nil
}

func (t *treeFS) Create(string) (filesys.File, error) { return nil, errReadOnly }
func (t *treeFS) Mkdir(string) error                  { return errReadOnly }
func (t *treeFS) MkdirAll(string) error               { return errReadOnly }
func (t *treeFS) RemoveAll(string) error              { return errReadOnly }
func (t *treeFS) WriteFile(string, []byte) error      { return errReadOnly }

type readOnlyFile struct{ fs.File }

func (readOnlyFile) Write([]byte) (int, error) { return 0, errReadOnly }

var _ io.ReadWriteCloser = readOnlyFile{}
