package render

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"stevedore.dev/stevedore/render/guard"
)

// buildMemory remembers what kustomize made of a folder, and all that it asked the tree
// for it: the files that it opened, and the places where it looked for one. Of a thousand
// overlays a commit touches a few, and only those are built again which would be answered
// otherwise. It holds so many bytes at most, the oldest builds go first, and can be lost at
// any time.
type buildMemory struct {
	mu    sync.Mutex
	size  int
	used  int
	order []*rememberedBuild
	// known are the last builds of a folder, the newest first: two revisions, and the
	// folders of the same name in other repositories.
	known map[string][]*rememberedBuild
}

// rememberedBuilds has room for a fleet of some thousand overlays.
var rememberedBuilds = buildMemory{size: 64 << 20}

// sameFolder is how many builds of folders of one name are remembered.
const sameFolder = 4

type rememberedBuild struct {
	dir   string
	asked []answered
	made  []madeItem
	// verdicts are those of its patches.
	verdicts []verdict
	weight   int
}

// madeItem is an object as JSON: each build gets values of its own.
type madeItem struct {
	data      []byte
	file      string
	generated bool
}

// question is one that kustomize asks a file system.
type question struct {
	kind byte
	name string
}

const (
	asksFile   = 'f' // for what is in a file
	asksDir    = 'd' // whether a folder is there
	asksExists = 'e' // whether anything is
	asksList   = 'l' // for the names in a folder
	asksGlob   = 'g' // for the names that a pattern matches
)

type answered struct {
	question
	answer [sha256.Size]byte
}

// questions notes what is asked of a tree, and is used by one build.
type questions struct {
	asked map[question][sha256.Size]byte
	// never: something was asked that is not asked again.
	never bool
}

func (q *questions) note(kind byte, name string, answer [sha256.Size]byte) {
	if q != nil {
		q.asked[question{kind, name}] = answer
	}
}

func (q *questions) neverAgain() {
	if q != nil {
		q.never = true
	}
}

func fileAnswer(data []byte, err error) [sha256.Size]byte {
	if err != nil {
		return [sha256.Size]byte{1}
	}
	return sha256.Sum256(data)
}

func yesAnswer(yes bool) [sha256.Size]byte {
	if yes {
		return [sha256.Size]byte{2}
	}
	return [sha256.Size]byte{3}
}

func namesAnswer(names []string, err error) [sha256.Size]byte {
	if err != nil {
		return [sha256.Size]byte{1}
	}
	return sha256.Sum256([]byte(strings.Join(names, "\x00")))
}

// same asks the tree all of it again.
func (b *rememberedBuild) same(ctx context.Context, tree fs.FS) bool {
	t := &treeFS{ctx: ctx, tree: tree}
	for _, a := range b.asked {
		var now [sha256.Size]byte
		switch a.kind {
		case asksFile:
			now = fileAnswer(t.ReadFile(a.name))
		case asksDir:
			now = yesAnswer(t.IsDir(a.name))
		case asksExists:
			now = yesAnswer(t.Exists(a.name))
		case asksList:
			now = namesAnswer(t.ReadDir(a.name))
		case asksGlob:
			now = namesAnswer(t.Glob(a.name))
		}
		if now != a.answer {
			return false
		}
	}
	return ctx.Err() == nil
}

// get gives what is remembered of a build whose every question the tree answers as before.
func (m *buildMemory) get(ctx context.Context, tree fs.FS, dir string) ([]item, []verdict, bool) {
	m.mu.Lock()
	builds := slices.Clone(m.known[dir])
	m.mu.Unlock()
	for _, b := range builds {
		if !b.same(ctx, tree) {
			continue
		}
		items := make([]item, 0, len(b.made))
		for _, made := range b.made {
			i, err := newItem(made.data)
			if err != nil {
				return nil, nil, false
			}
			i.file, i.generated = made.file, made.generated
			items = append(items, i)
		}
		return items, b.verdicts, true
	}
	return nil, nil, false
}

// put remembers a build; what is too large for all of the memory is not.
func (m *buildMemory) put(dir string, q *questions, made []madeItem, verdicts []verdict) {
	if q.never {
		return
	}
	b := &rememberedBuild{dir: dir, made: made, verdicts: verdicts, weight: 64}
	for question, answer := range q.asked {
		if strings.HasPrefix(question.name, buildRoot) {
			continue // the wrapper, which is made of the folder's name
		}
		b.asked = append(b.asked, answered{question, answer})
		b.weight += len(question.name) + 64
	}
	for _, i := range made {
		b.weight += len(i.data) + len(i.file) + 48
	}
	for i := range b.verdicts {
		b.verdicts[i].patch.Data = nil
		b.weight += 256 + len(b.verdicts[i].advice)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.weight > m.size {
		return
	}
	if m.known == nil {
		m.known = map[string][]*rememberedBuild{}
	}
	m.order, m.used = append(m.order, b), m.used+b.weight
	m.known[dir] = append([]*rememberedBuild{b}, m.known[dir]...)
	if builds := m.known[dir]; len(builds) > sameFolder {
		m.dropLocked(builds[sameFolder])
	}
	for m.used > m.size {
		m.dropLocked(m.order[0])
	}
}

func (m *buildMemory) dropLocked(b *rememberedBuild) {
	is := func(other *rememberedBuild) bool { return other == b }
	m.used -= b.weight
	m.order = slices.DeleteFunc(m.order, is)
	if m.known[b.dir] = slices.DeleteFunc(m.known[b.dir], is); len(m.known[b.dir]) == 0 {
		delete(m.known, b.dir)
	}
}

// buildOrRecall builds a folder through a wrapper of ours, which makes kustomize say what
// file each object comes from, or gives what is remembered of it.
func buildOrRecall(ctx context.Context, tree fs.FS, build guard.Build) ([]item, []verdict, error) {
	if items, verdicts, known := rememberedBuilds.get(ctx, tree, build.Dir); known {
		return items, verdicts, nil
	}
	wrapper, err := wrapperOf(build.Dir)
	if err != nil {
		return nil, nil, err
	}
	q := &questions{asked: map[question][sha256.Size]byte{}}
	made, err := runKustomization(&treeFS{ctx: ctx, tree: tree, wrapper: wrapper, questions: q})
	if err != nil {
		return nil, nil, err
	}
	items := make([]item, 0, len(made))
	for _, each := range made {
		i, err := newItem(each.data)
		if err != nil {
			return nil, nil, fmt.Errorf("reading an object from kustomize: %w", err)
		}
		i.file, i.generated = each.file, each.generated
		items = append(items, i)
	}
	said := verdicts(ctx, tree, build, wrapper)
	rememberedBuilds.put(build.Dir, q, made, said)
	return items, said, nil
}

func wrapperOf(dir string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"resources":      []string{".." + path.Join(treeRoot, dir)},
		"buildMetadata":  []string{"originAnnotations"},
		"configurations": []string{referencesFile},
	})
}
