package main

import (
	"path"
	"path/filepath"
	"slices"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render/definition"
)

// sayMoves adds to a plan what stands in another file than on the older side:
// the definition, and what travels with it. What only moved is an object of its
// own; of what is changed or added besides, the files are said.
func (o *offlinePlans) sayMoves(to *plan.Plan, cluster renderedCluster) {
	now := cluster.cluster
	if now.Definition == nil {
		return
	}
	old, existed := o.before[record.Cluster{Namespace: now.Namespace, Name: now.Name}]
	was := map[compare.Key]string{}
	if existed && old.Definition != nil {
		from, file := o.moved(old.Definition.File, now.Definition.File, cluster.dir)
		if from == file && old.BuiltBy != "" && now.BuiltBy != "" {
			// An overlay may move, and the base that it stands on stay.
			if was, is := o.moved(old.BuiltBy, now.BuiltBy, cluster.dir); path.Dir(was) != path.Dir(is) {
				from, file = was, is
			}
		}
		if from != "" && file != "" && from != file {
			to.Objects = append(to.Objects, plan.Object{Key: definitionKey(now.Namespace, now.Name), Change: plan.Moved, Class: plan.InPlace, From: from, To: file})
		}
		for i, object := range old.Others {
			was[compare.KeyOf(object)] = old.OtherFiles[i]
		}
	}
	for i, object := range now.Others {
		key := compare.KeyOf(object)
		from, file := o.moved(was[key], now.OtherFiles[i], cluster.dir)
		at := slices.IndexFunc(to.Objects, func(one plan.Object) bool { return one.Key == key })
		switch {
		case at >= 0 && to.Objects[at].Change == plan.Added:
			to.Objects[at].To = file
		case from == "" || file == "" || from == file:
		case at >= 0:
			to.Objects[at].From, to.Objects[at].To = from, file
		default:
			to.Objects = append(to.Objects, plan.Object{Key: key, Change: plan.Moved, Class: plan.InPlace, From: from, To: file})
		}
	}
}

func definitionKey(namespace, name string) compare.Key {
	return compare.Key{Group: definition.Group, Kind: definition.Kind, Namespace: namespace, Name: name}
}

// moved is where a file stood and stands, as both sides can say it: from the
// folder on, for the trees that they were read from may begin elsewhere; of a
// revision from the repository's root on.
func (o *offlinePlans) moved(was, is, dir string) (from, to string) {
	said := func(dir, file string) string {
		if file == "" {
			return ""
		}
		inside, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(file))
		if err != nil {
			return file
		}
		return path.Join(o.within, filepath.ToSlash(inside))
	}
	return said(o.dir, was), said(dir, is)
}
