package reports

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// Targets are all receivers of reports. Each has a queue of its own: one that is away
// keeps the others from nothing.
type Targets struct{ queues []*Queue }

// NewReceivers makes a receiver of each configuration. Version goes into the User-Agent.
func NewReceivers(configs []Config, version string) ([]*Receiver, error) {
	var receivers []*Receiver
	var problems []error
	for _, config := range configs {
		receiver, err := NewReceiver(config, version)
		switch {
		case err != nil:
			problems = append(problems, err)
		case receiver != nil:
			receivers = append(receivers, receiver)
		}
	}
	return receivers, errors.Join(problems...)
}

// NewTargets makes a queue for each kind of target, with or without a receiver. Options are
// those of each queue, without Receiver and Measure; measure gives the Measure of a target
// by its name.
func NewTargets(options Options, receivers []*Receiver, measure func(target string) Measure) *Targets {
	t := &Targets{}
	for _, f := range formats {
		options.Receiver, options.Measure = nil, measure(f.name)
		for _, receiver := range receivers {
			if receiver.format == f {
				options.Receiver = receiver
			}
		}
		q := NewQueue(options)
		q.format = f
		t.queues = append(t.queues, q)
	}
	shared := t.queues[0].documents
	for _, q := range t.queues {
		if q.to != nil {
			shared.told = append(shared.told, q.format)
		}
		q.documents = shared
	}
	return t
}

// Enqueue is Queue.Enqueue of each target.
func (t *Targets) Enqueue(ctx context.Context, cluster record.Cluster, reports []model.Report) error {
	var problems []error
	for _, q := range t.queues {
		problems = append(problems, q.Enqueue(ctx, cluster, reports))
	}
	return errors.Join(problems...)
}

// Health is Queue.Health of each target.
func (t *Targets) Health(cluster record.Cluster, status string) {
	for _, q := range t.queues {
		q.Health(cluster, status)
	}
}

// Resume is Queue.Resume of each target.
func (t *Targets) Resume(cluster record.Cluster) {
	for _, q := range t.queues {
		q.Resume(cluster)
	}
}

// Run is Queue.Run of each target, until all have ended.
func (t *Targets) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, q := range t.queues {
		running.Go(func() { _ = q.Run(ctx) })
	}
	running.Wait()
	return nil
}

// Settled is Queue.Settled of each target.
func (t *Targets) Settled(ctx context.Context) error {
	var problems []error
	for _, q := range t.queues {
		problems = append(problems, q.Settled(ctx))
	}
	return errors.Join(problems...)
}

// Waiting counts what of the cluster its receivers have not taken yet, commit statuses
// included. Nobody waits for a target that is not configured any more.
func (t *Targets) Waiting(ctx context.Context, cluster record.Cluster) (int, error) {
	document, _, _, err := t.queues[0].load(ctx, cluster)
	if err != nil {
		return 0, fmt.Errorf("count the reports of %s that wait: %w", cluster, err)
	}
	return document.waiting(t.queues[0].documents.told), nil
}

// Statuses is NewStatuses beside these targets.
func (t *Targets) Statuses(to Posters, measure Measure) *Statuses {
	return NewStatuses(t.queues[0], to, measure)
}
