package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// toyEvidence is what others than `system` see of the world's shards.
type toyEvidence struct {
	// denied are tables that `system` is not shown.
	denied map[string]bool
	// noCrash and noVolume: exec does not reach the one or the other.
	noCrash, noVolume bool
	// noSuperuser: somebody made a user `crate` without privileges.
	noSuperuser bool
	// lateFolders are folders that stay on a node though their shard has moved, for so many
	// looks at the volume; missed ones until the allocation is retried.
	lateFolders map[string]int
	missed      map[string]bool
	// looks at volumes.
	looks int
}

// shown are the shards that `system` may see.
func (w *world) shown() []model.Shard {
	return slices.DeleteFunc(slices.Clone(w.shards), func(s model.Shard) bool { return w.denied[s.Table] })
}

func uuidOf(table string) string { return "uuid-" + table }

// superuserAnswers is what crash is answered about shards.
func (w *world) superuserAnswers(statement string) (string, bool, error) {
	about := strings.HasPrefix(statement, "SELECT name FROM sys.users WHERE superuser") || strings.Contains(statement, "FROM sys.shards")
	switch {
	case !about:
		return "", false, nil
	case w.noCrash:
		return "", true, errors.New("pods \"p\" is forbidden: cannot create resource \"pods/exec\"")
	case strings.HasPrefix(statement, "SELECT name"):
		if w.noSuperuser {
			return "[]", true, nil
		}
		return `[{"name": "crate"}]`, true, nil
	}
	rows := []map[string]any{}
	for _, s := range w.shards {
		leaves := strings.Contains(statement, "'"+s.Node+"'")
		if elsewhere := strings.Contains(statement, " NOT IN "); elsewhere && (leaves || s.State != "STARTED") || !elsewhere && !leaves && s.State == "STARTED" {
			continue
		}
		schema, table, _ := strings.Cut(s.Table, ".")
		row := map[string]any{"schema_name": schema, "table_name": table, "partition_ident": "", "id": s.ID, "routing_state": s.State, "node_id": nil, "node_name": nil, "relocating_node": nil, "path": nil}
		if s.Node != "" {
			row["node_id"], row["node_name"], row["path"] = s.Node, s.Node, "/data/data0/nodes/0/indices/"+uuidOf(s.Table)+"/0"
		}
		rows = append(rows, row)
	}
	text, err := json.Marshal(rows)
	return string(text), true, err
}

// Folders are on the volume of a pod.
func (w *world) Folders(_ context.Context, pod string) ([]model.ShardFolder, error) {
	if w.noVolume {
		return nil, errors.New("there is no ls in the container")
	}
	w.looks++
	i := strings.LastIndexByte(pod, '-')
	node := w.nodeID(pod[:i] + "/" + pod[i+1:])
	var all []model.ShardFolder
	for _, s := range w.shards {
		if s.Node == node {
			all = append(all, model.ShardFolder{UUID: uuidOf(s.Table), ID: s.ID, Path: uuidOf(s.Table)})
		}
	}
	if w.lateFolders[node] > 0 {
		w.lateFolders[node]--
		all = append(all, model.ShardFolder{UUID: uuidOf("doc.one"), Path: "late"})
	}
	if w.missed[node] {
		all = append(all, model.ShardFolder{UUID: uuidOf("doc.one"), Path: "missed"})
	}
	return all, nil
}
