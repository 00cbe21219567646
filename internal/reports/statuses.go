package reports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/record"
)

// CommitStatus is how far a commit has come in a cluster, or in a source.
type CommitStatus struct {
	// Source is the identity of the source that the commit is of: its server is told.
	Source string
	// Context tells this status from others on the same commit.
	Context string
	// Commit as a snapshot names it: "main@sha1:<hex>" or "sha1:<hex>". One that is
	// no commit of Git's, a directory's, is left out.
	Commit string
	// Revision is what the status is about: as long as it stays, the commit stays
	// that it was first seen in, whatever newer commits change elsewhere. "": each
	// commit is another one.
	Revision string
	// Since is of a render: the newest commit that has it, which stands for it where
	// the status before was of none (a broken definition, one that was removed). ""
	// says that this status is not of a render itself.
	Since string
	State forge.State
	// Names of what is wrong: a failure with others is posted again.
	Names []string
	// Description is a sentence for people; it is cut to what the server takes.
	Description string
	// TargetURL is where to read more; "" for nowhere.
	TargetURL string
}

// posted is the last status that was queued under a context.
type posted struct {
	Source   string      `json:"source,omitempty"`
	Commit   string      `json:"commit"`
	Revision string      `json:"revision,omitempty"`
	State    forge.State `json:"state"`
	Names    string      `json:"names,omitempty"`
	// Rendered is true for a status of a render.
	Rendered bool `json:"rendered,omitempty"`
}

// Poster takes commit statuses: *forge.Client.
type Poster interface {
	PostStatus(ctx context.Context, status forge.Status) error
	String() string
	Close()
}

const (
	// maxStatuses bounds what waits for a server, for each cluster: there is one
	// for each commit that changed it while the server was away.
	maxStatuses = 100
	// maxContexts bounds the memory of what was posted.
	maxContexts = 16
	// maxStatusText bounds a description in the queue, in bytes; servers take less.
	maxStatusText = 1 << 10
	// statusGiveUp is how long a status is tried that the server refuses: its commit
	// may be gone for ever.
	statusGiveUp = 24 * time.Hour
)

// Posters are the servers of sources by the sources' identities. A source that is
// not among them has no server.
type Posters map[string]Poster

// queuedStatus is a status in a queue. Source is "" where an earlier release wrote
// it, which knew one source only.
type queuedStatus struct {
	Source string `json:"source,omitempty"`
	forge.Status
}

// Statuses keeps commit statuses in each cluster's reports ConfigMap until the
// server of the repository has taken them, as Queue keeps webhooks: at least
// once, also after a kill. Of one commit only the newest state waits.
type Statuses struct {
	queue *Queue
	to    Posters
}

// NewStatuses makes the queue of statuses beside that of webhooks, in the same
// ConfigMaps. Of the options Store, Clusters, Lead, Log, Now, Parallel, Retry and
// Rescan are those of the other one. Without posters nothing is queued.
func NewStatuses(beside *Queue, to Posters, measure Measure) *Statuses {
	q := NewQueue(beside.options)
	q.documents, q.what, q.giveUp = beside.documents, "commit status", statusGiveUp
	q.options.Measure = measure
	if measure == nil {
		q.options.Measure = unmeasured{}
	}
	q.to = nil
	if len(to) > 0 {
		q.to = statusTaker{to}
	}
	q.list = func(d *document) *[]pending { return &d.Statuses }
	q.taken = (*document).takeStatus
	return &Statuses{queue: q, to: to}
}

// Run delivers as Queue.Run does.
func (s *Statuses) Run(ctx context.Context) error { return s.queue.Run(ctx) }

// Resume is Queue.Resume.
func (s *Statuses) Resume(cluster record.Cluster) { s.queue.Resume(cluster) }

// Settled is Queue.Settled.
func (s *Statuses) Settled(ctx context.Context) error { return s.queue.Settled(ctx) }

// Enqueue writes a status to the cluster's queue before it returns, unless it
// says what was said before or its source has no server; it never waits for one. What is final never
// becomes pending again for the same commit and revision. A commit that was left
// pending is marked as superseded when a newer one comes.
func (s *Statuses) Enqueue(ctx context.Context, cluster record.Cluster, status CommitStatus) error {
	if s.to[status.Source] == nil {
		return nil
	}
	if _, _, ok := splitCommit(status.Commit); !ok {
		return nil
	}
	dropped := 0
	err := s.queue.update(ctx, cluster, func(d *document) (changed bool, err error) {
		changed, dropped, err = d.post(status, s.queue.now())
		return changed, err
	})
	if err != nil {
		return fmt.Errorf("enqueue a commit status of %s: %w", cluster, err)
	}
	if dropped > 0 {
		s.queue.options.Measure.ReportDelivery(ResultCoalesced, dropped)
		s.queue.options.Log.Error("too many commit statuses wait, the oldest are given up",
			"namespace", cluster.Namespace, "cluster", cluster.Name, "dropped", dropped, "server", s.to[status.Source].String())
	}
	s.queue.Resume(cluster)
	return nil
}

