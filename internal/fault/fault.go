// Package fault marks each outgoing write of the daemon: to the API server, to
// the database, to a webhook's receiver. In a build with the tag "faults" the
// process can be told to die right before or right after the n-th of them; in
// any other build the marks do nothing.
package fault

// Where a write goes.
const (
	API     = "api"
	SQL     = "sql"
	Webhook = "webhook"
	Forge   = "forge"
)
