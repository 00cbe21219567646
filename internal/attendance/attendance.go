// Package attendance is how everybody can tell who looks after a cluster, and how far
// that one has come, without a request for each cluster: the daemon renews its Lease
// every few seconds anyway, and the Lease says what it follows.
package attendance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"stevedore.dev/stevedore/internal/names"
)

// DefaultLease is where a record that names no Lease is looked after: one of a release
// that wrote none down.
const DefaultLease = names.DaemonNamespace + "/" + names.FieldManager

// Annotation on the Lease holds Following, as JSON.
const Annotation = names.Prefix + "following"

// Following is what the holder of a Lease follows.
type Following struct {
	// Holder wrote it: of another holder, one of a release that writes none say, it is not.
	Holder string `json:"holder"`
	// Sources by their identities; no credentials.
	Sources []Followed `json:"sources"`
}

// Followed is one source.
type Followed struct {
	Source string `json:"source"`
	// Revisions that were taken since the daemon acts, the newest first.
	Revisions []string `json:"revisions,omitempty"`
	// Behind are the clusters, NAMESPACE/NAME, whose records do not say yet what the
	// newest revision means for them; Many, that these are more than are listed.
	Behind []string `json:"behind,omitempty"`
	Many   bool     `json:"many,omitempty"`
}

// The bounds of the annotation: a Lease is renewed every other second.
const (
	// MaxRevisions of a source are remembered.
	MaxRevisions = 10
	maxBehind    = 100
	maxBytes     = 32 << 10
)

// Encode gives the annotation; "" where even the shortest is too long to be renewed
// every few seconds. Then nobody can tell, and says so.
func (f Following) Encode() string {
	for _, revisions := range []int{MaxRevisions, 1} {
		short := Following{Holder: f.Holder}
		for _, one := range f.Sources {
			one.Revisions = one.Revisions[:min(len(one.Revisions), revisions)]
			if len(one.Behind) > maxBehind {
				one.Behind, one.Many = nil, true
			}
			short.Sources = append(short.Sources, one)
		}
		text, err := json.Marshal(short)
		if err == nil && len(text) <= maxBytes {
			return string(text)
		}
	}
	return ""
}

// Cluster is what has to be known of one to ask who looks after it.
type Cluster struct {
	// Name is NAMESPACE/NAME.
	Name string
	// Lease is NAMESPACE/NAME of the Lease that its record names; "": DefaultLease.
	Lease string
	// Source is the one that it belongs to; "" where that is not known.
	Source string
}

// Attendance is who looks after a cluster.
type Attendance struct {
	// Lease is NAMESPACE/NAME.
	Lease string `json:"lease"`
	// By is who holds the Lease, or held it last; "" where it was given back.
	By string `json:"by,omitempty"`
	// At is when it was last renewed: a daemon renews it every few seconds, for as long
	// as it looks at its clusters. Zero where there is no such Lease.
	At time.Time `json:"at,omitzero"`
	// Nobody is true where nobody looks after the cluster, and Why says how that is known.
	Nobody bool   `json:"nobody"`
	Why    string `json:"why,omitempty"`
	// Revision is the newest that was taken of the cluster's source; "" where the
	// daemon does not say.
	Revision string `json:"revision,omitempty"`
	// Behind is true where the cluster's record does not yet say what that means for it.
	Behind bool `json:"behind,omitempty"`

	taken []string
}

// Has says that the daemon has taken the revision since it acts (Means).
func (a *Attendance) Has(revision string) bool {
	return slices.ContainsFunc(a.taken, func(taken string) bool { return Means(taken, revision) })
}

// MinHash is how many characters of a commit's hash name it.
const MinHash = 7

// Means says whether a person's word for a revision is this one: all of it, its hash,
// or at least seven characters that the hash begins with.
func Means(revision, word string) bool {
	_, hash, ok := strings.Cut(revision, ":")
	return revision == word || ok && len(word) >= MinHash && strings.HasPrefix(hash, strings.ToLower(word))
}

// Looker asks for Leases, each once.
type Looker struct {
	client coordinationv1client.LeasesGetter
	now    time.Time
	known  map[string]answer
}

type answer struct {
	lease *coordinationv1.Lease
	err   error
}

// NewLooker looks as of now.
func NewLooker(client coordinationv1client.LeasesGetter, now time.Time) *Looker {
	return &Looker{client: client, now: now, known: map[string]answer{}}
}

