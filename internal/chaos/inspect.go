package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// isDone: the daemon says so, and the pods are what Git wants.
func (v *voyage) isDone(ctx context.Context, rec model.Record) bool {
	if !rec.Bootstrap.Done || rec.Operation != nil || rec.Lock != nil || rec.Stage != model.StageVerified || rec.Shown.Verdict != model.Done.String() {
		return false
	}
	pods, err := v.nodes.pods(ctx)
	if err != nil || len(pods) != v.want.nodes {
		return false
	}
	for i := range pods {
		if !isReady(&pods[i]) {
			return false
		}
		for _, container := range pods[i].Spec.Containers {
			if container.Name == manifest.CrateContainer &&
				(!strings.HasSuffix(container.Image, ":"+v.want.version) || container.Resources.Limits.Memory().String() != v.want.memory) {
				return false
			}
		}
	}
	return true
}

// settle waits until the operation is over: done, and green with all nodes.
func (v *voyage) settle(ctx context.Context) error {
	if err := v.until(ctx, "the daemon says done and there are "+v.want.String(), func() (bool, error) {
		if err := v.attend(); err != nil {
			return false, err
		}
		return v.isDone(ctx, v.record(ctx)), nil
	}); err != nil || v.want.nodes == 0 {
		return err
	}
	return v.until(ctx, "all nodes are there and green", func() (bool, error) {
		nodes, err := v.ask(ctx, "SELECT count(*) FROM sys.nodes")
		if err != nil || fmt.Sprint(nodes[0][0]) != fmt.Sprint(v.want.nodes) {
			return false, err
		}
		bad, err := v.ask(ctx, "SELECT table_name, health FROM sys.health WHERE health <> 'GREEN'")
		return err == nil && len(bad) == 0, err
	})
}

// ask asks any node, as the application's user.
func (v *voyage) ask(ctx context.Context, statement string) ([][]any, error) {
	a, err := v.answer(ctx, statement)
	return a.rows, err
}

func (v *voyage) answer(ctx context.Context, statement string) (answer, error) {
	pods, err := v.nodes.pods(ctx)
	if err != nil {
		return answer{}, err
	}
	for i := range pods {
		if !isReady(&pods[i]) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 8*attemptLimit)
		defer cancel()
		a, err := v.asks.overHTTP(ctx, pods[i].Status.PodIP, statement)
		if err != nil {
			return answer{}, fmt.Errorf("%s: %w", statement, err)
		}
		return a, nil
	}
	return answer{}, errNoNode
}

