package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

const (
	cluster = "orders"
	user    = "app"
	// password of a cluster that lives for minutes on loopback.
	password = "a password of the app's own"
)

// Options of Run.
type Options struct {
	// Bed is a running sandbox, or stands on real nodes; required.
	Bed *testbed.Testbed
	// Machine is that of a Node, where nodes are real; nil: a sandbox's have none.
	Machine func(node string) Machine
	// Voyages to make; empty: Full.
	Voyages []Voyage
	// Pace is the pause between two statements of each writer and reader; 0: 50 ms.
	Pace time.Duration
	// Patience bounds each operation; 0: 10 minutes.
	Patience time.Duration
	// LeaseDuration of the daemon; 0: 3 s, so that one that is killed is followed
	// soon. On a machine that is short of time it is lost too easily.
	LeaseDuration time.Duration
	// Seed of the random choices: which node is killed, and when.
	Seed uint64
	// Say gets one line a step, Log what the daemons write; nil: nothing.
	Say func(string)
	Log io.Writer
}

// Run makes the voyages one after the other. The error is of what kept it from
// going on; what was violated is in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	if len(o.Voyages) == 0 {
		o.Voyages = Full()
	}
	if o.Pace == 0 {
		o.Pace = 50 * time.Millisecond
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	if o.LeaseDuration == 0 {
		o.LeaseDuration = 3 * time.Second
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	var report Report
	for i, each := range o.Voyages {
		v := &voyage{Options: o, Voyage: each, report: &report, random: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
		if err := v.make(ctx); err != nil {
			report.violation("%s: %v", each.Name, err)
			if ctx.Err() != nil {
				return report, err
			}
		}
		report.judge(each.Name)
	}
	return report, nil
}

// voyage is one on its way.
type voyage struct {
	Options
	Voyage
	report *Report
	random *rand.Rand

	want       wanted
	repository *testbed.Repository
	daemon     *testbed.Daemon
	nodes      *endpoints
	load       *load
	asks       *client
	before     settings
	dropped    bool
}

func (v *voyage) say(format string, arguments ...any) {
	v.Say(v.Voyage.Name + ": " + fmt.Sprintf(format, arguments...))
}

func (v *voyage) make(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := v.depart(ctx); err != nil {
		return fmt.Errorf("making a cluster: %w", err)
	}
	defer func() { err = errors.Join(err, v.arrive()) }()
	followed := make(chan struct{})
	go func() { defer close(followed); v.nodes.follow(ctx) }()
	defer func() { cancel(); <-followed }()
	if err := v.fill(ctx); err != nil {
		return fmt.Errorf("making the tables: %w", err)
	}
	for _, step := range v.Steps {
		if err := v.step(ctx, step); err != nil {
			return fmt.Errorf("%s, %s: %w", step.Operation.Name, step.Fault, err)
		}
	}
	return nil
}

// depart makes the cluster through Git.
func (v *voyage) depart(ctx context.Context) error {
	v.want = wanted{version: v.Version, nodes: 3, memory: "1Gi"}
	ns := v.Voyage.Name
	if err := v.Bed.Namespace(ctx, ns); err != nil {
		return err
	}
	if err := v.Bed.Lease(ctx, ns); err != nil {
		return err
	}
	if err := v.Bed.Secret(ctx, ns, user+"-password", map[string]string{"password": password}); err != nil {
		return err
	}
	var err error
	if v.repository, err = testbed.NewRepository(ctx, v.Bed.Dir, "chaos-"+ns); err != nil {
		return err
	}
	v.nodes = &endpoints{client: v.Bed.Admin, namespace: ns}
	v.load = newLoad(v.nodes, password, v.Pace)
	v.asks = newClient(v.load.http, user, password)
	if err := v.push(ctx, "a cluster"); err != nil {
		return err
	}
	if err := v.startDaemon(); err != nil {
		return err
	}
	began := time.Now()
	if err := v.settle(ctx); err != nil {
		return err
	}
	v.say("%s, after %s", v.want, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// arrive ends what the voyage has started: its pods would take the machine from
// the next one.
func (v *voyage) arrive() error {
	var failed error
	if v.daemon != nil && v.daemon.Running() {
		if _, err := v.daemon.Stop(); err != nil {
			failed = err
		}
	}
	v.asks.close()
	v.load.http.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	sets := v.Bed.Admin.AppsV1().StatefulSets(v.Voyage.Name)
	failed = errors.Join(failed, sets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	failed = errors.Join(failed, v.until(ctx, "the pods have ended", func() (bool, error) {
		pods, err := v.nodes.pods(ctx)
		return len(pods) == 0, err
	}))
	if v.Machine != nil { // the disks of real nodes are small
		failed = errors.Join(failed, v.Bed.Admin.CoreV1().PersistentVolumeClaims(v.Voyage.Name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	return failed
}

func (v *voyage) push(ctx context.Context, message string) error {
	return v.repository.Push(ctx, message, map[string]string{"orders.yaml": v.want.definition(v.Voyage.Name)})
}

func (v *voyage) startDaemon() (err error) {
	v.daemon, err = v.Bed.Daemon(testbed.DaemonOptions{
		Args:  []string{"--git", v.repository.URL, "--ref", "main", "--interval", "1s", "--namespace", v.Voyage.Name, "--lease-duration", v.LeaseDuration.String()},
		Lease: v.Voyage.Name, Out: v.Log,
	})
	return err
}

// attend starts a daemon again that has ended by itself, as Kubernetes does: one
// that could not renew its Lease in time ends.
func (v *voyage) attend() error {
	if v.daemon.Running() {
		return nil
	}
	v.report.notes = append(v.report.notes, fmt.Sprintf("%s: stevedore ended by itself, with exit code %d, and was started again: %s",
		v.Voyage.Name, v.daemon.ExitCode(), lastLine(v.daemon.Log())))
	v.say("stevedore ended by itself, with exit code %d, and is started again", v.daemon.ExitCode())
	return v.startDaemon()
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// step carries out one operation under load and looks at the data.
func (v *voyage) step(ctx context.Context, s Step) error {
	if s.Operation.drop {
		if err := v.drop(ctx); err != nil {
			return err
		}
	}
	row := Row{Voyage: v.Voyage.Name, Operation: s.Operation.Name, Fault: s.Fault}
	if !s.Operation.rests {
		v.load.start(ctx)
	}
	stopped := s.Operation.rests
	measured := map[string]*Meter{}
	stop := func() {
		if !stopped {
			stopped, measured = true, v.load.stop()
		}
	}
	defer stop()
	began := time.Now()
	before := v.record(ctx)
	s.Operation.change(&v.want)
	if err := v.push(ctx, s.Operation.Name); err != nil {
		return err
	}
	if err := v.harm(ctx, s.Fault, before.Revision); err != nil {
		return err
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	row.Took = time.Since(began)
	stop()
	for _, t := range tables {
		if m := measured[t.name]; m != nil && t.replicas > 0 {
			row.Replicated = row.Replicated.plus(*m)
		} else if m != nil {
			row.Bare = row.Bare.plus(*m)
		}
	}
	if v.want.nodes > 0 {
		if err := v.inspect(ctx, &row); err != nil {
			return err
		}
	}
	v.report.Rows = append(v.report.Rows, row)
	v.report.judgeRow(row)
	k := row.Replicated.Reads.plus(row.Replicated.Writes)
	v.say("%s, %s: %s, %d statements, %d failed, %d rows acknowledged, %d lost", s.Operation.Name, s.Fault,
		row.Took.Round(100*time.Millisecond), k.Statements, k.Failed, row.Kept.Acknowledged, row.Kept.Lost)
	return nil
}

// harm waits until the operation is under way, and kills something at a moment
// that the seed chooses.
func (v *voyage) harm(ctx context.Context, fault Fault, before string) error {
	if fault == NoFault {
		return nil
	}
	if err := v.until(ctx, "the operation has begun", func() (bool, error) {
		rec := v.record(ctx)
		return rec.Revision != before && (rec.Operation != nil || v.isDone(ctx, rec)), nil
	}); err != nil {
		return err
	}
	// A suspension is over soon.
	if v.want.nodes > 0 {
		moment := time.NewTimer(time.Duration(v.random.Int64N(int64(harmWithin))))
		defer moment.Stop()
		select {
		case <-moment.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fault == DaemonKilled {
		v.daemon.Kill()
		v.say("the daemon is dead, and is started again")
		return v.startDaemon()
	}
	if fault != NodeKilled {
		return v.harmMachine(ctx, fault)
	}
	return v.killNode(ctx)
}

// killNode kills any CrateDB process that runs, as soon as there is one: none may
// yet, in a cluster that resumes.
func (v *voyage) killNode(ctx context.Context) error {
	return v.until(ctx, "a node is killed", func() (bool, error) {
		pods, err := v.nodes.pods(ctx)
		if err != nil {
			return false, err
		}
		v.random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		for i := range pods {
			if err = v.Bed.Sandbox.KillNode(v.Voyage.Name, pods[i].Name); err == nil {
				v.say("%s is killed", pods[i].Name)
				return true, nil
			}
		}
		if len(pods) == 0 && v.want.nodes == 0 {
			v.say("there is no node to kill any more")
			return true, nil
		}
		return false, err
	})
}

// harmWithin is how long after the beginning of an operation something is killed
// at the latest.
const harmWithin = 3 * time.Second

// record is the cluster's; the zero one while there is none.
func (v *voyage) record(ctx context.Context) model.Record {
	var rec model.Record
	object, err := v.Bed.Admin.CoreV1().ConfigMaps(v.Voyage.Name).Get(ctx, names.OperationConfigMap(cluster), metav1.GetOptions{})
	if err != nil || record.Decode(record.Operation, object.Data[names.DataKey], &rec) != nil {
		return model.Record{}
	}
	return rec
}

// until waits for a condition, the daemon being alive, as long as Patience.
func (v *voyage) until(ctx context.Context, what string, so func() (bool, error)) error {
	limit := time.NewTimer(v.Patience)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := so()
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-limit.C:
			return errors.Join(fmt.Errorf("not within %s: %s; status:\n%s", v.Patience, what, v.status(ctx)), err)
		}
	}
}

func (v *voyage) status(ctx context.Context) string {
	out, stderr, _, err := v.Bed.Run(ctx, "status", "-n", v.Voyage.Name)
	if err != nil {
		return err.Error()
	}
	return out + stderr
}
