package render

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
)

// fileMemory remembers what was made of files that stand for themselves: most
// commits to a repository of a thousand definitions touch one, and reading all of
// them again takes seconds. It goes by a file's path and content, holds so many
// files at most, the oldest go first, and can be lost at any time.
type fileMemory struct {
	mu    sync.Mutex
	size  int
	order [][sha256.Size]byte
	known map[[sha256.Size]byte][]*remembered
}

// rememberedFiles is enough for two revisions of a fleet of two thousand. What is
// kept of a definition is what its cluster holds anyway.
var rememberedFiles = fileMemory{size: 4096}

// remembered is one document of a file. Its fields are set while the file is first
// read, by one goroutine, and only read after it was put into the memory.
type remembered struct {
	// object is what is no definition.
	object *unstructured.Unstructured
	// made is what was made of a definition, without the build that it is of.
	made *found
}

// fileKey names a file by all that what is made of it depends on.
func fileKey(cfg Config, file string, data []byte) [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintf(hash, "%d %s\n%d %s\n", len(cfg.DefaultNamespace), cfg.DefaultNamespace, len(file), file)
	hash.Write(data)
	return [sha256.Size]byte(hash.Sum(nil))
}

// get gives copies of what is remembered of a file.
func (m *fileMemory) get(key [sha256.Size]byte, file string) ([]item, bool) {
	m.mu.Lock()
	documents, ok := m.known[key]
	m.mu.Unlock()
	if !ok {
		return nil, false
	}
	items := make([]item, 0, len(documents))
	for _, d := range documents {
		i := item{file: file, made: d.made}
		if d.object != nil {
			i.object = d.object.DeepCopy()
		}
		items = append(items, i)
	}
	return items, true
}

// freshFile is a file that is not remembered yet.
type freshFile struct {
	key       [sha256.Size]byte
	documents []*remembered
}

// newFreshFile prepares to remember a file: what is no definition as it was read,
// for a build changes it; definitions once they are made.
func newFreshFile(key [sha256.Size]byte, items []item) freshFile {
	fresh := freshFile{key: key}
	for n := range items {
		d := &remembered{}
		if !items[n].isDefinition() {
			d.object = items[n].object.DeepCopy()
		}
		items[n].remember = d
		fresh.documents = append(fresh.documents, d)
	}
	return fresh
}

// rememberIn keeps a definition that was made of its file alone, and well.
func (f *found) rememberIn(d *remembered) {
	if d == nil || definition.Stops(f.Problems) {
		return
	}
	for _, patch := range f.Definition.Spec.Patches {
		if patch.Path != "" {
			return
		}
	}
	d.made = f.again()
	d.made.build = guard.Build{}
}

// keep remembers the files all of whose documents were made.
func (m *fileMemory) keep(files []freshFile) {
	for _, file := range files {
		if !slices.ContainsFunc(file.documents, func(d *remembered) bool { return d.object == nil && d.made == nil }) {
			m.put(file.key, file.documents)
		}
	}
}

func (m *fileMemory) put(key [sha256.Size]byte, documents []*remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.known[key]; ok {
		return
	}
	if m.known == nil {
		m.known = map[[sha256.Size]byte][]*remembered{}
	}
	if len(m.order) >= m.size {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	m.order = append(m.order, key)
	m.known[key] = documents
}

// again is a copy for one build: what is found out later of this one is none of the
// next one's. The definition is shared; nobody changes one that was made.
func (f *found) again() *found {
	next := *f
	next.Problems, next.Others, next.others = slices.Clone(f.Problems), slices.Clone(f.Others), maps.Clone(f.others)
	return &next
}
