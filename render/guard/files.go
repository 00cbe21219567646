package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"stevedore.dev/stevedore/render/internal/located"
	"stevedore.dev/stevedore/sources/tree"
)

// MaxGeneratorFile bounds what a ConfigMap or Secret is made of; Kubernetes
// takes no larger object.
const MaxGeneratorFile = 1 << 20

const maxLinks = 40

// resolve follows the links of a slash path inside fsys and gives the path
// without any; a link out of the tree, or to nothing, is an error that says so.
func resolve(fsys fs.FS, name string) (string, error) {
	linked, ok := fsys.(fs.ReadLinkFS)
	if !ok {
		return name, nil
	}
	done, todo := ".", strings.Split(name, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", errors.New(LeadsOut + ": keep what is built inside of it")
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		info, err := linked.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("is a link that leads in a circle")
		}
		target, err := linked.ReadLink(next)
		if err != nil {
			return "", err
		}
		target = strings.ReplaceAll(target, "\\", "/")
		if path.IsAbs(target) {
			return "", fmt.Errorf("is, or goes through, a link out of the tree (%s): commit the files themselves", next)
		}
		// From here on the parts are those of the link's target.
		depth := 0
		if done != "." {
			depth = strings.Count(done, "/") + 1
		}
		for _, p := range strings.Split(target, "/") {
			switch p {
			case "", ".":
			case "..":
				depth--
			default:
				depth++
			}
			if depth < 0 {
				return "", fmt.Errorf("is, or goes through, a link out of the tree (%s): commit the files themselves", next)
			}
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done, nil
}

// fileError says in words why a path cannot be opened, without the words of
// the operating system around it.
func fileError(err error) string {
	var pathError *fs.PathError
	switch {
	case errors.Is(err, tree.ErrSubmodule):
		return "submodules-not-supported: is inside a submodule, which is not fetched: commit the files themselves"
	case errors.Is(err, fs.ErrNotExist):
		return "is not there"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read"
	case errors.As(err, &pathError):
		return "cannot be read: " + pathError.Err.Error()
	}
	return err.Error()
}

// namesIn are the files and folders of a folder that a kustomization may name. Links are left out: one
// may lead to nothing.
func namesIn(fsys fs.FS, folder string) (names []string) {
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil {
		return nil // what cannot be read has nothing that could be named
	}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 && !hidden(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// read gives a file's content, at most limit bytes.
func read(fsys fs.FS, name string, limit int64) ([]byte, string) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, fileError(err)
	}
	if !info.Mode().IsRegular() {
		return nil, "is no file"
	}
	if info.Size() > limit {
		return nil, fmt.Sprintf("has %d bytes, more than %d are not read: split it", info.Size(), limit)
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fileError(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Sprintf("has more than %d bytes: split it", limit)
	}
	return data, ""
}

func readYAML(fsys fs.FS, name string) ([]byte, string) { return read(fsys, name, located.MaxBytes) }

var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// kustomizationsIn lists the kustomization files of a folder; more than one is
// an error of kustomize's.
func kustomizationsIn(fsys fs.FS, dir string) []string {
	var found []string
	for _, name := range kustomizationNames {
		file := path.Join(dir, name)
		if info, err := fs.Stat(fsys, file); err == nil && !info.IsDir() {
			found = append(found, file)
		}
	}
	return found
}

func isYAML(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
