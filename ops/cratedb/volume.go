package cratedb

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

var _ execute.Volume = Volume{}

// Volume implements execute.Volume by exec of `ls`, which every image has.
type Volume struct {
	Executor Executor
	// Paths are the data paths of a pod's process (path.data); nil where they are not known.
	Paths func(pod string) []string
	// Timeout of one listing; 0: 15 s.
	Timeout time.Duration
}

const defaultVolumeTimeout = 15 * time.Second

var (
	// shardFolder is PATH/nodes/0/indices/UUID/ID. What else an index has, `_state`, stays
	// behind and means nothing.
	shardFolder = regexp.MustCompile(`^(.*)/nodes/[0-9]+/indices/([^/]+)/([0-9]+)$`)
	// nodeState is in every data path in which a node has ever run.
	nodeState = regexp.MustCompile(`^(.*)/nodes/[0-9]+/_state$`)
)

// Folders lists the folders below each data path. The files of a blob table are not looked
// for where blobs.path has them: CrateDB leaves them there for ever when their shard has
// gone, and its shard's own folder is in a data path as that of every table.
func (v Volume) Folders(ctx context.Context, pod string) ([]model.ShardFolder, error) {
	if v.Executor == nil || v.Paths == nil {
		return nil, errors.New("no way to run commands in pods is configured")
	}
	roots := v.Paths(pod)
	if len(roots) == 0 {
		return nil, fmt.Errorf("the command of pod %s does not say path.data", pod)
	}
	command := []string{"ls", "-1R"}
	for _, root := range roots {
		command = append(command, path.Join(root, "nodes"))
	}
	timeout := v.Timeout
	if timeout <= 0 {
		timeout = defaultVolumeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stdout, stderr, exit, err := v.Executor.Exec(ctx, pod, crateContainer, command, nil)
	folders, has := listedFolders(stdout)
	if err != nil {
		return folders, fmt.Errorf("listing the volumes of pod %s: %w", pod, err)
	}
	if exit != 0 {
		// A folder that is deleted meanwhile is an error of ls, too.
		words := strings.TrimSpace(stderr)
		return folders, fmt.Errorf("listing the volumes of pod %s: ls ended with %d: %s", pod, exit, words[:min(len(words), maxWords)])
	}
	for _, root := range roots {
		if !has[path.Clean(root)] {
			return folders, fmt.Errorf("listing the volumes of pod %s: no node has ever run in %s", pod, root)
		}
	}
	return folders, nil
}

// listedFolders reads what `ls -1R` prints: "FOLDER:" before the names in it. has are the
// data paths in which a node has run.
func listedFolders(listing string) (folders []model.ShardFolder, has map[string]bool) {
	has = map[string]bool{}
	for line := range strings.Lines(listing) {
		folder, ok := strings.CutSuffix(strings.TrimRight(line, "\r\n"), ":")
		if !ok {
			continue
		}
		if found := nodeState.FindStringSubmatch(folder); found != nil {
			has[found[1]] = true
		}
		if found := shardFolder.FindStringSubmatch(folder); found != nil {
			if id, err := strconv.Atoi(found[3]); err == nil {
				folders = append(folders, model.ShardFolder{UUID: found[2], ID: id, Path: folder})
			}
		}
	}
	return folders, has
}
