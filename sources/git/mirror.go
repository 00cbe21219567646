package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// maxPacks is when a mirror is cloned anew: each fetch adds a pack, each pack is
// asked for each object, and repacking in place would pull files away from under
// the readers of older snapshots.
const maxPacks = 40

// maxShares is how many sources may keep a mirror of one URL in one folder.
const maxShares = 64

// mirror is a folder with one or two bare repositories, generations: the current
// one, and while a damaged one is replaced the one that older snapshots still
// read. Always full history: mixing depths loses objects when the remote goes
// back to an older commit.
//
//	<folder>/<repository's key>.<share>/lock
//	                                    current          names a generation
//	                                    generation-*/    a bare repository
type mirror struct {
	dir        string
	unlock     func()
	temporary  bool
	generation string // path of the current one; empty before the first clone
	previous   string
	checked    map[string]int64 // packs whose bytes were verified, and their sizes
}

// openMirror takes a share of the folder that nobody else has: a lock, which the
// kernel gives back however the process ends, so that two processes with the
// same folder cannot destroy each other's files and a restart finds its own.
func openMirror(folder, identity string) (*mirror, error) {
	if folder == "" {
		dir, err := os.MkdirTemp("", "stevedore-git-")
		if err != nil {
			return nil, fmt.Errorf("making a temporary mirror: %w", err)
		}
		return &mirror{dir: dir, unlock: func() {}, temporary: true, checked: map[string]int64{}}, nil
	}
	sum := sha256.Sum256([]byte(identity))
	key := hex.EncodeToString(sum[:8])
	for share := range maxShares {
		dir := filepath.Join(folder, fmt.Sprintf("%s.%d", key, share))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making the mirror's folder: %w", err)
		}
		unlock, err := lockFile(filepath.Join(dir, "lock"))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("locking the mirror: %w", err)
		}
		m := &mirror{dir: dir, unlock: unlock, checked: map[string]int64{}}
		m.generation = m.readCurrent()
		m.sweep()
		return m, nil
	}
	return nil, fmt.Errorf("locking the mirror in %s: %d others use it already", folder, maxShares)
}

func (m *mirror) close() error {
	defer m.unlock()
	if m.temporary {
		return os.RemoveAll(m.dir)
	}
	return nil
}

func (m *mirror) readCurrent() string {
	data, err := os.ReadFile(filepath.Join(m.dir, "current"))
	name := strings.TrimSpace(string(data))
	if err != nil || !strings.HasPrefix(name, "generation-") || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return ""
	}
	dir := filepath.Join(m.dir, name)
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return ""
	}
	return dir
}

// sweep removes what a killed process left: generations that are not current,
// and packs that were never finished. The lock makes all of it ours.
func (m *mirror) sweep() {
	entries, _ := os.ReadDir(m.dir)
	for _, e := range entries {
		dir := filepath.Join(m.dir, e.Name())
		if strings.HasPrefix(e.Name(), "generation-") && dir != m.generation && dir != m.previous {
			_ = os.RemoveAll(dir)
		}
	}
	m.sweepUnfinished(m.generation)
}

func (m *mirror) sweepUnfinished(generation string) {
	if generation == "" {
		return
	}
	unfinished, _ := filepath.Glob(filepath.Join(generation, "objects", "pack", "tmp_pack_*"))
	for _, name := range unfinished {
		_ = os.Remove(name)
	}
}

// newGeneration makes an empty bare repository that is not current yet.
func (m *mirror) newGeneration() (string, error) {
	dir, err := os.MkdirTemp(m.dir, "generation-")
	if err != nil {
		return "", fmt.Errorf("making a mirror: %w", err)
	}
	if _, err := gogit.Init(openStorage(dir), nil); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("making a mirror: %w", err)
	}
	return dir, nil
}

// adopt makes a generation current in one step. The one before stays on disk for
// the snapshots that read it, until the next change.
func (m *mirror) adopt(generation string) error {
	next := filepath.Join(m.dir, "current.next")
	if err := os.WriteFile(next, []byte(filepath.Base(generation)+"\n"), 0o600); err != nil {
		return fmt.Errorf("switching to the new mirror: %w", err)
	}
	if err := os.Rename(next, filepath.Join(m.dir, "current")); err != nil {
		return fmt.Errorf("switching to the new mirror: %w", err)
	}
	m.previous, m.generation = m.generation, generation
	m.sweep()
	return nil
}

func (m *mirror) packs() int {
	packs, _ := filepath.Glob(filepath.Join(m.generation, "objects", "pack", "*.pack"))
	return len(packs)
}

// openStorage opens a generation afresh. Each user has one of its own: a storage
// is not safe for a fetch beside readers. Not with ExclusiveAccess: go-git 5.19's
// HasEncodedObject then does not find what is in a pack.
func openStorage(dir string) *filesystem.Storage {
	return filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(16*cache.MiByte))
}

const (
	maxHaves       = 1000
	maxHavesPerTip = 100
)

// haves are commits to tell the remote, so that it sends what is missing only:
// its references that are here already, and some history of what was followed
// before, for when the remote's history was rewritten.
func haves(ctx context.Context, st *filesystem.Storage, remote advertised) []plumbing.Hash {
	var out []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	add := func(h plumbing.Hash) bool {
		if seen[h] || len(out) >= maxHaves || st.HasEncodedObject(h) != nil {
			return false
		}
		seen[h] = true
		out = append(out, h)
		return true
	}
	refs, err := st.IterReferences()
	if err != nil {
		return nil
	}
	defer refs.Close()
	_ = refs.ForEach(func(r *plumbing.Reference) error {
		if r.Type() != plumbing.HashReference {
			return nil
		}
		queue := []plumbing.Hash{r.Hash()}
		for n := 0; n < maxHavesPerTip && len(queue) > 0 && ctx.Err() == nil; n++ {
			h := queue[0]
			queue = queue[1:]
			if !add(h) {
				continue
			}
			if c, err := commitOf(st, h); err == nil {
				queue = append(queue, c.ParentHashes...)
			}
		}
		return nil
	})
	for _, h := range remote.tips() {
		add(h)
	}
	return out
}

// remember keeps a fetched reference, under a name that no other can be a folder of.
func remember(st *filesystem.Storage, what choice) error {
	sum := sha256.Sum256([]byte(what.name.String() + what.prefix))
	name := plumbing.ReferenceName("refs/stevedore/" + hex.EncodeToString(sum[:8]))
	return st.SetReference(plumbing.NewHashReference(name, what.hash))
}

var errLocked = errors.New("another process has the lock")
