package differential

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// modelCluster is the simulator's cluster.
type modelCluster = *model.Cluster

// inModel runs f on the simulator's cluster, between two statements.
func (p *Pair) inModel(f func(modelCluster)) {
	p.hub.Do(func(m *model.Model) {
		for _, c := range m.Clusters() {
			if c.Master() != nil {
				f(c)
				return
			}
		}
	})
}

// reset brings both clusters back to nothing: no table, no user but crate and system,
// no setting, all nodes. Nothing moves by itself then but what has to.
func (p *Pair) reset(ctx context.Context) error {
	started := false
	defer p.since("reset", time.Now())
	p.unlock()
	err := p.each(func(c *cluster) error {
		began, err := c.reset(ctx)
		if c == p.real {
			started = began
		}
		return err
	})
	if err != nil {
		return err
	}
	if started || p.number == 1 {
		if err := p.sizes(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reset starts what does not run and takes everything away; began says whether a node was
// started.
func (c *cluster) reset(ctx context.Context) (began bool, err error) {
	for i := range Nodes {
		if !c.up[i] {
			if err := c.start(i); err != nil {
				return began, err
			}
			c.up[i], began = true, true
		}
	}
	if began {
		if err := c.joined(ctx, Nodes); err != nil {
			return began, err
		}
	}
	return began, c.clear(ctx)
}

// baseline are the settings of an empty cluster.
var baseline = []string{
	`UPDATE sys.node_checks SET acknowledged = FALSE`,
	`RESET GLOBAL "cluster.routing"`,
	`RESET GLOBAL "cluster.max_shards_per_node"`,
	`RESET GLOBAL "stats.enabled"`,
	`SET GLOBAL PERSISTENT "cluster.routing.rebalance.enable" = 'none'`,
}

func (c *cluster) clear(ctx context.Context) error {
	for _, part := range []func(context.Context) error{c.clearTables, c.clearViews, c.clearUsers, c.clearRepositories} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	for _, stmt := range baseline {
		if _, err := c.must(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) clearTables(ctx context.Context) error {
	a, err := c.must(ctx, "SELECT table_schema, table_name, closed FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('sys', 'information_schema', 'pg_catalog')")
	if err != nil {
		return err
	}
	for _, r := range a.rows {
		schema, table := fmt.Sprint(r[0]), fmt.Sprint(r[1])
		stmt := fmt.Sprintf(`DROP TABLE "%s"."%s"`, schema, table)
		if schema == "blob" {
			stmt = fmt.Sprintf(`DROP BLOB TABLE "%s"`, table)
		}
		if r[2] == true {
			if _, err := c.must(ctx, fmt.Sprintf(`ALTER TABLE "%s"."%s" OPEN`, schema, table)); err != nil {
				return err
			}
		}
		if _, err := c.must(ctx, stmt); err == nil {
			continue
		}
		// A table with a block is not dropped.
		if _, err := c.must(ctx, fmt.Sprintf(`ALTER TABLE "%s"."%s" RESET ("blocks.read", "blocks.write", "blocks.metadata", "blocks.read_only")`, schema, table)); err != nil {
			return err
		}
		if _, err := c.must(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

// clearRepositories takes all repositories away, and what snapshots have left in their folders.
func (c *cluster) clearRepositories(ctx context.Context) error {
	// A snapshot that runs keeps its repository.
	a, err := c.must(ctx, "SELECT repository, name FROM sys.snapshots WHERE state = 'IN_PROGRESS'")
	if err != nil {
		return err
	}
	for _, r := range a.rows {
		if _, err := c.must(ctx, fmt.Sprintf(`DROP SNAPSHOT "%s"."%s"`, r[0], r[1])); err != nil {
			return err
		}
	}
	a, err = c.must(ctx, "SELECT name FROM sys.repositories")
	if err != nil {
		return err
	}
	for _, r := range a.rows {
		if _, err := c.must(ctx, fmt.Sprintf(`DROP REPOSITORY "%s"`, r[0])); err != nil {
			return err
		}
	}
	folders, err := filepath.Glob(filepath.Join(c.repositories, "*"))
	if err != nil {
		return err
	}
	for _, f := range folders {
		if err := os.RemoveAll(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) clearViews(ctx context.Context) error {
	a, err := c.must(ctx, "SELECT table_schema, table_name FROM information_schema.views WHERE table_schema NOT IN ('sys', 'information_schema', 'pg_catalog')")
	if err != nil {
		return err
	}
	for _, r := range a.rows {
		if _, err := c.must(ctx, fmt.Sprintf(`DROP VIEW "%s"."%s"`, r[0], r[1])); err != nil {
			return err
		}
	}
	return nil
}

// clearUsers takes all users and roles away but crate and system, which gets its
// privileges again and no other.
func (c *cluster) clearUsers(ctx context.Context) error {
	c.disconnect() // an open session keeps what its user could see
	roles, err := c.must(ctx, "SELECT name FROM sys.roles")
	if err != nil {
		return err
	}
	for _, r := range roles.rows {
		if _, err := c.overHTTP(ctx, "crate", fmt.Sprintf(`REVOKE "%s" FROM system`, r[0]), nil); err != nil {
			return err
		}
		if _, err := c.must(ctx, fmt.Sprintf(`DROP ROLE "%s"`, r[0])); err != nil {
			return err
		}
	}
	users, err := c.must(ctx, "SELECT name FROM sys.users WHERE name NOT IN ('crate', 'system')")
	if err != nil {
		return err
	}
	for _, r := range users.rows {
		if _, err := c.must(ctx, fmt.Sprintf(`DROP USER "%s"`, r[0])); err != nil {
			return err
		}
	}
	a, err := c.must(ctx, "SELECT class, ident, state, type FROM sys.privileges WHERE grantee = 'system'")
	if err != nil {
		return err
	}
	clean := 0
	for _, r := range a.rows {
		if r[0] == "CLUSTER" && r[2] == "GRANT" {
			clean++
			continue
		}
		object := ""
		if r[0] != "CLUSTER" {
			// Each part of a table's name by itself.
			object = fmt.Sprintf(` ON %s "%s"`, r[0], strings.ReplaceAll(fmt.Sprint(r[1]), ".", `"."`))
		}
		if _, err := c.must(ctx, fmt.Sprintf("REVOKE %s%s FROM system", r[3], object)); err != nil {
			return err
		}
	}
	if clean == 4 && len(a.rows) == 4 {
		return nil
	}
	_, err = c.must(ctx, "GRANT ALL PRIVILEGES TO system")
	return err
}
