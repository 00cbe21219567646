package cratesim

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// SizeFile is the file that has the size of a volume in bytes, in decimal, beside the
// volume's own folder. A node whose path.data is on the volume reads it all the time, as
// CrateDB asks the file system.
func SizeFile(volumes, name string) string { return filepath.Join(volumes, name+".size") }

// disks are what data paths lie on; nil where no volume of theirs has a size.
func (cfg NodeConfig) disks(paths []string) ([]model.Disk, error) {
	if cfg.Volumes == "" {
		return nil, nil
	}
	var disks []model.Disk
	known := false
	for _, path := range paths {
		disk := model.Disk{Path: filepath.Join(path, "nodes", "0")}
		inside, err := filepath.Rel(cfg.Volumes, path)
		if name, _, _ := strings.Cut(inside, string(filepath.Separator)); err == nil && name != ".." {
			content, err := os.ReadFile(SizeFile(cfg.Volumes, name))
			if err != nil && !os.IsNotExist(err) {
				return nil, fmt.Errorf("read the size of a volume: %w", err)
			}
			if err == nil {
				if disk.Size, err = strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err != nil {
					return nil, fmt.Errorf("read the size of a volume: %w", err)
				}
				disk.Volume, known = name, true
			}
		}
		disks = append(disks, disk)
	}
	if !known {
		return nil, nil
	}
	return disks, nil
}
