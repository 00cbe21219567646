package model

// Status of a report, in crate-operator's words.
type Status string

// How a report ended.
const (
	StatusSuccess          Status = "success"
	StatusFailure          Status = "failure"
	StatusInProgress       Status = "in_progress"
	StatusTemporaryFailure Status = "temporary_failure"
)

// Event of a report, in crate-operator's words; "" is for Kubernetes events and
// logs only.
type Event string

// The events.
const (
	EventNone     Event = ""
	EventScale    Event = "scale"
	EventFeedback Event = "feedback"
	EventUpgrade  Event = "upgrade"
	EventCompute  Event = "compute_changed"
	// EventSchedule is another window of a schedule of snapshots, EventDelay something desired that waits for a
	// snapshot.
	EventSchedule Event = "backup_schedule_update"
	EventDelay    Event = "delay"
)

// Report is one transition that people are to know.
type Report struct {
	// ID is the same when the same transition is reported again after a kill.
	ID     string
	Event  Event
	Status Status
	// Operation ("create", "update") and Action ("create", "scale",
	// "allowed_cidr_update", …) are of feedback.
	Operation, Action string
	Revision, Commit  string
	// Reason is for a Kubernetes event: "BootstrapSucceeded"; Warning is its type.
	Reason  string
	Warning bool
	Message string
	// Names of gates or refusals that it is about.
	Names []string
	// Scale, for EventScale.
	OldData, NewData       []GroupReplicas
	OldMasters, NewMasters int
	// Upgrade, for EventUpgrade.
	Upgrade Upgrade
	// Schedule and Cron, for EventSchedule.
	Schedule, Cron string
	// Computes, for EventCompute: the first is of the data group that crate-operator's body has.
	// Those whose Old and New are the same have not changed.
	Computes []ComputeChange
}

// GroupReplicas is a data group's replica count.
type GroupReplicas struct {
	Name     string `json:"name"`
	Replicas int    `json:"replicas"`
}
