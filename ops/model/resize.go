package model

import (
	"slices"
	"strings"
	"time"
)

// ResizeRestart is spec.operations.resize where other CPU and memory always come by a restart.
const ResizeRestart = "restart"

// Resources are the CPU and memory of a pod's containers, one "crate requests.cpu=500m" a line,
// sorted. Equal amounts are equal texts.
type Resources string

// In reports whether the others have each amount that these name.
func (r Resources) In(others Resources) bool { return r.Missing(others) == "" }

// Missing are the amounts of these that the others do not have.
func (r Resources) Missing(others Resources) Resources {
	has := strings.Split(string(others), "\n")
	return Resources(strings.Join(slices.DeleteFunc(strings.Split(string(r), "\n"), func(line string) bool { return slices.Contains(has, line) }), "\n"))
}

// Words are the amounts in one line, for people.
func (r Resources) Words() string { return strings.ReplaceAll(string(r), "\n", ", ") }

// Containers are the amounts by container and by "requests" and "limits".
func (r Resources) Containers() map[string]map[string]map[string]string {
	out := map[string]map[string]map[string]string{}
	for line := range strings.SplitSeq(string(r), "\n") {
		container, rest, _ := strings.Cut(line, " ")
		field, amount, _ := strings.Cut(rest, "=")
		if kind, name, ok := strings.Cut(field, "."); ok {
			if out[container] == nil {
				out[container] = map[string]map[string]string{}
			}
			if out[container][kind] == nil {
				out[container][kind] = map[string]string{}
			}
			out[container][kind][name] = amount
		}
	}
	return out
}

// ResizeStage is how far the kubelet has come with the CPU and memory that a pod was last asked
// to have.
type ResizeStage string

// How far a resize of a pod has come; "" is: none is under way.
const (
	// ResizeAsked: it has not answered yet, or works on it.
	ResizeAsked ResizeStage = "asked"
	// ResizeDeferred: its machine has no room now. It tries again by itself.
	ResizeDeferred ResizeStage = "deferred"
	// ResizeInfeasible: this machine can never do it.
	ResizeInfeasible ResizeStage = "infeasible"
	// ResizeError: it was admitted, and carrying it out fails.
	ResizeError ResizeStage = "error"
)

// Stopped reports whether no waiting is known to end it.
func (s ResizeStage) Stopped() bool { return s == ResizeInfeasible || s == ResizeError }

// CanResize is whether pods can be resized in place: Served by this Kubernetes (1.33 and later),
// and Allowed to the daemon.
type CanResize struct {
	Served, Allowed Answer
	// Unread is why that is not known.
	Unread string
}

// Resizing says that pods are to get other CPU and memory while they run: from before the template
// is applied until each pod has them. Without it no pod is compared with its template.
type Resizing struct {
	Since time.Time `json:"since"`
	// Reported are the pods whose resize was reported as stopped, joined by commas.
	Reported string `json:"told,omitempty"`
	// Rebuilt: the record was lost, and nobody knows whether anything was under way.
	Rebuilt bool `json:"rebuilt,omitempty"`
	// Restart: what is left comes by a restart.
	Restart bool `json:"restart,omitempty"`
}

func (r *Resizing) equal(o *Resizing) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Since.Equal(o.Since) && r.Reported == o.Reported && r.Rebuilt == o.Rebuilt && r.Restart == o.Restart
}
