// Command demo shows the main job on one machine: a definition pushed to a Git
// repository becomes a CrateDB cluster behind a real Kubernetes API server. It
// runs the shipped binary as a process, under the shipped rights only.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

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
	show := demo
	if len(os.Args) > 1 && os.Args[1] == "disaster" {
		show = disaster
	}
	if err := run(ctx, show); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo: "+err.Error())
		os.Exit(1)
	}
}

// stage is what a demonstration stands on.
type stage struct {
	demonstration
	receiver *testbed.Receiver
}

func title(text string) { fmt.Printf("\n== %s\n", text) }

// run starts what a demonstration stands on, and ends it.
func run(ctx context.Context, show func(context.Context, *stage) error) (err error) {
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		return errors.New("STEVEDORE_BINARY is not set: run `make demo`")
	}
	began := time.Now()
	say := func(format string, arguments ...any) {
		fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
	}
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
		say("webhook  %s", told(d.Body))
	})
	defer receiver.Close()
	repository, err := testbed.NewRepository(ctx, bed.Dir, "clusters")
	if err != nil {
		return err
	}
	return show(ctx, &stage{demonstration{bed: bed, repository: repository, say: say, binary: binary, began: began}, receiver})
}

// start starts the daemon.
func (s *stage) start() (err error) {
	s.daemon, err = s.bed.Daemon(testbed.DaemonOptions{
		Args: []string{"--git", s.repository.URL, "--ref", "main", "--interval", "1s", "--namespace", namespace},
		Env:  []string{"WEBHOOK_URL=" + s.receiver.URL()},
		Out:  &narrator{say: s.say},
	})
	return err
}

// stop ends the daemon, if it runs.
func (s *stage) stop() error {
	if s.daemon == nil || !s.daemon.Running() {
		return nil
	}
	_, err := s.daemon.Stop()
	return err
}

func demo(ctx context.Context, show *stage) (err error) {
	title("A cluster of three nodes")
	fmt.Println(indent(definition(3)))
	if err := show.repository.Commit(ctx, "orders: a first cluster", map[string]string{"orders.yaml": definition(3)}); err != nil {
		return err
	}
	if err := show.push(ctx); err != nil {
		return err
	}
	if err := show.start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, show.stop()) }()
	if err := show.done(ctx); err != nil {
		return err
	}
	if err := show.nodes(ctx); err != nil {
		return err
	}
	if err := show.fill(ctx); err != nil {
		return err
	}

	title("Two nodes more: what a push will do is known before it is made")
	if err := show.change(ctx, "orders: grow to five", definition(5)); err != nil {
		return err
	}
	if err := show.done(ctx); err != nil {
		return err
	}
	if err := show.nodes(ctx); err != nil {
		return err
	}

	title("A dangerous push: back to three nodes, and the table wants four copies of each row")
	if err := show.change(ctx, "orders: shrink to three", definition(3)); err != nil {
		return err
	}
	refused, err := show.refused(ctx)
	if err != nil {
		return err
	}
	if err := show.status(ctx); err != nil {
		return err
	}
	show.say("nothing of it was applied: no pod is stopped, no shard moves")
	if err := show.nodes(ctx); err != nil {
		return err
	}

	title("Its owner is content with two copies: the push that waits goes on by itself")
	if err := show.lower(ctx); err != nil {
		return err
	}
	if err := show.done(ctx); err != nil {
		return err
	}
	if err := show.nodes(ctx); err != nil {
		return err
	}
	if err := show.count(ctx); err != nil {
		return err
	}

	title("A typing mistake")
	broken := strings.Replace(definition(3), "replicas: 3", "replica: 3", 1)
	if err := show.change(ctx, "orders: a typing mistake", broken); err != nil {
		return err
	}
	if err := show.until(ctx, "the mistake in the status", func() bool {
		out, _, _, err := show.bed.Run(ctx, "status", "-n", namespace, cluster)
		return err == nil && strings.Contains(out, "orders.yaml:")
	}); err != nil {
		return err
	}
	if err := show.status(ctx); err != nil {
		return err
	}
	if err := show.count(ctx); err != nil {
		return err
	}

	if os.Getenv("DEMO_KEEP") == "1" {
		title("DEMO_KEEP=1: it stays until Ctrl-C; look around")
		fmt.Printf(`  export KUBECONFIG=%s
  kubectl -n %s get statefulsets,pods,services,configmaps,events
  %s status -n %s
  git clone %s
`, show.bed.Sandbox.Kubeconfig(), namespace, show.binary, namespace, show.repository.Bare)
		select {
		case <-ctx.Done():
		case <-show.daemon.Done():
			return errors.New("stevedore ended by itself")
		}
		return nil
	}
	if err := show.stop(); err != nil {
		return err
	}
	title("What you have seen")
	fmt.Printf(`  A definition in Git became a cluster, and each later push changed it:
    3 nodes -> 5     the plan stands above what then happened
    5 nodes -> 3     refused by name (%s), with numbers, before anything was touched
                     and done once the table allowed it: each node was emptied
                     before it went, and all %d rows are there
    a mistake        named with file and line; the cluster ran on as it was
  Whoever pushed was told by webhook each time. Took %.0f s, and is being removed.
  Your own cluster: README.md, "Five minutes to your own cluster".
`, refused, rowsOfDemo, time.Since(show.began).Seconds())
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

// told is a webhook's body without what it leaves open.
func told(body []byte) string {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return strings.TrimSpace(string(body))
	}
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	short, err := json.Marshal(fields)
	if err != nil {
		return strings.TrimSpace(string(body))
	}
	return string(short)
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

// empty attributes, and those that a machine reads.
var empty = regexp.MustCompile(` (found|fields|why|before|names)=("(?:[^"\\]|\\.)*"|\S+)`)

func shorten(attributes string) string {
	attributes = empty.ReplaceAllString(attributes, "")
	return noise.ReplaceAllStringFunc(attributes, func(attribute string) string {
		if strings.HasPrefix(attribute, " action=") {
			return attribute
		}
		return ""
	})
}
