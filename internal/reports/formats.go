package reports

import (
	"strings"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// format is a kind of target for reports: how it is configured, and in which words it is told.
type format struct {
	// name of the target in metrics, in logs and in a cluster's reports.
	name string
	// title is what people call it, and says what its section of docs/reports.md says of it alone.
	title, says string
	// variables are what the names of its environment variables begin with, one of them.
	variables []string
	// credentials: it takes a user's name with a password, and a key for a signature.
	credentials bool
	// report is the body of a report; nil: the target is not told. An event that it cannot be
	// told is an error.
	report func(record.Cluster, model.Report) ([]byte, error)
	// missing is the body that says that reports are missing, and why.
	missing func(cluster record.Cluster, reason string) ([]byte, error)
	// health is the body that says how the database is; nil: the target is not told.
	health func(cluster record.Cluster, status string) ([]byte, error)
}

// webhook has crate-operator's body, and is read from its variables too.
var webhook = &format{
	name: "webhook", title: "the webhook", variables: []string{"WEBHOOK", "CRATEDB_OPERATOR_WEBHOOK"}, credentials: true,
	report: webhookReport, missing: delayBody, health: healthBody,
}

// formats are all kinds of targets. One that is new needs a line here: then it is read from
// the environment, has a queue, metrics and a line of `stevedore check` of its own, and is in the help of
// `stevedore run`, in deploy/daemon/deployment.yaml and in docs/reports.md (docs_test.go).
var formats = []*format{webhook, slack, teams}

// chats are the channels of people.
func chats() []*format { return formats[1:] }

// Help says by which variables the channels of people are configured.
func Help() string {
	var all []string
	for _, f := range chats() {
		all = append(all, f.variables[0]+"_URL for "+f.title)
	}
	return strings.Join(all, ", ")
}
