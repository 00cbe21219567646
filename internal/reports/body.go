// Package reports tells the world outside what happened to a cluster: a
// webhook with crate-operator's body, delivered at least once, Kubernetes
// events and log lines. Nothing that operates a cluster ever waits for it.
package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// MaxMessage bounds the message of a report, in bytes; what is longer is cut.
const MaxMessage = 4 << 10

// Body is crate-operator's webhook body (its release 2.63): each key is always
// there, and all …_data but the event's own are null.
type Body struct {
	Event     model.Event  `json:"event"`
	Status    model.Status `json:"status"`
	Namespace string       `json:"namespace"`
	Cluster   string       `json:"cluster"`
	Scale     *ScaleData   `json:"scale_data"`
	Upgrade   *UpgradeData `json:"upgrade_data"`
	Compute   *ComputeData `json:"compute_changed_data"`
	Temporary *ReasonData  `json:"temporary_failure_data"`
	Info      *notYet      `json:"info_data"`
	Health    *HealthData  `json:"health_data"`
	Feedback  *Feedback    `json:"feedback_data"`
	Backup    *Schedule    `json:"backup_schedule_data"`
	Admin     *notYet      `json:"admin_username_changed_data"`
}

// notYet marks data of events that are not sent yet: always null.
type notYet struct{}

// ScaleData is of the event "scale". The master counts are null for a cluster
// without dedicated masters.
type ScaleData struct {
	OldData    []model.GroupReplicas `json:"old_data_replicas"`
	NewData    []model.GroupReplicas `json:"new_data_replicas"`
	OldMasters *int                  `json:"old_master_replicas"`
	NewMasters *int                  `json:"new_master_replicas"`
}

// UpgradeData is of the event "upgrade". A registry is what stands before the
// version in the image's name.
type UpgradeData struct {
	OldRegistry string `json:"old_registry"`
	NewRegistry string `json:"new_registry"`
	OldVersion  string `json:"old_version"`
	NewVersion  string `json:"new_version"`
}

// ComputeData is of the event "compute_changed": what nodes are given, in the definition's words,
// null where it says nothing. crate-operator's keys are of the first data group that has changed,
// and of dedicated masters where there are any. Groups is ours, of clusters with several groups:
// each one that has changed.
type ComputeData struct {
	GroupData
	*MasterData
	Groups []NamedGroupData `json:"groups,omitempty"`
}

// NamedGroupData is a group that has changed.
type NamedGroupData struct {
	Name string `json:"name"`
	GroupData
}

// MasterData is of dedicated masters.
type MasterData struct {
	OldCPULimit      *float64 `json:"old_master_cpu_limit"`
	OldMemoryLimit   *string  `json:"old_master_memory_limit"`
	OldCPURequest    *float64 `json:"old_master_cpu_request"`
	OldMemoryRequest *string  `json:"old_master_memory_request"`
	OldHeapRatio     *float64 `json:"old_master_heap_ratio"`
	OldNodepool      *string  `json:"old_master_nodepool"`
	NewCPULimit      *float64 `json:"new_master_cpu_limit"`
	NewMemoryLimit   *string  `json:"new_master_memory_limit"`
	NewCPURequest    *float64 `json:"new_master_cpu_request"`
	NewMemoryRequest *string  `json:"new_master_memory_request"`
	NewHeapRatio     *float64 `json:"new_master_heap_ratio"`
	NewNodepool      *string  `json:"new_master_nodepool"`
}

// GroupData is of one group.
type GroupData struct {
	OldCPULimit      *float64 `json:"old_cpu_limit"`
	OldMemoryLimit   *string  `json:"old_memory_limit"`
	OldCPURequest    *float64 `json:"old_cpu_request"`
	OldMemoryRequest *string  `json:"old_memory_request"`
	OldHeapRatio     *float64 `json:"old_heap_ratio"`
	OldNodepool      *string  `json:"old_nodepool"`
	NewCPULimit      *float64 `json:"new_cpu_limit"`
	NewMemoryLimit   *string  `json:"new_memory_limit"`
	NewCPURequest    *float64 `json:"new_cpu_request"`
	NewMemoryRequest *string  `json:"new_memory_request"`
	NewHeapRatio     *float64 `json:"new_heap_ratio"`
	NewNodepool      *string  `json:"new_nodepool"`
}

// computeData: with masters alone changed, crate-operator's keys are of the first data group.
func computeData(changes []model.ComputeChange) *ComputeData {
	out := &ComputeData{}
	data := false
	for _, c := range changes {
		group := groupData(c.Old, c.New)
		if c.Old != c.New && len(changes) > 1 {
			out.Groups = append(out.Groups, NamedGroupData{c.Group, group})
		}
		if masters := MasterData(group); c.Masters {
			out.MasterData = &masters
		} else if !data {
			out.GroupData, data = group, true
		}
	}
	return out
}

