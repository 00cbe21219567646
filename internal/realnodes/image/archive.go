//go:build linux

package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// layer is one layer of images, as an uncompressed tar file.
type layer struct {
	file, digest string
	size         int64
}

// packed is an image of an archive.
type packed struct {
	// name is the whole one, with registry and tag.
	name   string
	layers []*layer
	config config
}

// config is what a container is started with, as the OCI image specification has it.
type config struct {
	Env        []string `json:"Env,omitempty"`
	WorkingDir string   `json:"WorkingDir,omitempty"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
	Cmd        []string `json:"Cmd,omitempty"`
}

// packer writes layers into a folder.
type packer struct{ dir string }

// source is a folder that becomes part of a layer.
type source struct {
	// from is the folder, to its path in the image without the first slash.
	from, to string
	// skip leaves out files by their path within from; nil: none.
	skip func(string) bool
	// owned are paths within from that belong to the user of CrateDB.
	owned []string
}

// layer packs folders into one layer.
func (p *packer) layer(name string, sources ...source) (*layer, error) {
	path := filepath.Join(p.dir, name+".layer")
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", name, err)
	}
	defer file.Close()
	hash := sha256.New()
	writer := tar.NewWriter(io.MultiWriter(file, hash))
	for _, each := range sources {
		if err := each.pack(writer); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", name, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", name, err)
	}
	return &layer{file: path, digest: hex.EncodeToString(hash.Sum(nil)), size: info.Size()}, nil
}

func (s source) pack(writer *tar.Writer) error {
	return filepath.WalkDir(s.from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(s.from, path)
		if err != nil {
			return err
		}
		if s.skip != nil && s.skip(inside) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		link := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		case !info.Mode().IsRegular() && !info.IsDir():
			return nil // a container is given its devices
		}
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		header.Name = strings.TrimPrefix(filepath.Join(s.to, inside), "/")
		if header.Name == "." || header.Name == "" {
			return nil
		}
		if info.IsDir() {
			header.Name += "/"
		}
		header.Uname, header.Gname = "", ""
		if at, ok := info.Sys().(*syscall.Stat_t); ok {
			header.Uid, header.Gid = int(at.Uid), int(at.Gid)
		}
		for _, owned := range s.owned {
			if inside == owned || strings.HasPrefix(inside, owned+"/") {
				header.Uid, header.Gid = userID, userID
			}
		}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(writer, file)
		return err
	})
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const mediaTypes = "application/vnd.oci.image."

// archive writes images as an OCI archive, a layer that several have once.
func archive(path string, images ...packed) error {
	file, err := os.Create(path + ".new")
	if err != nil {
		return fmt.Errorf("writing images: %w", err)
	}
	defer file.Close()
	a := &archiver{tar: tar.NewWriter(file), has: map[string]bool{}}
	index := struct {
		SchemaVersion int          `json:"schemaVersion"`
		Manifests     []descriptor `json:"manifests"`
	}{SchemaVersion: 2}
	for _, each := range images {
		manifest, err := a.image(each)
		if err != nil {
			return fmt.Errorf("writing the image %s: %w", each.name, err)
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	content, err := json.Marshal(index)
	if err == nil {
		err = a.file("index.json", content)
	}
	if err == nil {
		err = a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	}
	if err == nil {
		err = a.tar.Close()
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("writing images: %w", err)
	}
	return nil
}

type archiver struct {
	tar *tar.Writer
	has map[string]bool
}

func (a *archiver) image(of packed) (descriptor, error) {
	var layers []descriptor
	var diffs []string
	for _, each := range of.layers {
		if err := a.layer(each); err != nil {
			return descriptor{}, err
		}
		layers = append(layers, descriptor{MediaType: mediaTypes + "layer.v1.tar", Digest: "sha256:" + each.digest, Size: each.size})
		diffs = append(diffs, "sha256:"+each.digest)
	}
	settings, err := a.blob(mediaTypes+"config.v1+json", map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": of.config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := a.blob(mediaTypes+"manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": mediaTypes + "manifest.v1+json", "config": settings, "layers": layers,
	})
	manifest.Annotations = map[string]string{"io.containerd.image.name": of.name}
	return manifest, err
}

func (a *archiver) layer(each *layer) error {
	name := "blobs/sha256/" + each.digest
	if a.has[name] {
		return nil
	}
	a.has[name] = true
	from, err := os.Open(each.file)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: each.size}); err != nil {
		return err
	}
	_, err = io.Copy(a.tar, from)
	return err
}

func (a *archiver) blob(mediaType string, of any) (descriptor, error) {
	content, err := json.Marshal(of)
	if err != nil {
		return descriptor{}, err
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: int64(len(content))}, a.file("blobs/sha256/"+digest, content)
}

func (a *archiver) file(name string, content []byte) error {
	if a.has[name] {
		return nil
	}
	a.has[name] = true
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := a.tar.Write(content)
	return err
}