// fill makes the tables, and what is to be dropped with rows in it.
func (v *voyage) fill(ctx context.Context) error {
	statements := []string{fmt.Sprintf("CREATE TABLE doc.%s (n INTEGER PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 2)", seed)}
	for n := range seedRows {
		statements = append(statements, fmt.Sprintf("INSERT INTO doc.%s (n) VALUES (%d)", seed, n))
	}
	statements = append(statements, "REFRESH TABLE doc."+seed)
	for _, t := range tables {
		statements = append(statements, t.create())
	}
	for _, statement := range statements {
		if _, err := v.ask(ctx, statement); err != nil {
			return err
		}
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	// Each partition is there before it is read: while one is being made, its
	// shards cannot be.
	for _, t := range tables {
		if t.blob {
			continue
		}
		for range parts {
			if err := v.insert(ctx, t); err != nil {
				return err
			}
		}
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	var err error
	v.before, err = v.settings(ctx)
	return err
}

func (v *voyage) insert(ctx context.Context, t table) error {
	batch := v.load.next.Add(1)
	v.load.ledgers[t.name].send(batch, seedRows)
	a, err := v.answer(ctx, t.insertMany(batch))
	if err == nil {
		v.load.ledgers[t.name].ack(batch, a.count)
	}
	return err
}

func (v *voyage) drop(ctx context.Context) error {
	if _, err := v.ask(ctx, "DROP TABLE doc."+dropped); err != nil {
		return err
	}
	v.dropped = true
	return nil
}

// settings are what an operation may have changed for a while: the cluster's
// allocation, and each table's replicas and filters.
type settings map[string]string

func (v *voyage) settings(ctx context.Context) (settings, error) {
	s := settings{}
	rows, err := v.ask(ctx, "SELECT settings['cluster']['routing'] FROM sys.cluster")
	if err != nil {
		return s, err
	}
	s.put("cluster.routing", rows[0][0])
	rows, err = v.ask(ctx, fmt.Sprintf("SELECT table_name, number_of_replicas, settings['routing'] FROM information_schema.tables WHERE table_schema IN ('doc', 'blob') AND table_name <> '%s'", dropped))
	if err != nil {
		return s, err
	}
	for _, row := range rows {
		table := fmt.Sprint(row[0])
		s.put(table+" number_of_replicas", row[1])
		s.put(table+" routing", row[2])
	}
	return s, nil
}

func (s settings) put(path string, value any) {
	if object, ok := value.(map[string]any); ok {
		for key, inner := range object {
			s.put(path+"."+key, inner)
		}
		return
	}
	s[path] = fmt.Sprint(value)
}

// differences to what they were, in words; none: they are the same.
func (s settings) differences(before settings) []string {
	var all []string
	for path := range s {
		if old, known := before[path]; !known {
			all = append(all, fmt.Sprintf("%s is %q and was not set", path, s[path]))
		} else if old != s[path] {
			all = append(all, fmt.Sprintf("%s is %q and was %q", path, s[path], old))
		}
	}
	for path, old := range before {
		if _, known := s[path]; !known {
			all = append(all, fmt.Sprintf("%s is not set and was %q", path, old))
		}
	}
	slices.Sort(all)
	return all
}

// inspect counts the rows and looks at what has to be as it was.
func (v *voyage) inspect(ctx context.Context, row *Row) error {
	at := row.place()
	for _, t := range tables {
		if t.gone && v.dropped {
			continue
		}
		there, err := v.count(ctx, t)
		if err != nil {
			return err
		}
		rows := v.load.ledgers[t.name].compare(there)
		if t.replicas > 0 {
			row.Kept = row.Kept.plus(rows)
		} else {
			row.Exposed = row.Exposed.plus(rows)
		}
	}
	if v.dropped {
		found, err := v.ask(ctx, "SELECT table_name FROM information_schema.tables WHERE table_name = '"+dropped+"'")
		if err != nil {
			return err
		}
		if len(found) > 0 {
			v.report.violation("%s: table %s is there again, though it was dropped", at, dropped)
		}
	}
	after, err := v.settings(ctx)
	if err != nil {
		return err
	}
	for _, each := range after.differences(v.before) {
		v.report.violation("%s: a setting is not as it was: %s", at, each)
	}
	v.before = after // what is wrong is said once
	sets, err := v.sets(ctx)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if hold := set.Annotations[names.HoldAnnotation]; hold != "" {
			v.report.violation("%s: StatefulSet %s still says what is held: %s", at, set.Name, hold)
		}
	}
	return nil
}

// count is how many rows of each batch are in the table.
func (v *voyage) count(ctx context.Context, t table) (map[int64]int, error) {
	there := map[int64]int{}
	if t.blob {
		rows, err := v.ask(ctx, "SELECT digest FROM blob."+t.name+" LIMIT 10000000")
		if err != nil {
			return nil, err
		}
		batches := map[string]int64{}
		for id := range v.load.next.Load() + 1 {
			batches[digestOf(id)] = id
		}
		for _, row := range rows {
			id, known := batches[fmt.Sprint(row[0])]
			if !known {
				id = -1
			}
			there[id]++
		}
		return there, nil
	}
	if _, err := v.ask(ctx, "REFRESH TABLE doc."+t.name); err != nil {
		return nil, err
	}
	rows, err := v.ask(ctx, "SELECT batch, count(*) FROM doc."+t.name+" GROUP BY batch LIMIT 10000000")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		id, err := number(row[0])
		if err != nil {
			return nil, fmt.Errorf("reading what is in %s: %w", t.fullName(), err)
		}
		n, err := number(row[1])
		if err != nil {
			return nil, fmt.Errorf("reading what is in %s: %w", t.fullName(), err)
		}
		there[id] = int(n)
	}
	return there, nil
}

func number(value any) (int64, error) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v is no number", value)
	}
	return n.Int64()
}
