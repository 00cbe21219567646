// Command demo shows the main job on one machine: a definition pushed to a Git
// repository becomes a CrateDB cluster behind a real Kubernetes API server. It
// runs the shipped binary as a process, under the shipped rights only.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

const (
	namespace = "demo"
	cluster   = "orders"
	patience  = 5 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo: "+err.Error())
		os.Exit(1)
	}
}

func demo(ctx context.Context) (err error) {
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		return errors.New("STEVEDORE_BINARY is not set: run `make demo`")
	}
	began := time.Now()
	say := func(format string, arguments ...any) {
		fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
	}
	title := func(text string) { fmt.Printf("\n== %s\n", text) }

	title("A Kubernetes control plane on this machine: etcd, API server, controllers, scheduler")
	bed, err := testbed.Start(ctx, testbed.Options{
		Binary: binary, Deploy: "deploy", CrateDBHome: os.Getenv("CRATEDB_HOME"),
		Progress: func(line string) { say("%s", line) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Stop()) }()
	if err := bed.Namespace(ctx, namespace); err != nil {
		return err
	}
	if err := bed.Secret(ctx, namespace, "orders-app", map[string]string{"password": "a password of the app's own"}); err != nil {
		return err
	}
	receiver := testbed.NewReceiver(func(d testbed.Delivery) {
		say("webhook  %s", strings.TrimSpace(string(d.Body)))
	})
	defer receiver.Close()
	repository, err := testbed.NewRepository(ctx, bed.Dir, "clusters")
	if err != nil {
		return err
	}

	title("git push: a cluster of three nodes")
	fmt.Println(indent(definition(3)))
	if err := repository.Push(ctx, "orders: a first cluster", map[string]string{"orders.yaml": definition(3)}); err != nil {
		return err
	}
	say("pushed to %s", repository.URL)
	daemon, err := bed.Daemon(testbed.DaemonOptions{
		Args: []string{"--git", repository.URL, "--ref", "main", "--interval", "1s", "--namespace", namespace},
		Env:  []string{"WEBHOOK_URL=" + receiver.URL()},
		Out:  &narrator{say: say},
	})
	if err != nil {
		return err
	}
	defer func() {
		if daemon.Running() {
			_, stopping := daemon.Stop()
			err = errors.Join(err, stopping)
		}
	}()
	watch := watcher{bed: bed, daemon: daemon}
	if err := watch.until(ctx, "the webhook of a finished bootstrap", func() bool {
		for _, d := range receiver.Taken() {
			if d.Event == "feedback" && d.Status == "success" {
				return true
			}
		}
		return false
	}); err != nil {
		return err
	}
	if err := showStatus(ctx, bed); err != nil {
		return err
	}
	if err := showNodes(ctx, bed, say); err != nil {
		return err
	}

	title("git push: two nodes more")
	if err := repository.Push(ctx, "orders: grow to five", map[string]string{"orders.yaml": definition(5)}); err != nil {
		return err
	}
	scaled := func(times int) func() bool {
		return func() bool {
			told := 0
			for _, d := range receiver.Taken() {
				if d.Event == "scale" && d.Status == "success" {
					told++
				}
			}
			return told >= times
		}
	}
	if err := watch.until(ctx, "the webhook of a finished scale", scaled(1)); err != nil {
		return err
	}
	if err := showNodes(ctx, bed, say); err != nil {
		return err
	}

	title("git push: two nodes less, with data on them")
	if err := fill(ctx, bed, say); err != nil {
		return err
	}
	if err := repository.Push(ctx, "orders: shrink to three", map[string]string{"orders.yaml": definition(3)}); err != nil {
		return err
	}
	if err := watch.until(ctx, "the webhook of a finished shrink", scaled(2)); err != nil {
		return err
	}
	if err := showNodes(ctx, bed, say); err != nil {
		return err
	}
	if err := count(ctx, bed, say); err != nil {
		return err
	}

	title("git push: a mistake")
	broken := strings.Replace(definition(3), "replicas: 3", "replica: 3", 1)
	if err := repository.Push(ctx, "orders: a typing mistake", map[string]string{"orders.yaml": broken}); err != nil {
		return err
	}
	if err := watch.until(ctx, "the mistake in the status", func() bool {
		out, _, _, err := bed.Run(ctx, "status", "-n", namespace, cluster)
		return err == nil && strings.Contains(out, "orders.yaml:")
	}); err != nil {
		return err
	}
	if err := showStatus(ctx, bed); err != nil {
		return err
	}
	say("and the cluster runs on:")
	if err := showNodes(ctx, bed, say); err != nil {
		return err
	}

	if os.Getenv("DEMO_KEEP") == "1" {
		title("DEMO_KEEP=1: it stays until Ctrl-C; look around")
		fmt.Printf(`  export KUBECONFIG=%s
  kubectl -n %s get statefulsets,pods,services,configmaps,events
  %s status -n %s
  git clone %s
`, bed.Sandbox.Kubeconfig(), namespace, binary, namespace, repository.Bare)
		select {
		case <-ctx.Done():
		case <-daemon.Done():
			return errors.New("stevedore ended by itself")
		}
		return nil
	}
	title("that was it; everything is being removed")
	return nil
}

