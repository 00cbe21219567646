package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Volume reads what lies on the volumes of a pod, by exec and not through CrateDB.
type Volume interface {
	// Folders are the shards' folders in all data paths of the pod. An error is for what
	// could not be read in full; what was found until then is returned with it.
	Folders(ctx context.Context, pod string) ([]model.ShardFolder, error)
}

// Statements of the superuser; crash binds nothing, and prints each row as an object.
const (
	// superuserItself has a row only where the user that crash is let in as is a
	// superuser: somebody may have made a user `crate` without privileges.
	superuserItself = `SELECT name FROM sys.users WHERE superuser = TRUE AND name = CURRENT_USER`
	seenColumns     = `SELECT schema_name, table_name, partition_ident, id, routing_state, node['id'] AS node_id, node['name'] AS node_name, relocating_node, path FROM sys.shards WHERE `
)

// seenShards are on the nodes that leave, or not started: few, where all is well.
func seenShards(x model.Examination) string {
	return seenColumns + where(x, " IN ", " OR ") + ` OR routing_state <> 'STARTED' LIMIT 1000`
}

// seenElsewhere are started on nodes that stay.
func seenElsewhere(x model.Examination) string {
	return seenColumns + where(x, " NOT IN ", " AND ") + ` AND routing_state = 'STARTED'`
}

func where(x model.Examination, in, and string) string {
	names := `node['name']` + in + `(` + literals(x.Names) + `)`
	if len(x.IDs) == 0 {
		return names
	}
	return `node['id']` + in + `(` + literals(x.IDs) + `)` + and + names
}

func literals(list []string) string {
	quoted := make([]string, len(list))
	for i, each := range list {
		quoted[i] = literal(each)
	}
	return strings.Join(quoted, ", ")
}

// Examine asks the witnesses beside `system`. One that cannot be asked is said by name in
// the result; there is no error.
func Examine(ctx context.Context, t Tools, x model.Examination) []model.Evidence {
	var all []model.Evidence
	for _, pod := range x.Pods {
		e := model.Evidence{Pod: pod}
		e.Shards, e.Superuser = t.superuserSees(ctx, pod, x)
		e.Folders, e.Volume = t.volumeHas(ctx, pod)
		t.readElsewhere(ctx, pod, x, &e)
		all = append(all, e)
	}
	if len(x.Absent) == 0 {
		return all
	}
	vouches := model.Evidence{Volume: model.Witness{Why: "no CrateDB runs in this pod"}}
	vouches.Shards, vouches.Superuser = t.superuserSees(ctx, x.Ask, x)
	t.readElsewhere(ctx, x.Ask, x, &vouches)
	for _, pod := range x.Absent {
		vouches.Pod = pod
		all = append(all, vouches)
	}
	return all
}

// superuserSees is what no privilege filters.
func (t Tools) superuserSees(ctx context.Context, pod string, x model.Examination) ([]model.SeenShard, model.Witness) {
	if t.Crash == nil || pod == "" {
		return nil, model.Witness{Why: "there is no way to ask it"}
	}
	said, err := t.Crash.Run(ctx, pod, superuserItself)
	if err == nil && !strings.Contains(said, `"name"`) {
		err = errors.New("the user that crash is let in as is no superuser")
	}
	if err != nil {
		return nil, model.Witness{Why: err.Error()}
	}
	shards, err := t.seen(ctx, pod, seenShards(x))
	if err != nil {
		return nil, model.Witness{Why: err.Error()}
	}
	return shards, model.Witness{Had: true}
}

// volumeHas is what lies there, whatever CrateDB says.
func (t Tools) volumeHas(ctx context.Context, pod string) ([]model.ShardFolder, model.Witness) {
	if t.Volume == nil {
		return nil, model.Witness{Why: "there is no way to read it"}
	}
	folders, err := t.Volume.Folders(ctx, pod)
	if err != nil {
		// What was found counts, also where not all could be read.
		return folders, model.Witness{Had: len(folders) > 0, Why: err.Error()}
	}
	return folders, model.Witness{Had: true}
}

// readElsewhere is expensive, and needed only of what may stay behind. Without it what was
// found counts.
func (t Tools) readElsewhere(ctx context.Context, pod string, x model.Examination, e *model.Evidence) {
	if !x.Elsewhere || !e.Superuser.Had || len(e.Shards)+len(e.Folders) == 0 {
		return
	}
	if shards, err := t.seen(ctx, pod, seenElsewhere(x)); err == nil {
		e.Elsewhere = shards
	}
}

func (t Tools) seen(ctx context.Context, pod, query string) ([]model.SeenShard, error) {
	said, err := t.Crash.Run(ctx, pod, query)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Schema    string `json:"schema_name"`
		Table     string `json:"table_name"`
		Partition string `json:"partition_ident"`
		ID        int    `json:"id"`
		State     string `json:"routing_state"`
		Node      string `json:"node_id"`
		NodeName  string `json:"node_name"`
		To        string `json:"relocating_node"`
		Path      string `json:"path"`
	}
	if err := json.Unmarshal([]byte(said), &rows); err != nil {
		return nil, fmt.Errorf("reading what crash in pod %s printed: %w", pod, err)
	}
	shards := make([]model.SeenShard, len(rows))
	for i, r := range rows {
		shards[i] = model.SeenShard{Schema: r.Schema, Table: r.Table, Partition: r.Partition, ID: r.ID, State: r.State, Node: r.Node, NodeName: r.NodeName, To: r.To}
		if r.Path != "" {
			shards[i].UUID = path.Base(path.Dir(r.Path))
		}
	}
	return shards, nil
}
