package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stevedore.dev/stevedore/internal/spelling"
)

// folderAt refuses what is no folder, in words that say what to write instead.
func folderAt(path string) error {
	const folder = "definitions are a folder, which is read with all that they refer to"
	if path == standardInput {
		return fmt.Errorf("%s: nothing is read from standard input: write it to a file of a folder of its own, and name the folder", folder)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if strings.Contains(path, "://") {
			return fmt.Errorf("reading %s: nothing is fetched: clone it, and name the folder", path)
		}
		return fmt.Errorf("reading %s: there is no such folder%s", path, folderInstead(path))
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("reading %s: it is a file, and %s: name the folder that it is in, %s; --cluster NAME looks at one cluster of it", path, folder, filepath.Dir(path))
	}
	return nil
}

// folderInstead says, for whoever mistyped a folder, which one was meant; where none is spelled
// like it, which ones are there.
func folderInstead(path string) string {
	path = filepath.Clean(path)
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		if path = filepath.Dir(path); isFolder(path) {
			return ": a definition is named by the folder that it is in, " + path
		}
	}
	there, rest := path, []string(nil)
	for !isFolder(there) && there != filepath.Dir(there) {
		there, rest = filepath.Dir(there), append([]string{filepath.Base(there)}, rest...)
	}
	meant := spelling.Path(there, rest, foldersIn)
	if meant == "" {
		return foldersNear(there, rest[0])
	}
	return ": did you mean " + meant + "?"
}

// foldersNear names a few folders of a folder, those first whose names are most like this one.
func foldersNear(parent, name string) string {
	const few = 5
	folders := spelling.Sorted(name, foldersIn(parent))
	if len(folders) == 0 {
		return "; in " + parent + " there is no folder"
	}
	return "; in " + parent + " there are " + strings.Join(folders[:min(len(folders), few)], ", ")
}

func foldersIn(parent string) (folders []string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil // what cannot be read has no folder that could be named
	}
	for _, entry := range entries {
		if isFolder(filepath.Join(parent, entry.Name())) && !strings.HasPrefix(entry.Name(), ".") {
			folders = append(folders, entry.Name())
		}
	}
	return folders
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
