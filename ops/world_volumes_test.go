package ops_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// toyVolumes are the sizes of the world: of claim templates, of claims and of file systems.
type toyVolumes struct {
	cluster.Volumes
	// away are StatefulSets that were deleted without their pods; made counts how often
	// each was recreated.
	away map[string]bool
	made map[string]int
	// least is the minAvailable of budgets.
	least map[string]int
	// infeasible is the size that a driver fails to give, offline that no file system
	// follows while its pod runs, blind that CrateDB sees no growth.
	infeasible     int64
	offline, blind bool
	// larger is since when a volume is larger than its file system. neverMounts has it stay so
	// though the pod was recreated.
	larger      map[string]time.Time
	neverMounts bool
	// backAgain is how often a StatefulSet may be recreated once more, because others are desired.
	backAgain int
	// undrained counts the nodes that went with their volumes and were not excluded.
	undrained int
	// mayDelete is whether volume claims may be deleted.
	mayDelete model.Answer
	// folder is the size of the file system of which claims are folders; 0 where each has its own.
	folder int64
	// asked are the claims in the order in which they were asked for more.
	asked []string
	// noClass is the VolumeAttributesClass that no volume can have, slowClass one that its driver
	// is never done with. oldKubernetes drops all of them.
	noClass, slowClass string
	oldKubernetes      bool
}

const (
	gib        = int64(1) << 30
	sizeBefore = "100Gi"
	sizeAfter  = "200Gi"
)

// sized gives each StatefulSet of the definition one template, data0.
func sized(d model.Desired, text string) model.Desired {
	d.Volumes = nil
	for _, s := range d.Sets {
		d.Volumes = append(d.Volumes, model.VolumeTemplate{Set: s.Name, Name: "data0", Text: text, Size: manifest.BytesOfQuantity(text), Class: "fast"})
	}
	return d
}

// makeAgain has a StatefulSet that is not there made with the claim templates that are desired.
func (w *world) makeAgain(e model.EffectiveSet) {
	if w.least == nil {
		w.least, w.away, w.made = map[string]int{}, map[string]bool{}, map[string]int{}
	}
	if !w.away[e.Name] && w.set(e.Name).Name != "" {
		return
	}
	recreate := w.away[e.Name]
	make := func() {
		w.away[e.Name] = false
		w.made[e.Name]++
		w.MakeTemplates(&e, w.desired.Volumes)
		for i := range w.Templates {
			if w.oldKubernetes {
				w.Templates[i].Attributes = ""
			}
		}
	}
	if recreate {
		w.write(make)
		return
	}
	make()
}

// seeVolumes is what a look sees of sizes, and what time brings to them.
func (w *world) seeVolumes(o *model.Observed) {
	o.Volumes = slices.Clone(w.Templates)
	o.Sets = slices.DeleteFunc(slices.Clone(o.Sets), func(s model.ObservedSet) bool { return w.away[s.Name] })
	for i := range o.Sets {
		s := &o.Sets[i]
		if w.made[s.Name] > 1 {
			s.UID += strings.Repeat("-again", w.made[s.Name]-1)
		}
		for j := range o.Pods {
			if o.Pods[j].Set == s.Name {
				o.Pods[j].Controller = s.UID
				s.Current++
			}
		}
	}
	for i := range o.Budgets {
		b := &o.Budgets[i]
		if b.Seen, b.Allowed = true, b.MaxUnavailable; w.least[b.Name] > 0 {
			b.MaxUnavailable, b.MinAvailable, b.Allowed = 0, w.least[b.Name], 0
		}
	}
	for i := range o.Database.Nodes {
		n := &o.Database.Nodes[i]
		for _, c := range w.Claims {
			if n.Name == c.Set+"/"+lastOf(c.Name) {
				if n.DiskSize = c.Capacity; w.blind {
					n.DiskSize = min(c.Capacity, 100*gib)
				}
				n.DiskSize = max(n.DiskSize, w.folder)
			}
		}
	}
	if w.resize(); w.record.Replacing != nil {
		o.DeletesClaims = w.mayDelete
	}
	o.Claims = slices.Clone(w.Claims)
}

