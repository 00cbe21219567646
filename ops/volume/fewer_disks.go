package volume

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Fewer disks come node by node (scale.StartRemove). When no pod uses a disk any more its StatefulSet is
// recreated without the claim template.

// fewerDue reports whether a StatefulSet is to be recreated without disks that none of its pods uses.
func fewerDue(v *view.View, set string) bool {
	may := !v.Rejected && !v.Suspending && v.Record.Removing != nil
	return may && view.SurplusUnused(v, set) && !view.Narrow(v, set)
}

// keptDisks are the claim templates of disks that are not desired, which a StatefulSet has to keep: its pods
// use them.
func keptDisks(v *view.View, set string) []model.VolumeTemplate {
	if fewerDue(v, set) {
		return nil
	}
	return view.SurplusDisks(v, set)
}

// Removed notes that disks are being removed, from when fewer are desired until no StatefulSet has
// more, and says how far that has come.
func Removed(t *pass.Pass) {
	if t.Record.Removing != nil {
		noteDone(t) // whatever is under way: a pod that is not noted restarts with its disk
	}
	switch {
	case t.Desired.Removed, !t.Record.Bootstrap.Done:
		return
	case t.Rejected:
		if _, lacking, _ := usingDisks(&t.View); t.Record.Removing != nil && len(lacking) > 0 {
			t.Waits(gates.DisksRemoved("once nothing is refused any more it goes on" + lackingWords(lacking)))
		}
		return
	case t.Suspending, len(t.Record.Suspended) > 0:
		return // without its pods nobody can tell
	}
	was, surplus := t.Record.Removing, slices.ContainsFunc(t.Record.Sets, func(s model.RecordedSet) bool { return len(view.SurplusDisks(&t.View, s.Name)) > 0 })
	if was == nil && !surplus {
		return
	}
	using, lacking, total := usingDisks(&t.View)
	if !surplus && len(lacking) == 0 {
		whole := view.AllOurs(&t.View) && !view.AnyMixed(&t.View) && total >= view.Total(t.Record.Sets, nil) && !anyFurther(&t.View)
		if whole && t.Record.Exclusions == nil && t.Record.Operation == nil {
			t.Record.Removing = nil
			t.Feedback("expand_storage", model.StatusSuccess, "DisksRemoved", "each node has the disks that are desired, "+disksWords(&t.View)+freeWords(&t.View))
		}
		return
	}
	if was == nil {
		was = &model.DiskRemoval{}
	}
	if desired := disksWords(&t.View); was.Desired != desired {
		t.Record.Removing = &model.DiskRemoval{Desired: desired, Done: was.Done}
		if surplus {
			t.Feedback("expand_storage", model.StatusInProgress, "DisksRemoving", "disks are removed node by node; each node is drained before, and no claim is deleted: "+desired)
		}
	}
	words := fmt.Sprintf("%d of %d nodes do without", total-len(using), total)
	if len(using) > 0 {
		words += ", " + gates.Few(using) + " not yet"
	}
	t.Waits(gates.DisksRemoved(aim.AbortedHere(&t.View) + words + lackingWords(lacking)))
}

// noteDone notes a pod that has come back without a disk, for its node was found empty before; others are
// forgotten once they have gone.
func noteDone(t *pass.Pass) {
	done := slices.DeleteFunc(model.Listed(t.Record.Removing.Done), func(uid string) bool {
		return !t.AnyPod(func(p *model.Pod) bool { return p.UID == uid })
	})
	if narrows(&t.View) {
		r := t.Record.Operation.Restart
		p := view.PodNamed(&t.View, r.Pod)
		back := p != nil && p.UID != r.PodUID // it was made while the template did without a disk for it
		if back && r.Removes == r.PodUID && p.Unused != "" {
			done = model.Once(done, p.UID)
		}
		if back || keepsAll(t) {
			widens(t) // the next pod of its name has the disk, whatever becomes of this one, and whatever is pushed
		}
	}
	model.Own(&t.Record.Removing).Done = strings.Join(done, ",")
}

func narrows(v *view.View) bool { return view.Restarting(v) && v.Record.Operation.Restart.Narrow }

// keepsAll reports whether the template is to do without a disk no longer, though the pod has not come: a definition is
// refused, or the pod has had its time to go and to come. It may be on a machine that is lost, and another pod
// that vanishes meanwhile comes back without the disk.
func keepsAll(t *pass.Pass) bool {
	op := t.Record.Operation
	return t.Rejected || op.Step == model.StepDown && t.Elapsed(op.Restart.Since) > view.PodLimit(&t.View)
}

// widens has the template of a restart mount all disks again.
func widens(t *pass.Pass) {
	op := model.Own(&t.Record.Operation)
	model.Own(&op.Restart).Narrow = false
}

// usingDisks are the nodes that use a disk which is not desired, the pods that lack the use of one that
// they are to have, and how many nodes there are.
func usingDisks(v *view.View) (using, lacking []string, total int) {
	for p := range model.Each(v.Observed.Pods) {
		if total++; view.SurplusOf(v, p) != "" {
			using = append(using, p.NodeName)
		}
		if disks := view.IsToUse(v, p); len(disks) > 0 {
			lacking = append(lacking, p.Name+" ("+strings.Join(disks, ", ")+")")
		}
	}
	return using, lacking, total
}

func lackingWords(pods []string) string {
	if len(pods) == 0 {
		return ""
	}
	return "; these pods are without a disk that they are to have, and restart with it: " + gates.Few(pods) + ". What is on its claim is there: do not delete that"
}

// disksWords are the claim templates of disks that are desired, in words that compare.
func disksWords(v *view.View) string {
	return strings.Join(model.Texts(v.Record.Sets, func(s *model.RecordedSet) string {
		disks := model.Sizes(v.Desired.Volumes, s.Name).Only(model.DataVolume)
		return s.Name + " " + strings.ReplaceAll(string(disks), ",", ", ")
	}), "; ")
}

// freeWords name the claims of disks that no pod uses any more.
func freeWords(v *view.View) string {
	free := model.ClaimNames(v.Observed.Claims, func(c *model.Claim) bool {
		known := view.Recorded(v.Record.Sets, c.Set) != nil && model.DataVolume(c.Template)
		return known && v.Live(c.Set) != nil && !view.HasTemplate(v, c.Set, c.Template)
	})
	if len(free) == 0 {
		return ""
	}
	return ". These claims are free, and nobody deletes them: " + gates.Few(free) + ". Delete those that nobody needs; Kubernetes keeps one until its pod has restarted once more"
}

// anyFurther reports whether a disk is desired by now that a StatefulSet has not, or does not mount.
func anyFurther(v *view.View) bool {
	return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
		live := v.Live(s.Name)
		return len(view.FurtherDisks(v, s.Name)) > 0 || live != nil && live.Unused != ""
	})
}

// Closes has the template of a StatefulSet mount again what its nodes have, also where nothing else is done: a
// pause, a release or a daemon that has lost its record may come in the moment in which it does
// not. It says whether that is due.
func Closes(t *pass.Pass) bool {
	closes := narrows(&t.View) && view.AnyNarrow(&t.View)
	// The disk may be desired again meanwhile. It is none that no node has got yet.
	lacks := t.AnyPod(func(p *model.Pod) bool {
		live := t.Live(p.Set)
		return live != nil && slices.ContainsFunc(model.Listed(live.Unused), func(disk string) bool { return view.HasDisk(&t.View, p, disk) })
	})
	if closes {
		widens(t)
	}
	return closes || lacks
}
