package model

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Store keeps the objects of repositories by their place, such as "fs /backup/nightly". It
// is shared by all clusters of a model and outlives them. Names are CrateDB's: index-N is
// the list of the snapshots, snap-ID.dat and meta-ID.dat are those of each, and
// indices/INDEX/SHARD/snap-ID.dat is a shard's.
//
// The errors are those of package os: fs.ErrNotExist for an object that is not there.
type Store interface {
	// Read gives an object.
	Read(place, name string) ([]byte, error)
	// Write makes an object or replaces it.
	Write(place, name string, content []byte) error
	// Remove takes one away; one that is not there is no error.
	Remove(place, name string) error
	// List gives the names that begin with prefix, in their order: all of a place for "", else
	// those at its top.
	List(place, prefix string) ([]string, error)
}

// memory is a Store that lives as long as its model.
type memory map[string]map[string][]byte

func (m memory) Read(place, name string) ([]byte, error) {
	content, ok := m[place][name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return content, nil
}

func (m memory) Write(place, name string, content []byte) error {
	if m[place] == nil {
		m[place] = map[string][]byte{}
	}
	m[place][name] = content
	return nil
}

func (m memory) Remove(place, name string) error {
	delete(m[place], name)
	return nil
}

func (m memory) List(place, prefix string) (out []string, err error) {
	if _, isFolder := folder(place); isFolder && m[place] == nil {
		return nil, fs.ErrNotExist
	}
	for name := range m[place] {
		if strings.HasPrefix(name, prefix) && (prefix == "" || !strings.Contains(name, "/")) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// files keeps what is in repositories of type fs in the folders of this machine that they
// name, and everything else in memory. So another simulator, or the same one started anew,
// finds it there.
type files struct{ others memory }

// Files is a Store of folders: what is in repositories of type fs is where they say, and
// outlives the simulator. What is in others is in memory.
func Files() Store { return files{memory{}} }

// folder is the folder of a place of type fs.
func folder(place string) (path string, ok bool) { return strings.CutPrefix(place, "fs ") }

func (f files) Read(place, name string) ([]byte, error) {
	path, ok := folder(place)
	if !ok {
		return f.others.Read(place, name)
	}
	return os.ReadFile(filepath.Join(path, name))
}

func (f files) Write(place, name string, content []byte) error {
	path, ok := folder(place)
	if !ok {
		return f.others.Write(place, name, content)
	}
	path = filepath.Join(path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// As a whole or not at all.
	next := path + ".pending"
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}

func (f files) Remove(place, name string) error {
	path, ok := folder(place)
	if !ok {
		return f.others.Remove(place, name)
	}
	err := os.Remove(filepath.Join(path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f files) List(place, prefix string) (out []string, err error) {
	path, ok := folder(place)
	if !ok {
		return f.others.List(place, prefix)
	}
	err = filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(path, at)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && at != path && prefix != "":
			return fs.SkipDir
		case !entry.IsDir() && strings.HasPrefix(name, prefix):
			out = append(out, filepath.ToSlash(name))
		}
		return nil
	})
	return out, err
}

// Fault is what a place of repositories does wrong. The zero value is nothing.
type Fault struct {
	// Hangs: no request is answered.
	Hangs bool
	// Status is the HTTP status that answers each request, such as 403 or 503; 0 is none.
	// On a file system it is a folder that may not be read.
	Status int
	// ReadOnly: what is there can be read, and nothing be written.
	ReadOnly bool
	// Full: nothing can be written, for there is no room.
	Full bool
	// Truncated: lists end before the last name.
	Truncated bool
	// Unshared: what a node writes, no other sees, as on volumes of their own.
	Unshared bool
}

// SetFault gives each place whose name contains the text a fault; the zero value ends it.
func (m *Model) SetFault(text string, f Fault) {
	if m.faults == nil {
		m.faults = map[string]Fault{}
	}
	m.faults[text] = f
	if f == (Fault{}) {
		delete(m.faults, text)
	}
	m.touch()
	m.settle()
}

// EndFaults ends the faults of all places.
func (m *Model) EndFaults() {
	m.faults = nil
	m.touch()
	m.settle()
}

// LoseObjects removes the objects whose name contains the text from each place that does; it
// gives how many.
func (m *Model) LoseObjects(places []string, text string) (lost int) {
	for _, place := range places {
		names, _ := m.store.List(place, "")
		for _, name := range names {
			if strings.Contains(name, text) && m.store.Remove(place, name) == nil {
				lost++
			}
		}
	}
	m.changes++
	return lost
}

// Place is where the cluster's repository of that name keeps its objects, "" for none.
func (n *Node) Place(repository string) string {
	if i := n.repository(repository); i >= 0 {
		return n.Repositories()[i].at
	}
	return ""
}

// SnapshotObjectsRead counts the objects that were read to list snapshots: two for each
// snapshot of each repository and SELECT, and the list itself.
func (m *Model) SnapshotObjectsRead() int { return m.objectsRead }

// fault is what the place does wrong now.
func (m *Model) fault(place string) (all Fault) {
	for text, f := range m.faults {
		if !strings.Contains(place, text) {
			continue
		}
		all.Hangs, all.Truncated, all.Unshared = all.Hangs || f.Hangs, all.Truncated || f.Truncated, all.Unshared || f.Unshared
		all.ReadOnly, all.Full = all.ReadOnly || f.ReadOnly, all.Full || f.Full
		all.Status = max(all.Status, f.Status)
	}
	return all
}

// failure is why a place has not answered as it should, in Java's words.
type failure struct {
	class, words string
	// absent: a server has said that it does not have the object. CrateDB knows only that of
	// files, and takes this for any other error.
	absent bool
}

func (f *failure) String() string { return f.class + "[" + f.words + "]" }

// missing reports whether the object is not there, while the place answers.
func (f *failure) missing() bool { return f.class == "NoSuchFileException" }

// failureOf is an error of a Store in Java's words.
func failureOf(place, name string, err error) *failure {
	path, _ := folder(place)
	path = filepath.Join(path, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &failure{class: "NoSuchFileException", words: path}
	case errors.Is(err, fs.ErrPermission):
		return &failure{class: "AccessDeniedException", words: path}
	case errors.Is(err, syscall.ENOSPC):
		return &failure{class: "IOException", words: "No space left on device"}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return &failure{class: "FileAlreadyExistsException", words: path}
	case errors.Is(err, syscall.EROFS):
		return &failure{class: "FileSystemException", words: path + ": Read-only file system"}
	}
	return &failure{class: "FileSystemException", words: path}
}

// broken is why the repository's place answers no request for the object; nil where it does.
func (r *Repository) broken(m *Model, name string, write bool) *failure {
	fault := m.fault(r.at)
	path, isFolder := folder(r.at)
	switch {
	case isFolder && fault.Status != 0, write && fault.ReadOnly:
		return &failure{class: "AccessDeniedException", words: path + "/" + name}
	case write && fault.Full:
		return &failure{class: "IOException", words: "No space left on device"}
	case fault.Status == 0:
		return nil
	}
	return r.denied(fault.Status, name)
}

// objects are the repository's on its server, nil for one that has none: its objects are in the
// model's Store.
func (m *Model) objects(r *Repository) Objects {
	if r.server == nil && m.opts.Remote != nil {
		r.server = m.opts.Remote.Open(r.Type, r.Settings)
	}
	return r.server
}

// read, write, exists, remove and listed are the requests that a repository makes.
func (m *Model) read(r *Repository, name string) ([]byte, *failure) {
	m.objectsRead++
	if f := r.broken(m, name, false); f != nil {
		return nil, f
	}
	if o := m.objects(r); o != nil {
		content, err := o.Read(name)
		return content, failureOfAnswer(err)
	}
	content, err := m.store.Read(r.at, name)
	return content, failureOf(r.at, name, err)
}

func (m *Model) write(r *Repository, name string, content []byte) *failure {
	if f := r.broken(m, name, true); f != nil {
		return f
	}
	if o := m.objects(r); o != nil {
		return failureOfAnswer(o.Write(name, content))
	}
	return failureOf(r.at, name, m.store.Write(r.at, name, content))
}

func (m *Model) exists(r *Repository, name string) (bool, *failure) {
	o := m.objects(r)
	if o == nil || r.broken(m, name, false) != nil {
		_, failed := m.read(r, name)
		if failed != nil && failed.missing() {
			return false, nil
		}
		return failed == nil, failed
	}
	exists, err := o.Exists(name)
	return exists, failureOfAnswer(err)
}

// remove takes an object away; what stays is only in the way.
func (m *Model) remove(r *Repository, name string) {
	if o := m.objects(r); o != nil {
		_ = o.Remove(name)
		return
	}
	_ = m.store.Remove(r.at, name)
}

func (m *Model) listed(r *Repository, prefix string) ([]string, *failure) {
	if f := r.broken(m, prefix, false); f != nil {
		return nil, f
	}
	if o := m.objects(r); o != nil {
		names, err := o.List(prefix)
		return names, failureOfAnswer(err)
	}
	names, err := m.store.List(r.at, prefix)
	if errors.Is(err, fs.ErrNotExist) && !r.ReadOnly() {
		return nil, nil // CrateDB makes the folder
	}
	return names, failureOf(r.at, prefix, err)
}

// answers reports whether the place answers at all.
func (m *Model) answers(r *Repository) bool {
	if m.objects(r) == nil {
		return r.broken(m, "", false) == nil
	}
	_, failed := m.listed(r, "index-")
	return failed == nil
}