func lastOf(name string) string { return name[len(name)-1:] }

// resize is a driver and a kubelet.
func (w *world) resize() {
	if w.larger == nil {
		w.larger = map[string]time.Time{}
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		w.modify(c)
		switch {
		case c.Requested <= c.Capacity:
			c.Resize = model.ResizeNone
		case w.infeasible > 0 && c.Requested >= w.infeasible:
			c.Resize, c.ResizeMessage = model.ResizeFailed, "the array is full"
		case c.Resize == model.ResizeNone || c.Resize == model.ResizeFailed:
			c.Resize, c.ResizeMessage = model.ResizeController, ""
		case c.Resize == model.ResizeController:
			c.Resize = model.ResizeNode
			w.larger[c.Name] = w.now
		case w.mounts(c):
			c.Capacity, c.Resize = c.Requested, model.ResizeNone
		}
	}
}

// mounts reports whether a kubelet makes the file system of a claim larger: a pod has the volume, and
// has come since where the driver works offline.
func (w *world) mounts(c *model.Claim) bool {
	p := w.pods[fmt.Sprint(c.Set, "-", c.Ordinal)]
	return p != nil && (!w.offline || !w.neverMounts && p.created.After(w.larger[c.Name]))
}

// modify is a driver that gives volumes other VolumeAttributesClasses.
func (w *world) modify(c *model.Claim) {
	switch {
	case c.Attributes == c.Current || c.Attributes == "":
		c.Modify, c.ModifyMessage = model.ModifyNone, ""
	case c.Attributes == w.noClass:
		c.Modify, c.ModifyMessage = model.ModifyInfeasible, "too many IOPS"
	case c.Modify == model.ModifyNone || c.Attributes == w.slowClass:
		c.Modify, c.ModifyMessage = model.ModifyInProgress, ""
	case c.Modify == model.ModifyInProgress:
		c.Current, c.Modify = c.Attributes, model.ModifyNone
	default:
		c.Modify, c.ModifyMessage = model.ModifyNone, "" // another class is asked for
	}
}

func (w *world) GrowClaim(_ context.Context, name, uid string, asked model.ClaimChange) error {
	change := asked
	i := slices.IndexFunc(w.Claims, func(c model.Claim) bool { return c.Name == name && c.UID == uid })
	if i < 0 {
		return execute.ErrNotFound
	}
	require.False(w.t, change.NoAttributes && w.Claims[i].Current != "", "Kubernetes takes no class from %s", name)
	wanted := manifest.BytesOfQuantity(change.Size)
	if change.Size != "" {
		require.Greater(w.t, wanted, w.Claims[i].Capacity, "%s is never asked for less than it has", name)
	}
	w.write(func() {
		w.asked = append(w.asked, name+"="+strings.Trim(change.Size+"/"+change.Attributes, "/"))
		if w.oldKubernetes {
			change = model.ClaimChange{Size: change.Size}
		}
		cluster.Ask(&w.Claims[i], change)
	})
	if w.oldKubernetes && asked.Attributes != "" {
		return execute.ErrDropped
	}
	return nil
}

// OrphanSet asserts what has to be so before a StatefulSet leaves its pods.
func (w *world) OrphanSet(_ context.Context, name, uid, _ string, pods int, _ []string, budget string, keep int) error {
	if w.away[name] || w.set(name).Name == "" {
		return execute.ErrNotFound
	}
	there := 0
	for pod, p := range w.pods {
		if p.away == 0 && len(pod) > len(name) && pod[:len(name)] == name {
			there++
		}
	}
	w.write(func() {
		require.Equal(w.t, pods, there, "%s is deleted while a pod of it is down", name)
		require.Equal(w.t, keep, w.least[budget], "the budget lets a pod go")
		require.LessOrEqual(w.t, strings.Count(uid, "again"), w.backAgain, "%s is recreated once", name)
		w.away[name] = true
		w.DeleteTemplates(name)
	})
	return nil
}
