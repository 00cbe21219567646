package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/internal/telemetry"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/sources"
)

// CommitStatus says where commit statuses go. Zero value: nowhere.
type CommitStatus struct {
	// Poster is the repository's server.
	Poster reports.Poster
	// Context of the statuses about the source itself; those of a cluster have its
	// namespace and name after it. "": stevedore.
	Context string
	// Name comes after the context in those about the source itself, where several
	// are followed; "" for none.
	Name string
	// TargetURL is the link of each status, {namespace} and {cluster} in it
	// replaced; "" for none.
	TargetURL string
}

func (o CommitStatus) context() string {
	if o.Context == "" {
		return "stevedore"
	}
	return o.Context
}

// of completes a status of a cluster, or of the source for a zero key.
func (o CommitStatus) of(key record.Cluster, status reports.CommitStatus) reports.CommitStatus {
	status.Context = o.context()
	if key != (record.Cluster{}) {
		status.Context += "/" + key.String()
	} else if o.Name != "" {
		status.Context += "/" + o.Name
	}
	status.TargetURL = strings.NewReplacer("{namespace}", key.Namespace, "{cluster}", key.Name).Replace(o.TargetURL)
	return status
}

// statuses are what is told to the repository's server: of clusters in their own
// ConfigMaps, of sources in one beside the Lease.
type statuses struct {
	// options of the sources that have a server, by their identities.
	options map[string]CommitStatus
	cluster *reports.Statuses
	source  *reports.Statuses
	// beside is the record of the sources' statuses.
	beside record.Cluster
	log    *slog.Logger

	mu sync.Mutex
	// owed could not be queued yet.
	owed []reports.CommitStatus
}

func newStatuses(o Options, targets *reports.Targets, kube kubernetes.Interface, metrics *telemetry.Metrics, lead func() error) *statuses {
	// No watch shows the daemon's own namespace.
	own := reports.NewQueue(reports.Options{Store: record.NewStore(record.OverClient(kube.CoreV1(), nil)), Log: o.Log, Lead: lead})
	measure := metrics.CommitStatuses()
	options, to := map[string]CommitStatus{}, reports.Posters{}
	for _, source := range o.Sources {
		if source.CommitStatus.Poster != nil {
			options[source.Identity()], to[source.Identity()] = source.CommitStatus, source.CommitStatus.Poster
		}
	}
	return &statuses{
		options: options,
		cluster: targets.Statuses(to, measure),
		source:  reports.NewStatuses(own, to, measure),
		beside:  record.Cluster{Namespace: o.Lease.Namespace, Name: o.Lease.Name},
		log:     o.Log,
	}
}

func (s *statuses) on() bool { return s != nil && len(s.options) > 0 }

// of completes a status of a source's commit; ok is false when its source has no
// server.
func (s *statuses) of(source string, key record.Cluster, status reports.CommitStatus) (_ reports.CommitStatus, ok bool) {
	options, ok := s.options[source]
	status.Source = source
	return options.of(key, status), ok
}

// settled waits until everything was posted that was queued before.
func (s *statuses) settled(ctx context.Context) error {
	if err := s.source.Settled(ctx); err != nil {
		return err
	}
	return s.cluster.Settled(ctx)
}

// The waits of built and run: the source goes on after the first, whatever the
// API server does.
const (
	builtPatience = 5 * time.Second
	owedRetry     = 5 * time.Second
)

// built queues what became of a source's commit: err, or the build.
func (s *statuses) built(ctx context.Context, source, commit string, build *render.Build, err error) {
	s.say(ctx, source, builtStatus(commit, build, err))
}

// unfollowed queues that a commit was found and is not followed.
func (s *statuses) unfollowed(ctx context.Context, source string, err error) {
	if refused, ok := errors.AsType[*sources.Error](err); ok && refused.Commit != "" {
		s.say(ctx, source, reports.CommitStatus{Commit: refused.Commit, State: forge.Failure, Names: []string{string(refused.Reason)}, Description: "it is not followed: " + refused.Err.Error()})
	}
}

func (s *statuses) say(ctx context.Context, source string, status reports.CommitStatus) {
	if !s.on() {
		return
	}
	if status, ok := s.of(source, record.Cluster{}, status); ok {
		s.owe(ctx, status)
	}
}

// owe queues a status beside the Lease, now or when it can be.
func (s *statuses) owe(ctx context.Context, status reports.CommitStatus) {
	s.mu.Lock()
	s.owed = append(s.owed, status)
	if len(s.owed) > maxOwed {
		s.owed = s.owed[1:]
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, builtPatience)
	defer cancel()
	s.pay(ctx)
}

// pay queues what is owed, in order, until one fails.
func (s *statuses) pay(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.owed) > 0 {
		if err := s.source.Enqueue(ctx, s.beside, s.owed[0]); err != nil {
			s.log.Warn("the commit status of a source cannot be queued, it will be tried again", "commit", s.owed[0].Commit, "error", err)
			return
		}
		s.owed = s.owed[1:]
	}
}

// run delivers until ctx ends, and queues what is owed.
func (s *statuses) run(ctx context.Context) {
	if !s.on() {
		return
	}
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	deliveries.Go(func() { _ = s.cluster.Run(ctx) })
	deliveries.Go(func() { _ = s.source.Run(ctx) })
	// What an earlier process left there goes out now.
	s.source.Resume(s.beside)
	for sleep(ctx, owedRetry) {
		paying, cancel := context.WithTimeout(ctx, builtPatience)
		s.pay(paying)
		cancel()
	}
}

