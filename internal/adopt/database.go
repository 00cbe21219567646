package adopt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// Database reads CrateDB, and takes off settings that were left behind.
type Database interface {
	Read(ctx context.Context, pods []NamedPod) adopt.Database
	Reset(ctx context.Context, pods []NamedPod, settings []adopt.Setting) error
}

// NamedPod is a pod, and CrateDB's name of the node in it. TLS is true where that takes no connection
// without (ssl.psql.enabled).
type NamedPod struct {
	Pod, Node string
	TLS       bool
}

// SQL is a Database over the PostgreSQL protocol, as the user system.
type SQL struct {
	Client  kubernetes.Interface
	Dialer  cratedb.Dialer
	Cluster record.Cluster
}

const (
	enable  = "cluster.routing.allocation.enable"
	exclude = "cluster.routing.allocation.exclude."
)

// leftovers are settings that crate-operator sets in the middle of something.
var leftovers = []string{enable, exclude + "_name", exclude + "_id", exclude + "_ip", exclude + "_host"}

// client is one that asks for TLS where a pod does. The way through the API server is private: nothing
// is verified on it.
func (s SQL) client(pods []NamedPod) cratedb.Client {
	client := cratedb.Client{Dialer: s.Dialer}
	if slices.ContainsFunc(pods, func(p NamedPod) bool { return p.TLS }) {
		client.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	}
	return client
}

// Read is one reading. Whatever could not be read makes it unknown as a whole.
func (s SQL) Read(ctx context.Context, pods []NamedPod) adopt.Database {
	password, err := s.password(ctx)
	if err != nil {
		return adopt.Database{Why: err.Error()}
	}
	target := cratedb.Target{Password: password, Settings: leftovers}
	for _, p := range pods {
		target.Pods = append(target.Pods, cratedb.PodRef{Name: p.Pod, NodeName: p.Node})
	}
	return readingOf(s.client(pods).Observe(ctx, target), len(pods))
}

func readingOf(db model.Database, pods int) adopt.Database {
	out := adopt.Database{ClusterID: db.ClusterID}
	switch {
	case db.Contact != model.Yes:
		out.Why = db.Error
	case db.Recovered != model.Yes:
		out.Why = "its gateway has not recovered"
	case !db.NodesKnown || len(db.Unread) > 0:
		out.Why = "a part of it could not be read"
		if len(db.Unread) > 0 {
			out.Why = fmt.Sprintf("%s: %s", db.Unread[0].Part, db.Unread[0].Why)
		}
	case len(db.Pods) != pods:
		out.Why = fmt.Sprintf("%d of %d pods have answered", len(db.Pods), pods)
	default:
		out.Known = true
	}
	for i := range db.Pods {
		if db.Pods[i].ClusterID != db.ClusterID {
			out.Known, out.Why = false, "its pods are in different clusters"
		}
	}
	out.Health = db.Health.Colour.String()
	if worst := db.ClusterHealth.Colour; worst != model.ColourUnknown && worst > db.Health.Colour {
		out.Health = worst.String()
	}
	for i := range db.Nodes {
		out.Nodes = append(out.Nodes, db.Nodes[i].Name)
	}
	for _, name := range leftovers {
		value := db.Effective[name]
		if value != "" && (name != enable || value != "all") {
			out.Left = append(out.Left, adopt.Setting{Name: name, Value: value})
		}
	}
	return out
}

// Reset takes settings off, all in one statement.
func (s SQL) Reset(ctx context.Context, pods []NamedPod, settings []adopt.Setting) error {
	password, err := s.password(ctx)
	if err == nil && len(pods) == 0 {
		err = errors.New("no pod is there that could be asked")
	}
	if err != nil {
		return fmt.Errorf("resetting cluster settings of cluster %s: %w", s.Cluster, err)
	}
	session, err := s.client(pods).Login(ctx, pods[0].Pod, names.SystemUser, password)
	if err != nil {
		return fmt.Errorf("resetting cluster settings of cluster %s: %w", s.Cluster, err)
	}
	defer session.Close()
	var all []string
	for _, one := range settings {
		all = append(all, one.Name)
	}
	if _, err := session.Exec(ctx, execute.ResetGlobal(all)); err != nil {
		return fmt.Errorf("resetting cluster settings of cluster %s: %w", s.Cluster, err)
	}
	return nil
}

func (s SQL) password(ctx context.Context) (string, error) {
	name := names.SystemSecret(s.Cluster.Name)
	secret, err := s.Client.CoreV1().Secrets(s.Cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading Secret %s: %s", name, reason(err))
	}
	if value := string(secret.Data["password"]); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("the Secret %s has no key password", secret.Name)
}
