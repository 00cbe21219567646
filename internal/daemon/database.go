package daemon

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/telemetry"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/rollout"
	"stevedore.dev/stevedore/ops/scale"
	"stevedore.dev/stevedore/ops/setting"
)

// healthInterval is how often health is told to the receiver, as crate-operator
// does it.
const healthInterval = time.Minute

// client reaches this cluster's database.
func (w *worker) client() cratedb.Client {
	client := cratedb.Client{Dialer: w.dialer(), Listings: &w.listings, Secrets: w.hidden, Sent: w.metrics.StatementSent(w.key)}
	if w.renderedFrom.Definition == nil {
		return client
	}
	spec := w.renderedFrom.Definition.Spec
	client.Port = spec.Ports.Postgres
	if spec.Cluster.SSL != nil {
		client.TLS = &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: w.options.DatabaseCA,
			ServerName: names.Service(w.key.Name) + "." + w.key.Namespace + ".svc",
			// Without a CA the certificate says nothing; cratedb takes this only
			// over a way that counts as ours.
			InsecureSkipVerify: w.options.DatabaseCA == nil,
		}
	}
	return client
}

func (w *worker) dialer() cratedb.Dialer {
	if w.options.Connect == ConnectPortForward {
		return forwardDialer{cfg: w.plain, client: w.kube, namespace: w.key.Namespace}
	}
	return podDialer{address: func(name string) string {
		for _, pod := range w.live.Pods(w.key.Namespace, w.key.Name) {
			if pod.Name == name {
				return pod.Status.PodIP
			}
		}
		return ""
	}}
}

// tools are what this cluster's executors act through, fenced by the Lease.
func (w *worker) tools() execute.Tools {
	write := objects{
		client: w.kube, applier: w.applier, cluster: w.key, wrote: w.live.Wrote,
		deleted: func(uid string) { w.deleted = append(w.deleted, uid) },
	}
	exec := podExec{cfg: w.plain, client: w.kube, namespace: w.key.Namespace}
	crash := cratedb.Crash{Executor: exec, Secrets: w.hidden}
	if w.renderedFrom.Definition != nil {
		crash.HTTPPort = w.renderedFrom.Definition.Spec.Ports.HTTP
		crash.TLS = w.renderedFrom.Definition.Spec.Cluster.SSL != nil
	}
	return execute.Tools{
		Objects: write, Secrets: write,
		Database:  fencedDatabase{w.client(), w.leadership},
		Crash:     fencedCrash{crash, w.leadership},
		Volume:    fencedVolume{cratedb.Volume{Executor: exec, Paths: w.dataPaths}, w.leadership},
		Snapshots: w.client(),
		Password:  NewPassword,
	}
}

// dataPaths are those that the process in a pod was started with.
func (w *worker) dataPaths(name string) []string {
	for _, pod := range w.live.Pods(w.key.Namespace, w.key.Name) {
		if pod.Name != name {
			continue
		}
		for _, container := range pod.Spec.Containers {
			if container.Name == manifest.CrateContainer {
				return manifest.DataPathsOf(slices.Concat(container.Command, container.Args))
			}
		}
	}
	return nil
}