func builtStatus(commit string, build *render.Build, err error) reports.CommitStatus {
	status := reports.CommitStatus{Commit: commit, State: forge.Failure}
	if err != nil {
		status.Description = "it cannot be built: " + firstLine(err.Error())
		return status
	}
	problems := problemTexts(build.Problems)
	for _, cluster := range build.Clusters {
		problems = append(problems, problemTexts(cluster.Problems)...)
	}
	slices.Sort(problems)
	problems = slices.Compact(problems)
	switch len(problems) {
	case 0:
		status.State, status.Description = forge.Success, fmt.Sprintf("built: clusters in it: %d", len(build.Clusters))
	case 1:
		status.Description = problems[0]
	default:
		status.Description = fmt.Sprintf("%d problems: %s", len(problems), problems[0])
	}
	return status
}

// maxOwed bounds the statuses that a worker could not queue yet.
const maxOwed = 16

// sayStatus queues what is to be said of the commit that the cluster's state
// comes from. An error of the API server holds nothing up: it is owed, and
// queued before the next one.
func (w *worker) sayStatus(ctx context.Context, s passState, next model.Record) {
	if !w.statuses.on() {
		return
	}
	status, ok := commitStatus(s, next)
	if ok {
		status, ok = w.statuses.of(s.want.owner, w.key, status)
	}
	if ok {
		if key := statusKey(status); key != w.saidStatus {
			w.saidStatus = key
			w.owed = append(w.owed, status)
		}
	}
	for len(w.owed) > maxOwed {
		w.owed = w.owed[1:]
	}
	for len(w.owed) > 0 {
		if err := w.statuses.cluster.Enqueue(ctx, w.key, w.owed[0]); err != nil {
			w.log.Warn("a commit status cannot be queued, it will be tried again", "commit", w.owed[0].Commit, "state", string(w.owed[0].State), "error", err)
			return
		}
		w.owed = w.owed[1:]
	}
}

func statusKey(s reports.CommitStatus) string {
	return strings.Join(append([]string{s.Source, s.Commit, s.Revision, string(s.State)}, s.Names...), "\n")
}

// commitStatus puts a decision in a commit status's words. ok is false where
// there is nothing to say of the cluster itself.
func commitStatus(s passState, next model.Record) (status reports.CommitStatus, ok bool) {
	status = reports.CommitStatus{Commit: s.want.commit, Revision: s.desired.Revision, State: forge.Pending}
	if next.Revision == s.desired.Revision && next.Commit != "" {
		status.Commit = next.Commit
	}
	if status.Since = s.want.commit; s.want.commit == "" {
		status.Since = status.Commit
	}
	operation := next.Operation
	// That the source is held is said of the commit that it does not follow.
	problems := slices.DeleteFunc(slices.Clone(s.problems), func(text string) bool { return s.want.held.message != "" && text == s.want.held.message })
	switch {
	case len(problems) > 0:
		// Those of the whole source are said of the source.
		sum := sha256.Sum256([]byte(strings.Join(problems, "\n")))
		status.Commit, status.Revision, status.Since = s.want.newest, "broken-"+hex.EncodeToString(sum[:8]), ""
		status.State, status.Names, status.Description = forge.Failure, []string{"definition-broken"}, problems[0]
		return status, !s.want.missing
	case s.want.heldBack != (held{}):
		// The source's newest commit is followed, but not for this cluster.
		sum := sha256.Sum256([]byte(s.want.heldBack.message))
		status.Commit, status.Revision, status.Since = s.want.newest, "held-"+hex.EncodeToString(sum[:8]), ""
		status.State, status.Names, status.Description = forge.Failure, []string{s.want.heldBack.reason}, "the cluster stays as it was: "+s.want.heldBack.message
	case len(s.decision.Refusals) > 0:
		status.State = forge.Failure
		status.Description = reasonWords(s.decision.Refusals)
		for _, reason := range s.decision.Refusals {
			status.Names = append(status.Names, reason.Name)
		}
	case s.refused != nil:
		status.State, status.Names, status.Description = forge.Failure, []string{s.refused.Name}, s.refused.Message
	case operation != nil && operation.TimedOut:
		status.State, status.Names = forge.Failure, []string{"timed-out"}
		status.Description = string(operation.Kind) + " takes longer than its limit and goes on; it waits for: " + reasonWords(s.decision.Waits)
	case s.desired.Removed:
		status.Commit, status.Revision, status.Since, status.State = s.want.newest, "removed", "", forge.Success
		status.Description = "no definition names the cluster any more: it is left as it is"
	case next.Stage == model.StageVerified && next.Revision == s.desired.Revision:
		status.State, status.Description = forge.Success, "the cluster is as its definition says"
		if slices.ContainsFunc(s.decision.Waits, func(r model.Reason) bool { return r.Name == gates.AdoptedTemplateRule.Name }) {
			status.Description += ", but for the pod templates that it was adopted with"
		}
	case operation != nil:
		status.Description = string(operation.Kind) + " is under way"
	case len(s.decision.Waits) > 0:
		status.Description = "waits for: " + reasonWords(s.decision.Waits)
	default:
		status.Description = "is being applied"
	}
	return status, true
}

func reasonWords(reasons []model.Reason) string {
	if len(reasons) == 0 {
		return "nothing that is known"
	}
	var texts []string
	for _, reason := range reasons {
		texts = append(texts, reason.Name+": "+reason.Message)
	}
	return strings.Join(texts, "; ")
}

// firstLine leaves the stack of a defect to the log.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
