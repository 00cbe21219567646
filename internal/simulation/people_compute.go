package simulation

// resizing is the first seed whose schedule may have pods that get other CPU and memory.
const resizing = 2_100_000_000

// ofResizes are what meets pods that get other CPU and memory.
var ofResizes = []What{
	killBefore, killAfter, killBefore, killAfter, conflict, unavailable, timeoutAfter, standStill, forbid, restartDaemon,
	evict, drainNode, deletePodByHand, killNode, crashProcess, loseVolume, stickTerminating, loseRecord, loseRecord,
	stallWatch, stallWatch, stallController, stickKubelet, stickKubelet, stickKubelet, dropResize,
	cutDatabase, pauseCommand, releaseCommand, abortCommand, pushPause, pushRelease, scaleUpByHand,
	pushCompute, pushCompute, pushShrink, pushGrow, pushTemplate, pushBadTemplate, pushUpgrade, pushRestart, pushRevert, pushRemoveGroup, pushSuspend, pushVolumes,
}

// resizes draws other CPU and memory into a schedule.
func (s *Schedule) resizes(r *random) {
	s.Start.Compute = true
	if s.Start.Driver == noDriver {
		s.Start.Driver = quickDriver
	}
	s.Steps += 40
	at := r.span(0, 20*second)
	add := func(what What, at millis) {
		s.Items = append(s.Items, Item{What: what, At: at, A: r.below(64), B: r.below(64)})
	}
	add(pushCompute, at)
	for n := 0; n == 0 || r.oneIn(2); n++ {
		add(ofResizes[r.below(len(ofResizes))], at+r.span(0, 12*second))
	}
	if r.oneIn(2) {
		add(ofResizes[r.below(len(ofResizes))], at+r.span(0, minute))
	}
}

// happenToCompute pushes other CPU and memory, mostly for all groups and alone, or hinders whoever gives it.
func (w *world) happenToCompute(it Item, l *slot) {
	if !w.schedule.Start.Compute {
		return
	}
	switch it.What {
	case dropResize:
		w.noResize = w.now + millis(1+it.B)*second
		w.say("pods may not be resized until %.1f s", float64(w.noResize)/1000)
		return
	case stickKubelet:
		l.kubelet = kubeletStops[it.B%len(kubeletStops)]
		w.say("the kubelet of %s answers to a resize: %s", l.podName, l.kubelet)
		return
	}
	c := *w.head()
	for i := range c.amounts {
		if it.B%4 != 3 || i == it.A%3 {
			c.amounts[i] = (c.amounts[i] + 1 + it.A%(len(resourceTexts)-1)) % len(resourceTexts)
		}
	}
	switch it.B % 16 {
	case 5:
		c.content, c.bad = w.newContent(), good
	case 6:
		c.version = upgradeTo
	case 7:
		if c.replicas[1] > 0 && c.replicas[1] < maxOrdinals-2 {
			c.replicas[1]++
		}
	}
	w.push(c, second)
}
