package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// demonstration does what a person would do, and shows what that person would see.
type demonstration struct {
	bed        *testbed.Testbed
	repository *testbed.Repository
	daemon     *testbed.Daemon
	say        func(string, ...any)
	binary     string
	began      time.Time
}

// change commits a definition, shows its plan, and pushes it.
func (d demonstration) change(ctx context.Context, message, text string) error {
	if err := d.repository.Commit(ctx, message, map[string]string{"orders.yaml": text}); err != nil {
		return err
	}
	if err := d.shown(ctx, "diff", d.repository.Work); err != nil {
		return err
	}
	return d.push(ctx)
}

func (d demonstration) push(ctx context.Context) error {
	if err := d.repository.Publish(ctx); err != nil {
		return err
	}
	fmt.Println("\n    $ git push")
	return nil
}

// done waits as a script would, for the commit that was pushed.
func (d demonstration) done(ctx context.Context) error {
	head, err := d.repository.Head(ctx)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, stderr, code, err := d.bed.Run(ctx, "wait", namespace+"/"+cluster, "--revision", head, "--timeout", patience.String())
		if err == nil && code != 0 {
			err = fmt.Errorf("stevedore wait ended with exit code %d: %s", code, stderr)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%w; stevedore's log:\n%s", err, d.daemon.Log())
		}
		return nil
	case <-d.daemon.Done():
		return fmt.Errorf("stevedore ended with exit code %d; its log:\n%s", d.daemon.ExitCode(), d.daemon.Log())
	}
}

// refused waits for the refusal of what was pushed, and gives its name.
func (d demonstration) refused(ctx context.Context) (name string, err error) {
	err = d.until(ctx, "the refusal in the status", func() bool {
		out, _, _, err := d.bed.Run(ctx, "status", namespace+"/"+cluster, "-o", "json")
		var statuses []struct {
			State   string
			Reasons []struct{ Kind, Name string }
		}
		if err != nil || json.Unmarshal([]byte(out), &statuses) != nil || len(statuses) != 1 || statuses[0].State != "refused" {
			return false
		}
		for _, reason := range statuses[0].Reasons {
			if reason.Kind == "refusal" {
				name = reason.Name
			}
		}
		return name != ""
	})
	return name, err
}

// until waits for something to become true while the daemon runs.
func (d demonstration) until(ctx context.Context, what string, so func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if so() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come within %s; stevedore's log:\n%s", what, patience, d.daemon.Log())
		case <-d.daemon.Done():
			return fmt.Errorf("stevedore ended with exit code %d; its log:\n%s", d.daemon.ExitCode(), d.daemon.Log())
		case <-d.bed.Sandbox.Done():
			return fmt.Errorf("the sandbox ended: %w", d.bed.Sandbox.Err())
		case <-tick.C:
		}
	}
}

func (d demonstration) status(ctx context.Context) error {
	return d.shown(ctx, "status", "-n", namespace)
}

// shown runs the binary, and prints the line and what it printed. A plan in which
// something differs, or is wrong, ends with a code that is none of ours.
func (d demonstration) shown(ctx context.Context, args ...string) error {
	out, stderr, _, err := d.bed.Run(ctx, args...)
	if err != nil {
		return fmt.Errorf("stevedore %s: %w: %s", args[0], err, stderr)
	}
	line := strings.ReplaceAll(strings.Join(args, " "), d.repository.Work, "clusters/")
	fmt.Println("\n    $ stevedore " + line)
	// Paths are relative to where this runs.
	shorter := []string{d.repository.Work, "clusters"}
	if here, err := os.Getwd(); err == nil {
		if path, err := filepath.Rel(here, d.repository.Work); err == nil {
			shorter = append([]string{path, "clusters"}, shorter...)
		}
	}
	fmt.Println(indent(strings.TrimSpace(strings.NewReplacer(shorter...).Replace(out + stderr))))
	return nil
}

// ask runs one statement as the user that the definition made, on the first pod.
func (d demonstration) ask(ctx context.Context, statement string) ([][]string, error) {
	pod, err := d.bed.Admin.CoreV1().Pods(namespace).Get(ctx, "crate-data-hot-"+cluster+"-0", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("finding the first pod: %w", err)
	}
	rows, err := d.bed.Query(ctx, pod.Status.PodIP, "app", "a password of the app's own", statement)
	if err != nil {
		return nil, fmt.Errorf("asking the database as the user app: %w", err)
	}
	return rows, nil
}

const rowsOfDemo = 1000

// fill makes a table that wants four copies, one more than there are nodes, and puts
// rows into it.
func (d demonstration) fill(ctx context.Context) error {
	values := make([]string, rowsOfDemo)
	for i := range values {
		values[i] = fmt.Sprintf("(%d)", i)
	}
	for _, statement := range []string{
		"create table doc.items (id int primary key) clustered into 6 shards with (number_of_replicas = '3')",
		"insert into doc.items (id) values " + strings.Join(values, ", "),
		"refresh table doc.items",
	} {
		if _, err := d.ask(ctx, statement); err != nil {
			return err
		}
	}
	d.say("`app` makes table doc.items and puts %d rows into it. Each of its 6 shards shall have three replicas, which is four copies; three nodes hold three of them", rowsOfDemo)
	return nil
}

// lower makes the table want two copies.
func (d demonstration) lower(ctx context.Context) error {
	const statement = "alter table doc.items set (number_of_replicas = '1')"
	d.say("`app`: %s; the daemon looks at the tables again by itself", statement)
	_, err := d.ask(ctx, statement)
	return err
}

// count fails when a row is missing.
func (d demonstration) count(ctx context.Context) error {
	rows, err := d.ask(ctx, "select count(*) from doc.items")
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != fmt.Sprint(rowsOfDemo) {
		return fmt.Errorf("doc.items has %v rows, not %d", rows, rowsOfDemo)
	}
	d.say("doc.items has all its %d rows", rowsOfDemo)
	return nil
}

// nodes asks Kubernetes and the database itself, as the user that the definition made.
func (d demonstration) nodes(ctx context.Context) error {
	pods, err := d.bed.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=" + cluster})
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	ready := 0
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				ready++
			}
		}
	}
	rows, err := d.ask(ctx, "select name from sys.nodes order by name")
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.New("the database names no node")
	}
	var seen []string
	for _, row := range rows {
		seen = append(seen, row[0])
	}
	d.say("%d pods are ready; `app` logs in and sees the nodes %s", ready, strings.Join(seen, ", "))
	return nil
}