// Timeout of a look at a Lease: the status of a cluster does not wait for it longer.
var Timeout = 5 * time.Second

// Of says who looks after the cluster. It is an error where that cannot be told: who may
// read a cluster's record may not always read the daemon's Lease.
func (l *Looker) Of(ctx context.Context, cluster Cluster) (*Attendance, error) {
	name := cluster.Lease
	if name == "" {
		name = DefaultLease
	}
	found, ok := l.known[name]
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		namespace, rest, _ := strings.Cut(name, "/")
		found.lease, found.err = l.client.Leases(namespace).Get(ctx, rest, metav1.GetOptions{})
		l.known[name] = found
	}
	switch {
	case apierrors.IsNotFound(found.err):
		why := "there is no Lease " + name
		if cluster.Lease == "" {
			why += ": no daemon is installed, or it is of a release that does not write down which Lease it holds"
		}
		return &Attendance{Lease: name, Nobody: true, Why: why}, nil
	case found.err != nil:
		return nil, fmt.Errorf("reading the Lease %s, by which the daemon that looks after cluster %s is known: %w", name, cluster.Name, found.err)
	}
	return read(name, found.lease, cluster, l.now), nil
}

func read(name string, lease *coordinationv1.Lease, cluster Cluster, now time.Time) *Attendance {
	who := &Attendance{Lease: name}
	spec := lease.Spec
	if spec.RenewTime != nil {
		who.At = spec.RenewTime.Time
	}
	if spec.HolderIdentity != nil {
		who.By = *spec.HolderIdentity
	}
	// A daemon that stops gives it back, and leaves a Lease of one second.
	const shortest = 15 * time.Second
	lasts := shortest
	if spec.LeaseDurationSeconds != nil {
		lasts = max(lasts, time.Duration(*spec.LeaseDurationSeconds)*time.Second)
	}
	switch {
	case who.By == "":
		who.Nobody, who.Why = true, "the daemon was stopped, and gave Lease "+name+" back"
	case now.Sub(who.At) > lasts:
		who.Nobody, who.Why = true, "the daemon that held Lease "+name+" has renewed it no more"
	}
	var following Following
	if json.Unmarshal([]byte(lease.Annotations[Annotation]), &following) != nil || following.Holder != who.By || who.Nobody {
		return who
	}
	var all []string
	for _, one := range following.Sources {
		all = append(all, one.Source)
		if one.Source != cluster.Source {
			continue
		}
		who.taken = one.Revisions
		if len(who.taken) > 0 {
			who.Revision = who.taken[0]
		}
		who.Behind = one.Many || slices.Contains(one.Behind, cluster.Name)
		return who
	}
	if cluster.Source != "" {
		// When it was last looked at is not known.
		by := who.By
		who.By, who.At, who.Nobody = "", time.Time{}, true
		who.Why = fmt.Sprintf("%s holds Lease %s and follows %s, and the cluster belongs to %s", by, name, listed(all), cluster.Source)
	}
	return who
}

// listed is no more than a person reads.
func listed(all []string) string {
	const most = 3
	if len(all) == 0 {
		return "no source"
	}
	if left := len(all) - most; left > 0 {
		return fmt.Sprintf("%s and %d sources more", strings.Join(all[:most], ", "), left)
	}
	return strings.Join(all, ", ")
}

// Writer is a way to Leases that says in each that is written for its holder what that
// one follows, without a request more.
type Writer struct {
	coordinationv1client.LeasesGetter
	// Follows is asked at each write.
	Follows func() Following
}

func (w Writer) Leases(namespace string) coordinationv1client.LeaseInterface {
	return leases{w.LeasesGetter.Leases(namespace), w.Follows}
}

type leases struct {
	coordinationv1client.LeaseInterface
	follows func() Following
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	l.annotate(lease)
	return l.LeaseInterface.Create(ctx, lease, o)
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	l.annotate(lease)
	return l.LeaseInterface.Update(ctx, lease, o)
}

func (l leases) annotate(lease *coordinationv1.Lease) {
	following := l.follows()
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != following.Holder {
		return // it is being given back
	}
	if text := following.Encode(); text == "" {
		delete(lease.Annotations, Annotation)
	} else {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[Annotation] = text
	}
}
