package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"

	"stevedore.dev/stevedore/internal/storageclass"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// noProvisioner makes no volume: somebody else does.
const noProvisioner = "kubernetes.io/no-provisioner"

// storage says the same of a class as the gate storage-class-missing.
func (c *checker) storage(ctx context.Context) {
	const check = "storage-class"
	asked := map[string][]model.ClaimClass{}
	var classes []string
	var all []model.ClaimClass
	for _, cluster := range c.Clusters {
		for _, class := range cluster.Classes {
			if asked[class.Class] == nil {
				classes = append(classes, class.Class)
			}
			class.Set = cluster.String() + " " + class.Set
			asked[class.Class] = append(asked[class.Class], class)
			all = append(all, class)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(classes)
	known := storageclass.Read(ctx, c.Client, all)
	c.attributes(known)
	list, err := storageclass.List(ctx, c.Client)
	if !known.Known || err != nil {
		c.unknown(check, strings.Join(classes, ", "), "ask somebody who may", "%s", known.Unread)
		return
	}
	for _, class := range classes {
		subject := class
		if subject == "" {
			subject = "the default class"
		}
		if problems := aim.ClassProblems(asked[class], known); len(problems) > 0 {
			c.problem(check, subject, "the class is named by spec.nodes.*.resources.disk.storageClass and spec.operations.debugVolume.storageClass", "%s", strings.Join(problems, "; "))
			continue
		}
		i := slices.IndexFunc(list, func(s storagev1.StorageClass) bool {
			return s.Name == class || class == "" && storageclass.IsDefault(&s)
		})
		switch {
		case i < 0:
			c.unknown(check, subject, "", "it does not exist; volumes of it are there, and it is not known whether they are enough")
		case list[i].Provisioner == noProvisioner:
			c.unknown(check, subject, "have as many volumes of it as there are claims", "it makes no volumes (%s): they have to be there", noProvisioner)
		case list[i].AllowVolumeExpansion == nil || !*list[i].AllowVolumeExpansion:
			c.ok(check, subject, "it is there (%s); its volumes cannot be expanded later: allowVolumeExpansion is not true", list[i].Provisioner)
		default:
			c.ok(check, subject, "it is there, and expands (%s)", list[i].Provisioner)
		}
	}
}

// attributes says the same of a VolumeAttributesClass as the gate volume-attributes-class-unusable.
func (c *checker) attributes(known model.Storage) {
	const check = "volume-attributes-class"
	var classes []string
	problems := map[string][]string{}
	for _, cluster := range c.Clusters {
		for _, v := range cluster.Volumes {
			if v.Attributes == "" {
				continue
			}
			if !slices.Contains(classes, v.Attributes) {
				classes = append(classes, v.Attributes)
			}
			if why := gates.AttributesProblem(v.Attributes, v.Class, known.Attributes, known.Classes); why != "" {
				problems[v.Attributes] = append(problems[v.Attributes], fmt.Sprintf("%s %s (%s): %s", cluster.String(), v.Set, v.Name, why))
			}
		}
	}
	slices.Sort(classes)
	for _, class := range classes {
		switch {
		case !known.AttributesKnown:
			c.unknown(check, class, "ask somebody who may list volumeattributesclasses", "VolumeAttributesClasses may not be read, or this Kubernetes has none (before 1.34)")
		case len(problems[class]) > 0:
			c.problem(check, class, "create the class, or name another one: spec.nodes.*.resources.disk.volumeAttributesClass", "%s", strings.Join(problems[class], "; "))
		default:
			c.ok(check, class, "it is there, and of the driver of its volumes")
		}
	}
}
