package directory_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/directory"
)

func TestAConfigMapThatIsMountedChangesAtOnceWithAllItsKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// As the kubelet does it: a new folder, a link to it that takes the name of the
	// old one, the links of the keys, and the old folder goes.
	generation := 0
	project := func(keys map[string]string) {
		generation++
		now, last := fmt.Sprintf("..2026_%d", generation), fmt.Sprintf("..2026_%d", generation-1)
		for key, content := range keys {
			write(t, filepath.Join(dir, now, key), content)
		}
		require.NoError(t, os.Symlink(now, dir+"/..data_tmp"))
		require.NoError(t, os.Rename(dir+"/..data_tmp", dir+"/..data"))
		links, err := filepath.Glob(dir + "/*.yaml")
		require.NoError(t, err)
		for _, link := range links {
			if _, kept := keys[filepath.Base(link)]; !kept {
				require.NoError(t, os.Remove(link))
			}
		}
		for key := range keys {
			if _, err := os.Lstat(filepath.Join(dir, key)); err != nil {
				require.NoError(t, os.Symlink("..data/"+key, filepath.Join(dir, key)))
			}
		}
		require.NoError(t, os.RemoveAll(filepath.Join(dir, last)))
	}
	project(map[string]string{"a.yaml": "a1", "b.yaml": "b1"})
	s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
	before := fetch(t, s)
	for _, step := range []map[string]string{
		{"a.yaml": "a2", "b.yaml": "b2"},
		{"a.yaml": "a3", "c.yaml": "c3"},
		{"c.yaml": "c4"},
	} {
		project(step)
		got := until(t, s, func(got sources.Snapshot) bool {
			for key, content := range step {
				if !holds(key, content)(got) {
					return false
				}
			}
			return true
		})
		names, err := fs.Glob(got.Files, "*.yaml")
		require.NoError(t, err)
		assert.Len(t, names, len(step))
		for key, content := range step {
			assert.Equal(t, content, read(t, got, key))
		}
	}
	assert.Equal(t, "b1", read(t, before, "b.yaml"))
}

func TestARootThatIsALinkIsFollowedWhereverItLeads(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, base+"/v1/f", "one")
	write(t, base+"/v2/f", "two")
	require.NoError(t, os.Symlink("v1", base+"/now"))
	s := open(t, directory.Options{Dir: base + "/now", Poll: time.Hour})
	assert.Equal(t, "one", read(t, fetch(t, s), "f"))
	drain(s)
	require.NoError(t, os.Symlink("v2", base+"/next"))
	require.NoError(t, os.Rename(base+"/next", base+"/now"))
	hinted(t, s)
	assert.Equal(t, "two", read(t, fetch(t, s), "f"))
	drain(s)
	write(t, base+"/v2/f", "three")
	hinted(t, s)
	assert.Equal(t, "three", read(t, fetch(t, s), "f"))
}

func TestAMountedConfigMapIsReadThroughItsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/..2026_1/a.yaml", "one")
	write(t, dir+"/..2026_2/a.yaml", "two")
	require.NoError(t, os.Symlink("..2026_1", dir+"/..data"))
	require.NoError(t, os.Symlink("..data/a.yaml", dir+"/a.yaml"))
	s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
	assert.Equal(t, "one", read(t, fetch(t, s), "a.yaml"))
	drain(s)
	require.NoError(t, os.Symlink("..2026_2", dir+"/..data_tmp"))
	require.NoError(t, os.Rename(dir+"/..data_tmp", dir+"/..data"))
	hinted(t, s)
	assert.Equal(t, "two", read(t, fetch(t, s), "a.yaml"))
}