func definition(replicas int) string {
	return fmt.Sprintf(`apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: %s, namespace: %s}
spec:
  cluster: {name: orders, imageRegistry: crate, version: 6.4.3}
  nodes:
    data:
    - name: hot
      replicas: %d
      resources:
        limits: {cpu: 1, memory: 1Gi}
        disk: {count: 1, size: 16GiB, storageClass: default}
        heapRatio: 0.5
  users:
  - name: app
    password: {secretKeyRef: {name: orders-app, key: password}}
  operations: {masterStableFor: 2s} # two minutes, unless it is a demo
`, cluster, namespace, replicas)
}

// watcher waits for something to become true while the daemon runs.
type watcher struct {
	bed    *testbed.Testbed
	daemon *testbed.Daemon
}

func (w watcher) until(ctx context.Context, what string, so func() bool) error {
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
			return fmt.Errorf("%s did not come within %s; stevedore's log:\n%s", what, patience, w.daemon.Log())
		case <-w.daemon.Done():
			return fmt.Errorf("stevedore ended with exit code %d; its log:\n%s", w.daemon.ExitCode(), w.daemon.Log())
		case <-w.bed.Sandbox.Done():
			return fmt.Errorf("the sandbox ended: %w", w.bed.Sandbox.Err())
		case <-tick.C:
		}
	}
}

func showStatus(ctx context.Context, bed *testbed.Testbed) error {
	out, stderr, _, err := bed.Run(ctx, "status", "-n", namespace)
	if err != nil {
		return fmt.Errorf("stevedore status: %w: %s", err, stderr)
	}
	fmt.Println("\n$ stevedore status -n " + namespace)
	fmt.Println(indent(out))
	return nil
}

// ask runs one statement as the user that the definition made, on the first pod.
func ask(ctx context.Context, bed *testbed.Testbed, statement string) ([][]string, error) {
	pod, err := bed.Admin.CoreV1().Pods(namespace).Get(ctx, "crate-data-hot-"+cluster+"-0", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("finding the first pod: %w", err)
	}
	rows, err := bed.Query(ctx, pod.Status.PodIP, "app", "a password of the app's own", statement)
	if err != nil {
		return nil, fmt.Errorf("asking the database as the user app: %w", err)
	}
	return rows, nil
}

const rowsOfDemo = 1000

// fill makes a table with a replica, and puts rows into it.
func fill(ctx context.Context, bed *testbed.Testbed, say func(string, ...any)) error {
	values := make([]string, rowsOfDemo)
	for i := range values {
		values[i] = fmt.Sprintf("(%d)", i)
	}
	for _, statement := range []string{
		"create table doc.items (id int primary key) clustered into 6 shards with (number_of_replicas = '1')",
		"insert into doc.items (id) values " + strings.Join(values, ", "),
		"refresh table doc.items",
	} {
		if _, err := ask(ctx, bed, statement); err != nil {
			return err
		}
	}
	say("`app` makes table doc.items with 6 shards and a replica of each, and puts %d rows into it", rowsOfDemo)
	return nil
}

// count fails when a row is missing.
func count(ctx context.Context, bed *testbed.Testbed, say func(string, ...any)) error {
	rows, err := ask(ctx, bed, "select count(*) from doc.items")
	if err != nil {
		return err
	}
	if len(rows) != 1 || rows[0][0] != fmt.Sprint(rowsOfDemo) {
		return fmt.Errorf("doc.items has %v rows, not %d", rows, rowsOfDemo)
	}
	say("doc.items has all its %d rows", rowsOfDemo)
	return nil
}

// showNodes asks the database itself, as the user that the definition made.
func showNodes(ctx context.Context, bed *testbed.Testbed, say func(string, ...any)) error {
	pods, err := bed.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=" + cluster})
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
	rows, err := ask(ctx, bed, "select name, version['number'] from sys.nodes order by name")
	if err != nil {
		return err
	}
	say("%d pods ready; `app` logs in and sees:", ready)
	for _, row := range rows {
		say("    node %s, CrateDB %s", row[0], row[1])
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// narrator prints the daemon's log lines in short.
type narrator struct {
	say  func(string, ...any)
	rest string
}

var logLine = regexp.MustCompile(`level=(\S+) msg=("(?:[^"\\]|\\.)*"|\S+)(.*)$`)

func (n *narrator) Write(p []byte) (int, error) {
	n.rest += string(p)
	for {
		line, rest, found := strings.Cut(n.rest, "\n")
		if !found {
			return len(p), nil
		}
		n.rest = rest
		if match := logLine.FindStringSubmatch(line); match != nil {
			message := match[2]
			if strings.HasPrefix(message, `"`) {
				var text string
				if json.Unmarshal([]byte(message), &text) == nil {
					message = text
				}
			}
			n.say("stevedore  %s%s", message, shorten(match[3]))
		}
	}
}

var noise = regexp.MustCompile(` (namespace|cluster|id|revision|commit|source|reason|event|operation|action)=("(?:[^"\\]|\\.)*"|\S+)`)

func shorten(attributes string) string {
	return noise.ReplaceAllStringFunc(attributes, func(attribute string) string {
		if strings.HasPrefix(attribute, " action=") {
			return attribute
		}
		return ""
	})
}
