package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// verifyPacks reads each pack and index that was not read before and compares
// its bytes with the checksum at its end. That an object is in the index says
// nothing about a pack that was cut off or overwritten.
func (m *mirror) verifyPacks(ctx context.Context, generation string) error {
	for name := range m.checked {
		if filepath.Dir(filepath.Dir(filepath.Dir(name))) != generation {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return fmt.Errorf("%s is gone", filepath.Base(name))
		}
	}
	for _, pattern := range []string{"*.pack", "*.idx"} {
		names, err := filepath.Glob(filepath.Join(generation, "objects", "pack", pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			if m.checked[name] == info.Size() {
				continue
			}
			if err := verifyChecksum(ctx, name, info.Size()); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(name), err)
			}
			m.checked[name] = info.Size()
		}
	}
	packs, _ := filepath.Glob(filepath.Join(generation, "objects", "pack", "*.pack"))
	for _, pack := range packs {
		if _, err := os.Stat(strings.TrimSuffix(pack, ".pack") + ".idx"); err != nil {
			return fmt.Errorf("%s has no index", filepath.Base(pack))
		}
	}
	return nil
}

// verifyChecksum knows that packs and indexes end with the SHA-1 of all before
// (gitformat-pack(5)).
func verifyChecksum(ctx context.Context, name string, size int64) error {
	if size <= sha1.Size {
		return errors.New("cut off")
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha1.New()
	if _, err := io.Copy(sum, &cancelled{ctx, io.LimitReader(f, size-sha1.Size)}); err != nil {
		return err
	}
	want := make([]byte, sha1.Size)
	if _, err := io.ReadFull(f, want); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errors.New("its bytes do not have its checksum")
	}
	return nil
}

// cancelled ends a long read when the look's deadline has passed.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
