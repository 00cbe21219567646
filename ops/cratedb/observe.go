package cratedb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Statements of one reading; each is a plain scan of a system table.
const (
	clusterColumns = `id, name, master_node`
	clusterQuery   = `SELECT ` + clusterColumns + ` FROM sys.cluster`
	nodeColumns    = `id, name, version['number'], fs['total']['size'], fs['total']['used'], rest_url, cluster_state_version, fs['disks']['dev'], fs['disks']['size'], fs['disks']['used'], heap['used'], heap['max']`
	nodesQuery     = `SELECT ` + nodeColumns + ` FROM sys.nodes`
	// An unassigned copy has no node; a relocating one counts on its source.
	shardsQuery = `SELECT node['id'], count(*), sum(size) FROM sys.shards GROUP BY node['id']`
	healthQuery = `SELECT table_schema, table_name, health, missing_shards, underreplicated_shards FROM sys.health`
	checksQuery = `SELECT node_id, id, acknowledged FROM sys.node_checks WHERE passed = FALSE`
	usersQuery  = `SELECT name FROM sys.users`
	// From 6.0 on.
	clusterHealthQuery = `SELECT health, description, missing_shards, underreplicated_shards FROM sys.cluster_health`
	clusterHealthSince = "6.0"
)

// maxTables that are not green are named.
const maxTables = 20

// concurrent logins of one reading.
const concurrentLogins = 8

// asked is what one pod answered.
type asked struct {
	answer  model.PodAnswer
	name    string
	master  string
	session *session
	err     error
	// settings are those that were asked for, as this node shows them.
	settings map[string]string
	// copies are the rows of copiesQuery, in a detailed reading that knows the shards.
	copies [][]string
	// hidden are tables that are being restored (Target.Hidden).
	hidden []string
}

// Observe reads the cluster once, as `system`: each pod is asked for its own
// cluster id, all the rest comes from one node in one reading. What could not
// be read is unknown in the result; it returns no error.
func (c Client) Observe(ctx context.Context, target Target) model.Database {
	db := model.Database{At: time.Now()}
	if target.Password == "" && target.User == "" {
		db.Error = "the Secret of the user system does not exist or has no password"
		return db
	}
	pods := c.ask(ctx, target)
	defer func() {
		for i := range pods {
			if pods[i].session != nil {
				pods[i].session.Close()
			}
		}
	}()
	db.SettingsAsked = target.Settings
	chosen := choose(pods)
	if chosen == nil {
		unanswered(&db, pods)
		return db
	}
	db.Contact, db.SystemLogin = model.Yes, model.LoginOK
	db.ClusterID, db.ClusterName, db.MasterNode = chosen.answer.ClusterID, chosen.name, chosen.master
	db.Effective = chosen.settings
	chosen.hidden, db.Hidden = target.Hidden, target.Hidden
	chosen.readNodes(ctx, &db, target.Detailed)
	for i := range pods {
		if p := &pods[i]; p.err == nil || errors.Is(p.err, execute.ErrLoginRefused) {
			db.Pods = append(db.Pods, p.answered(db.Nodes))
		}
	}
	special := target.Listing || target.Readable || target.Restore || target.Facts
	if !special && takeOver(&db, target.Unless, target.Detailed) {
		return db
	}
	db.Whole = db.At
	chosen.read(ctx, &db, target.Detailed)
	chosen.readAllocation(ctx, &db)
	if target.Detailed {
		chosen.readTables(ctx, &db)
		chosen.readStuck(ctx, &db)
		chosen.readAnswers(ctx, &db)
	} else {
		chosen.readUnreplicated(ctx, &db)
	}
	if target.Detailed || target.Listing {
		c.readSnapshots(ctx, chosen, target.Password, &db, target.Listing)
	}
	if target.Readable {
		chosen.readReadable(ctx, &db)
	}
	if target.Restore {
		chosen.readRestore(ctx, &db)
	}
	if target.Facts {
		chosen.readFacts(ctx, &db)
	}
	return db
}

// choose is the pod whose node is read, one that knows a master before others; nil where
// none has answered.
func choose(pods []asked) *asked {
	var chosen *asked
	for i := range pods {
		p := &pods[i]
		if p.err == nil && (chosen == nil || chosen.master == "" && p.master != "") {
			chosen = p
		}
	}
	return chosen
}