// post queues a status if it says something new, and says how many others had to
// go for it.
func (d *document) post(status CommitStatus, now time.Time) (changed bool, dropped int, err error) {
	last, known := d.Posted[status.Context]
	switch {
	case known && last.Source != "" && last.Source != status.Source:
		// A cluster that moved: the commits of one repository are nothing to another.
	case known && status.Revision != "" && last.Revision == status.Revision:
		status.Commit = last.Commit
	case known && status.Since != "" && !last.Rendered:
		status.Commit = status.Since
	}
	next := posted{
		Source: status.Source, Commit: status.Commit, Revision: status.Revision, State: status.State, Names: strings.Join(status.Names, ","), Rendered: status.Since != "",
	}
	same := known && last.Commit == next.Commit && last.Revision == next.Revision
	if same && (next.State == forge.Pending || last.State == next.State && last.Names == next.Names) {
		return false, 0, nil
	}
	if known && last.Commit != next.Commit && !last.State.Final() {
		_, newer, _ := splitCommit(next.Commit)
		err = d.queueStatus(CommitStatus{
			Source: cmp.Or(last.Source, status.Source), Context: status.Context, Commit: last.Commit, State: forge.Superseded, TargetURL: status.TargetURL,
			Description: "superseded by " + newer[:10] + " before it was done",
		}, now)
		if err != nil {
			return false, 0, err
		}
	}
	if err := d.queueStatus(status, now); err != nil {
		return false, 0, err
	}
	if d.Posted == nil || len(d.Posted) >= maxContexts && !known {
		d.Posted = map[string]posted{}
	}
	d.Posted[status.Context] = next
	for len(d.Statuses) > maxStatuses {
		at := max(slices.IndexFunc(d.Statuses, func(p pending) bool { return !p.failure() }), 0)
		d.Statuses = slices.Delete(d.Statuses, at, at+1)
		dropped++
	}
	return true, dropped, nil
}

func (d *document) queueStatus(status CommitStatus, now time.Time) error {
	ref, sha, _ := splitCommit(status.Commit)
	body, err := json.Marshal(queuedStatus{status.Source, forge.Status{
		SHA: sha, Ref: ref, Context: status.Context, State: status.State,
		Description: cut(status.Description, maxStatusText), TargetURL: status.TargetURL,
	}})
	if err != nil {
		return fmt.Errorf("encode a commit status: %w", err)
	}
	id := func(state string) string {
		h := sha256.Sum256([]byte(sha + "\n" + status.Context + "\n" + state))
		return hex.EncodeToString(h[:12])
	}
	// The newest word on a commit replaces those that still wait.
	d.Statuses = slices.DeleteFunc(d.Statuses, func(p pending) bool {
		var old forge.Status
		return json.Unmarshal(p.Body, &old) != nil || old.SHA == sha && old.Context == status.Context
	})
	d.Statuses = append(d.Statuses, pending{
		ID: id(string(status.State) + "\n" + strings.Join(status.Names, ",")), Revision: status.Revision, At: now, Body: body,
	})
	return nil
}

func (p pending) failure() bool {
	var status forge.Status
	return json.Unmarshal(p.Body, &status) == nil && status.State == forge.Failure
}

func (d *document) takeStatus(id string) bool {
	before := len(d.Statuses)
	d.Statuses = slices.DeleteFunc(d.Statuses, func(p pending) bool { return p.ID == id })
	return len(d.Statuses) < before
}

var commitID = regexp.MustCompile(`^(?:(.+)@)?(?:sha1:([0-9a-f]{40})|sha256:([0-9a-f]{64}))$`)

// splitCommit takes a snapshot's revision apart.
func splitCommit(commit string) (ref, sha string, ok bool) {
	m := commitID.FindStringSubmatch(commit)
	if m == nil || strings.HasPrefix(commit, "dir@") {
		return "", "", false
	}
	return m[1], m[2] + m[3], true
}

type statusTaker struct{ to Posters }

func (t statusTaker) String() string {
	var servers []string
	for _, source := range slices.Sorted(maps.Keys(t.to)) {
		servers = append(servers, t.to[source].String())
	}
	return strings.Join(slices.Compact(servers), ", ")
}

func (t statusTaker) Close() {
	for _, poster := range t.to {
		poster.Close()
	}
}

// poster is whom a queued status is for.
func (t statusTaker) poster(source string) Poster {
	if source == "" && len(t.to) == 1 {
		for _, poster := range t.to {
			return poster
		}
	}
	return t.to[source]
}

// post makes one attempt.
func (t statusTaker) post(ctx context.Context, _, _ string, body []byte) error {
	var status queuedStatus
	if err := json.Unmarshal(body, &status); err != nil {
		return &deliveryError{status: http.StatusBadRequest, said: "post a commit status: what was queued cannot be read: " + err.Error()}
	}
	to := t.poster(status.Source)
	if to == nil {
		return &deliveryError{status: http.StatusGone, said: fmt.Sprintf("post the commit status %s: this daemon has no server for the source %q", status.Context, status.Source)}
	}
	err := to.PostStatus(ctx, status.Status)
	var refused *forge.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &refused):
		return &deliveryError{said: err.Error(), cause: err}
	}
	failed := &deliveryError{status: refused.Status, after: refused.After, said: err.Error(), cause: err}
	if refused.Limited {
		failed.status = http.StatusTooManyRequests
	}
	return failed
}