// NewPassword has 192 random bits, in characters that need no quoting anywhere.
func NewPassword() (string, error) {
	bits := make([]byte, 24)
	if _, err := rand.Read(bits); err != nil {
		return "", fmt.Errorf("reading random bits for a password: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(bits), nil
}

// onAll decides. What takes a node down rests on no reading that has taken over an earlier
// one: then everything is read, and decided again.
func onAll(reading *model.Database, before *model.Record, decide func() model.Decision, readAll func()) model.Decision {
	decision := decide()
	if reading.TakenOver() && takesDown(before, &decision) {
		readAll()
		decision = decide()
	}
	return decision
}

// takesDown reports whether a decision takes nodes down: by an action, or by fewer replicas.
func takesDown(before *model.Record, decision *model.Decision) bool {
	return decision.Disruptive != nil || slices.ContainsFunc(before.Sets, func(was model.RecordedSet) bool {
		i := slices.IndexFunc(decision.Record.Sets, func(s model.RecordedSet) bool { return s.Name == was.Name })
		return i < 0 || decision.Record.Sets[i].Replicas < was.Replicas
	})
}

// observeAll asks the database for everything, whatever was read a moment ago.
func (w *worker) observeAll(ctx context.Context, desired model.Desired, rec model.Record, observed *model.Observed) {
	w.reading = model.Database{}
	w.observeDatabase(ctx, desired, rec, observed)
	observed.At = w.reading.At
}

// observeDatabase asks the database, unless it was asked a moment ago.
func (w *worker) observeDatabase(ctx context.Context, desired model.Desired, rec model.Record, observed *model.Observed) {
	detailed := rollout.Detailed(&desired, &rec)
	defer func() { observed.Database, observed.Stable = w.reading, w.stable }()
	password, tried := w.systemPassword(desired.Namespace, names.SystemSecret(desired.Name))
	settings := setting.SettingsToRead(&desired, &rec, observed.Pods)
	detailed = detailed || budget.BudgetDetail(&rec, &w.reading)
	if age := time.Since(w.reading.At); age < w.options.Interval && budget.BudgetsFirst(&rec, observed.Pods, observed.Claims) {
		return
	}
	target := cratedb.Target{
		Pods: running(observed.Pods), Detailed: detailed, Settings: settings, Password: password,
		Listing: backup.NeedsListing(&desired, &rec, time.Now()), Readable: backup.NeedsTables(&desired, &rec),
		Restore: backup.NeedsRestore(&desired, &rec) || fetch.NeedsReading(&desired, &rec),
		Facts:   backup.NeedsFacts(&desired, &rec), Hidden: fetch.Hidden(&rec),
	}
	unhidden := !slices.Equal(target.Hidden, w.reading.Hidden)
	if recent := time.Since(w.reading.At) < w.readingAge(); recent && !unhidden && w.answers(&target) && w.reading.SystemSecret == tried {
		return
	}
	if w.dataDue(time.Now()) {
		target.Detailed = true
	} else if !unhidden {
		target.Unless = w.lastWhole()
	}
	w.ask(ctx, target, tried)
	observed.Database = w.reading
	if wanted := scale.NeedsEvidence(&desired, observed, &rec); wanted.Wanted() {
		w.whilePodsAnswer(func() { w.reading.Evidence = execute.Examine(ctx, w.tools(), wanted) })
	}
}

// answers reports whether the last reading has what this one would ask for. A listing is always a new one.
func (w *worker) answers(t *cratedb.Target) bool {
	r := &w.reading
	switch {
	case t.Listing, t.Detailed && !w.detailed:
		return false
	case t.Restore && !r.Restore.Known, t.Readable && !r.UnreadableKnown, t.Facts && !r.FactsKnown:
		return false
	}
	return slices.Equal(t.Settings, r.SettingsAsked)
}

// systemPassword is what the user system logs in with, and of which Secret.
func (w *worker) systemPassword(namespace, name string) (password string, tried model.SecretVersion) {
	secret, ok := w.live.Secret(namespace, name)
	if !ok {
		return "", model.SecretVersion{}
	}
	return string(secret.Data["password"]), model.SecretVersion{UID: string(secret.UID), ResourceVersion: secret.ResourceVersion}
}

// running are the pods in which a process may answer.
func running(pods []model.Pod) []cratedb.PodRef {
	var all []cratedb.PodRef
	for _, pod := range pods {
		if pod.IP != "" && !pod.Started.IsZero() && !pod.Terminating && pod.Phase == "Running" {
			all = append(all, cratedb.PodRef{Name: pod.Name, NodeName: pod.NodeName})
		}
	}
	return all
}

// ask makes the reading of the database anew.
func (w *worker) ask(ctx context.Context, target cratedb.Target, tried model.SecretVersion) {
	defer func() { w.stable = w.stable.Next(&w.reading) }()
	if len(target.Pods) == 0 {
		w.reading, w.detailed = model.Database{At: time.Now()}, target.Detailed
		return
	}
	asking, cancel := w.leadership.bounded(ctx)
	defer cancel()
	w.whilePodsAnswer(func() { w.reading = w.client().Observe(asking, target) })
	w.reading.SystemSecret = tried
	if w.reading.At.IsZero() {
		w.reading.At = time.Now()
	}
	if !w.reading.TakenOver() {
		w.detailed = target.Detailed
		w.noteData(target.Detailed)
	}
}

// wholeInterval bounds how long readings ask only whether the cluster state has changed:
// what is not in it, such as the nodes' checks of themselves, is read again after this time.
const wholeInterval = time.Minute

// lastWhole is the last reading, which the next one may take over; nil where everything in
// it was read too long ago.
func (w *worker) lastWhole() *model.Database {
	if time.Since(w.reading.Whole) >= wholeInterval {
		return nil
	}
	last := w.reading
	return &last
}

// readingAge bounds how often the database is asked while events keep coming: not
// before the decision wanted to look again, and then as often as every second.
func (w *worker) readingAge() time.Duration {
	if w.again > 0 {
		return min(w.again, readingAgeMax)
	}
	return readingAgeMax
}

// measure counts the decision and, once a minute, tells the cluster's health.
func (w *worker) measure(decision model.Decision, observed model.Observed) {
	w.verdict = decision.Verdict.String()
	w.metrics.Decided(w.key, w.verdict, reasonNames(decision.Waits), reasonNames(decision.Refusals))
	w.metrics.Working(w.key, work(decision.Record, observed.Sets))
	w.metrics.Backups(w.key, measuredBackups(decision.Record.Backups))
	if !decision.Record.Bootstrap.Done {
		return
	}
	if op := decision.Record.Operation; len(decision.Record.Suspended) > 0 && (op == nil || op.Kind == model.OperationSuspend) {
		// Nobody is to wake up because what was stopped does not answer, nor has any snapshots taken.
		w.metrics.Suspended(w.key)
		w.metrics.Backups(w.key, nil)
		return
	}
	w.measureHealth(decision.Record.ClusterName, &observed.Database)
}

// work is what a cluster has by its record, and what is done to it.
func work(rec model.Record, sets []model.ObservedSet) telemetry.Work {
	out := telemetry.Work{}
	if o := rec.Operation; o != nil {
		out.Operation, out.Started, out.Late = string(o.Kind), o.Started, o.TimedOut
	}
	for _, set := range rec.Sets {
		group := telemetry.Group{Name: set.Group, Wanted: set.Replicas}
		for i := range sets {
			if sets[i].Name == set.Name {
				group.Ready = sets[i].Ready
			}
		}
		out.Groups = append(out.Groups, group)
	}
	return out
}

// measureHealth tells what a reading says of a cluster that runs.
func (w *worker) measureHealth(databaseName string, db *model.Database) {
	health := telemetry.Unreachable
	if db.Contact == model.Yes {
		switch db.Health.Colour {
		case model.Green:
			health = telemetry.Green
		case model.Yellow:
			health = telemetry.Yellow
		case model.Red:
			health = telemetry.Red
		}
	}
	now := time.Now()
	w.metrics.Health(w.key, databaseName, health, now)
	if now.Sub(w.pinged) >= healthInterval {
		w.pinged = now
		w.targets.Health(w.key, health.String())
	}
}

// nodeNamed is the name of a node by its id, as the last reading has it.
func (w *worker) nodeNamed(id string) string {
	for i := range w.reading.Nodes {
		if n := &w.reading.Nodes[i]; n.ID == id {
			return n.Name
		}
	}
	return id
}

func reasonNames(reasons []model.Reason) []string {
	var all []string
	for _, reason := range reasons {
		all = append(all, reason.Name)
	}
	return all
}