// unanswered is what is known where no pod could be read: the first one's error, and whether
// one at least knows `system`.
func unanswered(db *model.Database, pods []asked) {
	if len(pods) == 0 {
		return
	}
	db.Contact, db.Error = model.No, pods[0].err.Error()
	failed := func(with error) bool {
		return slices.ContainsFunc(pods, func(p asked) bool { return errors.Is(p.err, with) })
	}
	switch {
	case failed(errBlind):
		blind(db)
	case failed(execute.ErrLoginRefused):
		db.SystemLogin = model.LoginRefused
	}
}

// answered is what the pod said of itself, or that it refuses the login. Of the nodes only
// the one that was read says more: the others are known by it.
func (p *asked) answered(nodes []model.Node) model.PodAnswer {
	answer := p.answer
	if p.err != nil {
		answer.LoginRefused = true
		return answer
	}
	answer.Settings = settingList(p.settings)
	for i := range nodes {
		if n := &nodes[i]; n.Name == answer.NodeName {
			answer.NodeID = n.ID
			if answer.Version == "" {
				answer.Version = n.Version
			}
		}
	}
	return answer
}

// ask logs in to each pod and asks for its own cluster id and for the settings as
// it shows them; it returns when all have answered or run out of time.
func (c Client) ask(ctx context.Context, target Target) []asked {
	pods := make([]asked, len(target.Pods))
	tickets := make(chan struct{}, concurrentLogins)
	var all sync.WaitGroup
	for i, ref := range target.Pods {
		all.Go(func() {
			tickets <- struct{}{}
			defer func() { <-tickets }()
			pods[i] = c.askOne(ctx, ref, target)
		})
	}
	all.Wait()
	return pods
}

func (c Client) askOne(ctx context.Context, ref PodRef, target Target) asked {
	out := asked{answer: model.PodAnswer{Pod: ref.Name, NodeName: ref.NodeName}}
	s, err := c.connect(ctx, ref.Name, cmp.Or(target.User, names.SystemUser), target.Password, c.timeout())
	if err != nil {
		out.err = err
		return out
	}
	s.timeout = c.timeout()
	out.session = s
	if out.err = out.readCluster(ctx, target.Settings); out.err != nil {
		s.Close()
		out.session = nil
	}
	return out
}

// readNodes fills in the nodes of the cluster, in a detailed reading with their attributes.
func (p *asked) readNodes(ctx context.Context, db *model.Database, detailed bool) {
	nodes := []string{nodesQuery}
	if detailed {
		nodes = nodesQueries
	}
	if rows, ok := p.askAny(ctx, db, model.PartNodes, nodes); ok {
		// Nobody is nowhere: a node that answers is in its own sys.nodes.
		db.NodesKnown = len(rows) > 0
		for _, r := range rows {
			n := model.Node{ID: r[0], Name: r[1], Version: r[2], DiskSize: size(r[3]), DiskUsed: size(r[4]), Address: host(r[5]), StateVersion: number(r[6]), Disks: disks(r[7], r[8], r[9]), Heap: heap(r[10], r[11])}
			if len(r) > 12 {
				n.Attributes = object(r[12]).texts()
			}
			db.Nodes = append(db.Nodes, n)
			if r[1] == p.answer.NodeName {
				p.answer.Version = r[2]
			}
		}
		slices.SortFunc(db.Nodes, func(a, b model.Node) int { return strings.Compare(a.Name, b.Name) })
	}
}

// read fills in what one node knows of the cluster. A part that could not be read leaves
// the others known, and is noted in db.Unread. What a detailed reading asks anyway, each
// copy and each table, is not asked a second time for its counts.
func (p *asked) read(ctx context.Context, db *model.Database, detailed bool) {
	p.readShards(ctx, db, detailed)
	db.Recovered = p.recovered(ctx, db)
	if rows, ok := p.askAll(ctx, db, model.PartHealth, healthQuery); ok && db.Recovered == model.Yes {
		db.Health = health(p.visible(healthQuery, rows))
		p.unhide(db, rows)
	}
	p.readUsers(ctx, db)
	if rows, ok := p.ask(ctx, db, model.PartChecks, checksQuery); ok {
		db.ChecksKnown = true
		for _, r := range rows {
			id, err := strconv.Atoi(r[1])
			if err != nil {
				db.ChecksKnown = false
				continue
			}
			db.NodeChecks = append(db.NodeChecks, model.NodeCheck{NodeID: r[0], ID: id, Acknowledged: r[2] == "true"})
		}
	}
}

