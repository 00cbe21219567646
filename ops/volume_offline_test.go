package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// A pod that is made while its file system is to follow already mounts the volume anew. It may be
// seen only when it runs: after a suspension nobody has noted since when its file system waits.
func TestAPodThatWasMadeWhileItsFileSystemWaitedIsNotRestartedForIt(t *testing.T) {
	for _, c := range []struct {
		name string
		// follows is when the file system began to wait, after the pod was made; 0: nothing says it.
		follows  time.Duration
		starts   time.Duration // after it was made
		restarts bool
	}{
		{"it waited an hour before", -time.Hour, 0, false},
		{"it began in the second in which the pod was made, which started later", time.Nanosecond, 2 * time.Second, false},
		{"it began in the second in which the pod was made and started", time.Nanosecond, 0, true},
		{"it began while the pod ran", time.Minute, time.Second, true},
		{"nothing says since when: it is what is seen first", 0, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := atStep(t, "")
			s.r.Operation = nil
			s.d.Operations.OfflineResize = model.OfflineRestart
			made := s.o.At.Add(-10 * time.Minute).Truncate(time.Second)
			for i := range s.o.Pods {
				p := &s.o.Pods[i]
				p.Created, p.Started, p.Controller = made, made.Add(c.starts), s.o.Sets[0].UID
			}
			waits := &s.o.Claims[1]
			waits.Class, waits.Capacity, waits.Resize = "fast", 100*gib, model.ResizeNode
			if c.follows != 0 {
				waits.Follows = made.Add(c.follows).Truncate(time.Second)
			}
			s.r.Growth = &model.VolumeGrowth{Sizes: hot + ":data0=" + sizeAfter, Offline: []string{"fast"}}
			for range 2 {
				s.r = s.decide().Record
			}
			assert.Equal(t, c.restarts, s.r.Operation != nil && s.r.Operation.Kind == model.OperationRestart)
			assert.Len(t, s.r.Growth.Pending, 1)
		})
	}
}
