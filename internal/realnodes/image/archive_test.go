//go:build linux

package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// entries are the files of a tar file by name, with their contents.
func entries(t *testing.T, from io.Reader) (map[string]string, map[string]*tar.Header) {
	t.Helper()
	contents, headers := map[string]string{}, map[string]*tar.Header{}
	reader := tar.NewReader(from)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return contents, headers
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.NotContains(t, contents, header.Name, "a name stands twice in the archive")
		contents[header.Name], headers[header.Name] = string(content), header
	}
}

func TestAnArchiveHasEachLayerOnceAndEveryDigestIsThatOfItsContent(t *testing.T) {
	from := t.TempDir()
	for name, content := range map[string]string{"bin/tool": "a program", "logs/first.log": "a log", "left/out": "no"} {
		require.NoError(t, os.MkdirAll(filepath.Join(from, path.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(content), 0o755))
	}
	require.NoError(t, os.Symlink("tool", filepath.Join(from, "bin", "other")))
	p := &packer{dir: t.TempDir()}
	shared, err := p.layer("shared", source{from: from, to: "crate", owned: []string{"logs"}, skip: func(path string) bool { return path == "left" }})
	require.NoError(t, err)
	own, err := p.layer("own", source{from: filepath.Join(from, "bin"), to: ""})
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), "images.tar")
	require.NoError(t, archive(to,
		packed{name: "docker.io/library/first:1", layers: []*layer{shared}, config: config{Cmd: []string{"sh"}}},
		packed{name: "docker.io/library/second:1", layers: []*layer{shared, own}}))

	file, err := os.Open(to)
	require.NoError(t, err)
	defer file.Close()
	all, _ := entries(t, file)
	require.Contains(t, all, "oci-layout")
	blob := func(d descriptor) string {
		content, ok := all["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		require.True(t, ok, d.Digest)
		sum := sha256.Sum256([]byte(content))
		assert.Equal(t, d.Digest, "sha256:"+hex.EncodeToString(sum[:]))
		assert.Len(t, content, int(d.Size))
		return content
	}
	var index struct{ Manifests []descriptor }
	require.NoError(t, json.Unmarshal([]byte(all["index.json"]), &index))
	var names []string
	layersOf := map[string]int{}
	for _, each := range index.Manifests {
		name := each.Annotations["io.containerd.image.name"]
		names = append(names, name)
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		require.NoError(t, json.Unmarshal([]byte(blob(each)), &manifest))
		blob(manifest.Config)
		layersOf[name] = len(manifest.Layers)
		contents, headers := entries(t, strings.NewReader(blob(manifest.Layers[0])))
		assert.Equal(t, "a program", contents["crate/bin/tool"])
		assert.Equal(t, "tool", headers["crate/bin/other"].Linkname)
		assert.NotContains(t, contents, "crate/left/out")
		assert.Equal(t, userID, headers["crate/logs/first.log"].Uid)
		assert.Equal(t, os.Getuid(), headers["crate/bin/tool"].Uid)
	}
	assert.Equal(t, []string{"docker.io/library/first:1", "docker.io/library/second:1"}, names)
	assert.Equal(t, map[string]int{names[0]: 1, names[1]: 2}, layersOf)
}