// readShards counts what each node holds, and keeps each copy for a detailed reading.
func (p *asked) readShards(ctx context.Context, db *model.Database, detailed bool) {
	query := shardsQuery
	if detailed {
		query = copiesQuery
	}
	rows, ok := p.ask(ctx, db, model.PartShards, query)
	if db.ShardsKnown = ok && db.NodesKnown; !db.ShardsKnown {
		return
	}
	for _, r := range rows {
		if detailed {
			holds(db, r[5], 1, number(r[8]))
		} else {
			holds(db, r[0], int(number(r[1])), number(r[2]))
		}
	}
	if detailed {
		p.copies = rows
	}
}

// holds notes copies of shards on a node; without a node that is known they are on none.
func holds(db *model.Database, node string, copies int, bytes int64) {
	i := slices.IndexFunc(db.Nodes, func(n model.Node) bool { return n.ID == node })
	if i < 0 {
		db.Unassigned += copies
		return
	}
	db.Nodes[i].Shards += copies
	db.Nodes[i].Bytes += bytes
}

// recovered: before the gateway has recovered only `crate` exists, so a login
// of `system` says that it has; from 6.0 on sys.cluster_health says so itself.
// Without a master or a cluster id nothing is known. What sys.cluster_health says of the
// tables is kept: no privilege filters it.
func (p *asked) recovered(ctx context.Context, db *model.Database) model.Answer {
	if db.MasterNode == "" || db.ClusterID == "" || db.ClusterID == gates.NoCluster {
		return model.Unknown
	}
	if !p.from(clusterHealthSince) {
		return model.Yes
	}
	rows, ok := p.ask(ctx, db, model.PartClusterView, clusterHealthQuery)
	if !ok {
		return model.Unknown
	}
	for _, r := range rows {
		if strings.Contains(strings.ToLower(r[1]), "not recovered") {
			return model.No
		}
	}
	db.ClusterHealth = clusterHealth(rows)
	if db.ClusterHealth.Colour == model.ColourUnknown {
		unread(db, model.PartClusterView, fmt.Errorf("its answer is not understood: %d row(s)", len(rows)))
	}
	return model.Yes
}

// from: the node runs that version or a later one. While that is not known the later
// one's statements are asked: they fail on an earlier one, and then nothing is known.
func (p *asked) from(version string) bool {
	return p.answer.Version == "" || gates.CompareMinor(p.answer.Version, version) >= 0
}

// clusterHealth reads sys.cluster_health, which has one row.
func clusterHealth(rows [][]string) model.Health {
	if len(rows) != 1 {
		return model.Health{}
	}
	return model.Health{Colour: colour(rows[0][0]), Missing: number(rows[0][2]), Underreplicated: number(rows[0][3])}
}

func colour(word string) model.Colour {
	switch word {
	case "GREEN":
		return model.Green
	case "YELLOW":
		return model.Yellow
	case "RED":
		return model.Red
	}
	return model.ColourUnknown
}

// health sums up sys.health; no rows is green, after recovery.
func health(rows [][]string) model.Health {
	h := model.Health{Colour: model.Green, Rows: len(rows)}
	for _, r := range rows {
		colour := colour(r[2])
		if colour == model.ColourUnknown {
			// A word that is not known makes the whole reading unknown.
			return model.Health{Rows: len(rows)}
		}
		h.Colour = max(h.Colour, colour)
		h.Missing += number(r[3])
		h.Underreplicated += number(r[4])
		table := r[0] + "." + r[1]
		if colour != model.Green && len(h.Tables) < maxTables && !slices.Contains(h.Tables, table) {
			h.Tables = append(h.Tables, table)
		}
		if colour == model.Red && len(h.Red) < maxTables && !slices.Contains(h.Red, table) {
			h.Red = append(h.Red, table)
		}
	}
	slices.Sort(h.Tables)
	slices.Sort(h.Red)
	return h
}

// host of "10.0.0.7:4200" or "[fd00::7]:4200"; "" where there is none.
func host(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// heap of a node's process; the zero value where it is not known.
func heap(used, limit string) model.Heap {
	h := model.Heap{Used: size(used), Max: size(limit)}
	if h.Used < 0 || h.Max <= 0 {
		return model.Heap{}
	}
	return h
}

// size in bytes, -1 where it is not known.
func size(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
