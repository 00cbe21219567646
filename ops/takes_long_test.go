package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Nodes that do not come are told once, and waited for.
func TestAGrowThatTakesLongIsTold(t *testing.T) {
	s := made(t)
	s.d.Sets[0].Replicas = 4
	d := s.decide()
	require.NotNil(t, d.Record.Operation)
	op := *d.Record.Operation
	op.Started = s.o.At.Add(-48 * time.Hour)
	s.r = d.Record
	s.r.Operation = &op
	told := func(d model.Decision) bool {
		return slices.ContainsFunc(d.Reports, func(r model.Report) bool { return r.Reason == "GrowTimedOut" })
	}
	d = s.decide()
	assert.True(t, told(d))
	s.r = d.Record
	assert.False(t, told(s.decide()))
}

// A suspension waits for its pods, says once that it takes long, and does not end before a controller has seen it.
func TestASuspensionThatTakesLongIsToldAndGoesOn(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(60)
	pods := w.observe().Pods
	w.desired = at0(w.desired)
	w.until(func() bool { return w.sets[0].Replicas == 0 })
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	op := *s.r.Operation
	op.Started = s.o.At.Add(-48 * time.Hour)
	s.r.Operation, s.o.Pods = &op, pods
	told := func(d model.Decision) int {
		return slices.IndexFunc(d.Reports, func(r model.Report) bool { return r.Reason == "SuspendTimedOut" })
	}
	d := s.decide()
	require.GreaterOrEqual(t, told(d), 0)
	assert.Contains(t, d.Reports[told(d)].Message, "the suspend has taken more than")
	assert.Contains(t, reasons(d.Waits), "pods-gone")
	s.r = d.Record
	assert.Equal(t, -1, told(s.decide()), "it is told once")

	s.o.Pods = nil
	s.o.Sets[0].Generation, s.o.Sets[0].ObservedGeneration = 5, 4
	d = s.decide()
	assert.NotNil(t, d.Record.Operation, "its controller has not seen it yet")
	assert.Contains(t, reasons(d.Waits), "controller-behind")
	s.o.Sets[0].ObservedGeneration = 5
	assert.Nil(t, s.decide().Record.Operation)
}
