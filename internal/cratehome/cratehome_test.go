package cratehome

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func releases(t *testing.T, names ...string) string {
	home := t.TempDir()
	for _, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Join(home, name, "bin"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(home, name, "bin", "crate"), nil, 0o755))
	}
	return home
}

func TestTheReleaseOfAVersionIsFound(t *testing.T) {
	for _, c := range []struct {
		name     string
		unpacked []string
		version  string
		want     string
		err      string
	}{
		{name: "the exact one", unpacked: []string{"6.4.2", "6.4.3"}, version: "6.4.3", want: "6.4.3"},
		{name: "under the name of its archive", unpacked: []string{"crate-6.4.3"}, version: "6.4.3", want: "crate-6.4.3"},
		{name: "the only one of its minor", unpacked: []string{"6.3.7", "6.4.3"}, version: "6.4.1", want: "6.4.3"},
		{name: "several of its minor", unpacked: []string{"6.4.2", "6.4.3"}, version: "6.4.1", err: "several releases of 6.4 but not 6.4.1"},
		{name: "none of its minor", unpacked: []string{"6.3.7", "6.4.3"}, version: "5.10.7", err: "no release 5.10.7, it has 6.3.7, 6.4.3"},
		{name: "an empty folder", version: "6.4.3", err: "has no CrateDB release"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := releases(t, c.unpacked...)
			got, err := Find(home, c.version)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(home, c.want), got)
		})
	}
	t.Run("one release as the home", func(t *testing.T) {
		home := filepath.Join(releases(t, "crate-6.4.3"), "crate-6.4.3")
		got, err := Find(home, "6.4.0")
		require.NoError(t, err)
		assert.Equal(t, home, got)
		_, err = Find(home, "6.3.7")
		assert.ErrorContains(t, err, "is 6.4.3, not 6.3.7")
	})
	t.Run("no home", func(t *testing.T) {
		_, err := Find("", "6.4.3")
		assert.ErrorContains(t, err, "CRATEDB_HOME is not set")
	})
}

func TestAllReleasesOfAHomeAreFound(t *testing.T) {
	home := releases(t, "crate-6.3.7", "6.4.3", "crate-old")
	empty := t.TempDir()
	for _, c := range []struct {
		home string
		want []Release
		says string
	}{
		{home, []Release{{"6.4.3", filepath.Join(home, "6.4.3")}, {"6.3.7", filepath.Join(home, "crate-6.3.7")}}, ""},
		{filepath.Join(home, "6.4.3"), []Release{{"6.4.3", filepath.Join(home, "6.4.3")}}, ""},
		{filepath.Join(home, "crate-old"), nil, "does not say its version"},
		{empty, nil, "has no CrateDB release"},
		{"", nil, "CRATEDB_HOME is not set"},
	} {
		got, err := All(c.home)
		assert.Equal(t, c.want, got, c.home)
		if c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}
