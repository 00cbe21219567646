package derive

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"stevedore.dev/stevedore/render/base"
)

// readDisks takes the sizes of the claims, which grow while their template stays as it was made. Of
// claims of several sizes it takes the largest: none ever shrinks.
func (d *draft) readDisks(g *group) {
	for _, template := range g.set.Spec.VolumeClaimTemplates {
		v := volumeOf(template.Spec)
		if template.Name == debugClaim {
			continue
		}
		g.disks++
		sizes := map[string]bool{}
		v.class = d.classOf(g, template.Name, v.class)
		largest := resource.MustParse(v.size)
		for _, claim := range d.claimsOf(g, template.Name) {
			size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
			sizes[size.String()] = true
			if size.Cmp(largest) > 0 {
				largest = size
			}
			if name := claim.Spec.VolumeAttributesClassName; name != nil && *name != "" {
				v.attributes = *name
			}
		}
		if len(sizes) > 1 {
			d.note("several-values", false, "the claims %s of %s have several sizes (%s): the definition has the largest, and the others grow to it", template.Name, g.set.Name, joinKeys(sizes))
		}
		v.size = largest.String()
		if g.disk.size != "" && g.disk != v {
			d.note("several-values", true, "the disks of %s are not alike (%s, class %s, and %s, class %s): a definition has one size and one class of them", g.set.Name, g.disk.size, g.disk.class, v.size, v.class)
			continue
		}
		g.disk = v
	}
}

// classOf is a storage class; of a template without one, that of its claims: it was the default when
// they were made.
func (d *draft) classOf(g *group, template, class string) string {
	for _, claim := range d.claimsOf(g, template) {
		if class == "" && claim.Spec.StorageClassName != nil {
			class = *claim.Spec.StorageClassName
		}
	}
	return class
}

func joinKeys(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

func volumeOf(spec corev1.PersistentVolumeClaimSpec) (v volume) {
	size := spec.Resources.Requests[corev1.ResourceStorage]
	v.size = size.String()
	if spec.StorageClassName != nil {
		v.class = *spec.StorageClassName
	}
	if spec.VolumeAttributesClassName != nil {
		v.attributes = *spec.VolumeAttributesClassName
	}
	return v
}

// claimsOf are the claims that were made from a template.
func (d *draft) claimsOf(g *group, template string) (claims []corev1.PersistentVolumeClaim) {
	for _, o := range d.in.Live {
		ordinal, ok := strings.CutPrefix(o.GetName(), template+"-"+g.set.Name+"-")
		if _, err := strconv.Atoi(ordinal); o.GetKind() != kindClaim || o.GetNamespace() != d.in.Namespace || !ok || err != nil {
			continue
		}
		claim := corev1.PersistentVolumeClaim{}
		if err := typed(o, &claim); err == nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

// readDebug finds the size and class of the claims debug. From the base v2 on their class is that of
// each group's data unless it is said.
func (d *draft) readDebug() {
	follows := d.base != base.V1
	var all []volume
	for _, g := range d.groups {
		for _, template := range g.set.Spec.VolumeClaimTemplates {
			if template.Name == debugClaim {
				v := volumeOf(template.Spec)
				v.class = d.classOf(g, template.Name, v.class)
				follows = follows && v.class == g.disk.class
				all = append(all, v)
			}
		}
	}
	for i := range all {
		if follows {
			all[i].class = ""
		}
		if all[i] != all[0] {
			d.note("several-values", true, "the claims debug are not alike (%s, class %s, and %s, class %s of %s): a definition has one size and one class of them, and claims never change", all[0].size, all[0].class, all[i].size, all[i].class, d.groups[i].set.Name)
		}
	}
	if d.debug = all[0]; d.debug == (volume{size: baseDebugSize}) {
		d.debug = volume{} // as the base makes it
	}
}

// baseDebugSize is the size of the claims debug in each base.
const baseDebugSize = "64Gi"