func groupData(old, wanted model.Compute) GroupData {
	return GroupData{
		OldCPULimit: unlessZero(old.CPULimit), OldMemoryLimit: unlessZero(old.MemoryLimit),
		OldCPURequest: unlessZero(old.CPURequest), OldMemoryRequest: unlessZero(old.MemoryRequest),
		OldHeapRatio: unlessZero(old.HeapRatio), OldNodepool: unlessZero(old.Nodepool),
		NewCPULimit: unlessZero(wanted.CPULimit), NewMemoryLimit: unlessZero(wanted.MemoryLimit),
		NewCPURequest: unlessZero(wanted.CPURequest), NewMemoryRequest: unlessZero(wanted.MemoryRequest),
		NewHeapRatio: unlessZero(wanted.HeapRatio), NewNodepool: unlessZero(wanted.Nodepool),
	}
}

// Feedback is of the event "feedback".
type Feedback struct {
	Message   string `json:"message"`
	Operation string `json:"operation"`
	Action    string `json:"action"`
}

// HealthData is of the event "health"; Status is GREEN, YELLOW, RED or
// UNREACHABLE.
type HealthData struct {
	Status string `json:"status"`
}

// Schedule is of the event "backup_schedule_update". The name is ours: crate-operator has one schedule.
type Schedule struct {
	Cron string `json:"backup_schedule"`
	Name string `json:"name"`
}

// ReasonData is of the event "delay".
type ReasonData struct {
	Reason string `json:"reason"`
}

// eventHealth is of no decision.
const eventHealth model.Event = "health"

// webhookReport leaves out what has no event.
func webhookReport(cluster record.Cluster, report model.Report) ([]byte, error) {
	if report.Event == model.EventNone {
		return nil, nil
	}
	return BodyOf(cluster, report)
}

// BodyOf makes the webhook's body of a report. The same report gives the same
// bytes. An event that has no body here is an error.
func BodyOf(cluster record.Cluster, report model.Report) ([]byte, error) {
	body := Body{Event: report.Event, Status: report.Status, Namespace: cluster.Namespace, Cluster: cluster.Name}
	switch report.Event {
	case model.EventScale:
		body.Scale = &ScaleData{
			OldData: notNil(report.OldData), NewData: notNil(report.NewData),
			OldMasters: unlessZero(report.OldMasters), NewMasters: unlessZero(report.NewMasters),
		}
	case model.EventUpgrade:
		u := report.Upgrade
		body.Upgrade = &UpgradeData{OldRegistry: u.OldRegistry, NewRegistry: u.NewRegistry, OldVersion: u.OldVersion, NewVersion: u.NewVersion}
	case model.EventCompute:
		body.Compute = computeData(report.Computes)
	case model.EventSchedule:
		body.Backup = &Schedule{Cron: report.Cron, Name: report.Schedule}
	case model.EventDelay:
		body.Temporary = &ReasonData{Reason: cut(report.Message, MaxMessage)}
	case model.EventFeedback:
		action := report.Action
		if action == "" {
			action = "unknown"
		}
		body.Feedback = &Feedback{Message: cut(report.Message, MaxMessage), Operation: report.Operation, Action: action}
	default:
		return nil, fmt.Errorf("make the webhook body of report %s: the event %q has none", report.ID, report.Event)
	}
	return body.encode()
}

func healthBody(cluster record.Cluster, status string) ([]byte, error) {
	return Body{
		Event: eventHealth, Status: model.StatusSuccess, Namespace: cluster.Namespace, Cluster: cluster.Name,
		Health: &HealthData{Status: status},
	}.encode()
}

// delayBody says that reports are missing. crate-operator's receivers know
// "delay" as something that failed for now and ends no operation, so this one
// cannot be taken for an outcome.
func delayBody(cluster record.Cluster, reason string) ([]byte, error) {
	return Body{
		Event: model.EventDelay, Status: model.StatusTemporaryFailure, Namespace: cluster.Namespace, Cluster: cluster.Name,
		Temporary: &ReasonData{Reason: cut(reason, MaxMessage)},
	}.encode()
}

func coalescedReason(count int, first, last time.Time) string {
	return fmt.Sprintf("%d reports from %s to %s are coalesced into this one, because the receiver has not taken them and their queue is full",
		count, first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
}

func (b Body) encode() ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(b); err != nil {
		return nil, fmt.Errorf("encode the webhook body of %s: %w", b.Event, err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

func notNil(groups []model.GroupReplicas) []model.GroupReplicas {
	if groups == nil {
		return []model.GroupReplicas{}
	}
	return groups
}

func unlessZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// cut shortens a text to so many bytes, between runes, and says so. It repairs
// what is no UTF-8, which JSON cannot carry.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	const mark = " … (cut)"
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
