package render

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
)

// attribution finds out which cluster each object and each problem belongs to,
// so that what is wrong with one cluster stops that one alone.
type attribution struct {
	cfg      Config
	tree     fs.FS
	clusters []*found
	problems []definition.Problem // of no single cluster
	builds   []guard.Build
	// read counts the definitions of one file that have one name, in their order.
	read map[string]int
}

// found is a cluster and where it comes from.
type found struct {
	Cluster
	build  guard.Build
	file   string
	line   int                // of its base document, 0 when not known
	named  definition.Problem // where its name stands
	own    []string           // keys of its own objects
	others map[string]string  // key of each travelling object, and its file
}

func (f *found) refuse(p definition.Problem) { f.Problems = append(f.Problems, p) }

func (f *found) String() string { return f.Namespace + "/" + f.Name }

// place is where its definition stands, for a person.
func (f *found) place() string {
	if f.line > 0 {
		return fmt.Sprintf("%s:%d", f.file, f.line)
	}
	return f.file
}

// add takes one build's objects.
func (a *attribution) add(build guard.Build, items []item) {
	var here []*found
	entries := patchEntries(build)
	for _, i := range items {
		if i.isDefinition() {
			if f := a.define(build, i, entries); f != nil {
				here = append(here, f)
			}
		}
	}
	a.clusters = append(a.clusters, here...)
	for _, i := range items {
		if !i.isDefinition() {
			a.travel(here, i)
		}
	}
}

// define makes a cluster of a definition. A definition without a name can only
// be a problem of the build.
func (a *attribution) define(build guard.Build, i item, entries []patchEntry) *found {
	if i.made != nil {
		f := i.made.again()
		f.build = build
		return f
	}
	object := i.object.Object
	same := i.file + "\x00" + i.object.GetNamespace() + "\x00" + i.object.GetName()
	src := findSource(a.tree, i.file, i.object.GetNamespace(), i.object.GetName(), a.read[same])
	a.read[same]++
	src.restoreOrder(object)
	locate := src.locator(object)
	f := &found{build: build, file: i.file, others: map[string]string{}}
	if _, line, _, ok := locate(nil); ok {
		f.line = line
	}
	f.named = definition.Problem{File: f.file, Line: f.line, Path: "metadata.name"}
	if file, line, column, ok := locate([]any{"metadata", "name"}); ok && line > 0 {
		f.named.Line, f.named.Column = line, column
		if file != "" {
			f.named.File = file
		}
	}
	f.Name, f.Namespace = i.object.GetName(), i.object.GetNamespace()
	if f.Namespace == "" {
		f.Namespace = a.cfg.DefaultNamespace
	}
	db, problems := definition.Decode(object, locate)
	for n := range problems {
		if problems[n].File == "" {
			problems[n].File = i.file
		}
	}
	problems = newEntries(entries, src, object, problems)
	if f.Namespace == "" {
		problems = append(problems, definition.Problem{File: f.named.File, Line: f.named.Line, Column: f.named.Column, Path: "metadata.namespace",
			Message: "is missing: write the namespace of the cluster, or give stevedore one for all by --default-namespace"})
	}
	if f.Name == "" {
		a.problems = append(a.problems, problems...)
		return nil
	}
	f.Problems = problems
	if db != nil {
		db.Namespace = f.Namespace
		placePatches(build, src, db)
		f.Definition = db
		f.own = ownKeys(db)
		for _, p := range readPatchFiles(a.tree, db) {
			f.refuse(p)
		}
		f.rememberIn(i.remember)
	}
	return f
}

// raw attributes the problems that the checks of raw texts found: to the
// cluster whose base document has the line, else to each cluster whose build
// read the file.
func (a *attribution) raw(problems []definition.Problem) {
	for _, p := range problems {
		stopped := a.stoppedBy(p)
		for _, f := range stopped {
			// What the built definition said of the same mistake lacks the place
			// in a patch, or has the value's column for the key's.
			f.Problems = slices.DeleteFunc(f.Problems, func(q definition.Problem) bool {
				same := q.Message == p.Message && (q.File != p.File || q.Line == p.Line || q.Path == p.Path) ||
					q.File != p.File && strings.Contains(p.Path, "$")
				return same && q.Path != "" && withoutIndexes(q.Path) == withoutIndexes(p.Path) && !slices.Contains(problems, withoutCluster(q))
			})
		}
		for _, f := range stopped {
			f.refuse(p)
		}
		if len(stopped) == 0 {
			a.problems = append(a.problems, p)
		}
	}
}

var indexes = regexp.MustCompile(`\[[0-9]+\]`)

func withoutIndexes(path string) string { return indexes.ReplaceAllString(path, "[]") }

func withoutCluster(p definition.Problem) definition.Problem {
	p.Cluster = ""
	return p
}

// consequences takes away what was said of a file or build without a place, where what is
// wrong with it is among what the texts show by themselves.
func (a *attribution) consequences(raw []definition.Problem) {
	stops := func(file string) bool {
		return slices.ContainsFunc(raw, func(p definition.Problem) bool { return p.File == file && p.Line > 0 && !p.Warning })
	}
	a.problems = slices.DeleteFunc(a.problems, func(p definition.Problem) bool {
		if p.Line > 0 {
			return false
		}
		if strings.HasPrefix(p.Message, unexplained) {
			return slices.ContainsFunc(a.builds, func(b guard.Build) bool {
				return slices.Contains(b.Files, p.File) && slices.ContainsFunc(b.Files, stops)
			})
		}
		return strings.HasPrefix(p.Message, unreadable) && stops(p.File)
	})
}

func (a *attribution) stoppedBy(p definition.Problem) []*found {
	var reading []*found
	owners := map[string]*found{} // a build's cluster whose document has the line
	for _, f := range a.clusters {
		if !slices.Contains(f.build.Files, p.File) {
			continue
		}
		reading = append(reading, f)
		if f.file == p.File && f.line <= p.Line {
			if best := owners[f.build.Dir]; best == nil || best.line < f.line {
				owners[f.build.Dir] = f
			}
		}
	}
	var stopped []*found
	for _, f := range reading {
		owner := owners[f.build.Dir]
		switch {
		case owner != nil:
			if f == owner {
				stopped = append(stopped, f)
			}
		case f.build.Kustomization:
			stopped = append(stopped, f)
		}
	}
	return stopped
}

// duplicates refuses a cluster that two definitions claim, both named, and
// keeps one entry for it.
func (a *attribution) duplicates() {
	byName := map[string][]*found{}
	var order []string
	for _, f := range a.clusters {
		if byName[f.String()] == nil {
			order = append(order, f.String())
		}
		byName[f.String()] = append(byName[f.String()], f)
	}
	a.clusters = a.clusters[:0]
	for _, name := range order {
		same := byName[name]
		first := same[0]
		if len(same) > 1 {
			var places []string
			for _, f := range same {
				place := f.place()
				if f.build.Kustomization {
					place += " (built by " + kustomizationFile(f.build) + ")"
				}
				places = append(places, place)
			}
			for n, f := range same {
				twice := f.named
				twice.Message = fmt.Sprintf("cluster %s is defined more than once: %s; keep one", name, strings.Join(places, " and "))
				first.refuse(twice)
				if n > 0 {
					for _, p := range f.Problems {
						first.refuse(p)
					}
				}
			}
		}
		a.clusters = append(a.clusters, first)
	}
}

// ownKeys are the objects that a cluster makes for itself.
func ownKeys(db *definition.CrateDB) []string {
	ns, c := db.Namespace, db.Name
	keys := []string{
		key("Secret", ns, names.SystemSecret(c)),
		key("Service", ns, names.Service(c)),
		key("Service", ns, names.DiscoveryService(c)),
		key("policy/PodDisruptionBudget", ns, names.DataBudget(c)),
		key("ConfigMap", ns, names.SQLExporterConfigMap(c)),
		key("ConfigMap", ns, names.OperationConfigMap(c)),
		key("ConfigMap", ns, names.InventoryConfigMap(c)),
		key("ConfigMap", ns, names.ReportsConfigMap(c)),
		key("ConfigMap", ns, names.ObservationConfigMap(c)),
	}
	if db.Spec.Nodes.Master != nil {
		keys = append(keys,
			key("policy/PodDisruptionBudget", ns, names.MasterBudget(c)),
			key("apps/StatefulSet", ns, names.StatefulSet(c, names.MasterGroup, true)))
	}
	for _, g := range db.Spec.Nodes.Data {
		keys = append(keys, key("apps/StatefulSet", ns, db.StatefulSet(g.Name, false)))
	}
	return keys
}

// key is an object's identity; a version of its group does not matter.
func key(groupKind, namespace, name string) string {
	return groupKind + " " + namespace + "/" + name
}

func keyOf(o *unstructured.Unstructured) string {
	return key(kindName(o.GroupVersionKind().GroupKind()), o.GetNamespace(), o.GetName())
}

// own refuses an object that two clusters would fight over: both have one of
// their own by that name (cluster discovery-x has the service crate-discovery-x,
// and so has cluster x), or one brings along what is the other's.
func (a *attribution) own() {
	owners := map[string]*found{}
	for _, f := range a.clusters {
		for _, k := range f.own {
			other, taken := owners[k]
			if !taken {
				owners[k] = f
				continue
			}
			if other.String() == f.String() {
				continue // two definitions of one cluster: said by name elsewhere
			}
			for _, x := range []*found{other, f} {
				x.refuse(definition.Problem{File: x.file, Line: x.line, Path: "metadata.name",
					Message: fmt.Sprintf("clusters %s (%s) and %s (%s) would both have %s: rename one of them or its group", other, other.place(), f, f.place(), k)})
			}
		}
	}
	brought := map[string]*found{}
	for _, f := range a.clusters {
		for _, o := range f.Others {
			k := keyOf(o)
			file := f.others[k]
			if owner, taken := owners[k]; taken {
				f.refuse(definition.Problem{File: file,
					Message: fmt.Sprintf("%s is an object that stevedore makes for cluster %s: rename it, or change the cluster's own by spec.patches", k, owner)})
			}
			if other, taken := brought[k]; taken && other != f {
				for _, x := range []*found{other, f} {
					x.refuse(definition.Problem{File: x.others[k],
						Message: fmt.Sprintf("%s stands in %s for cluster %s and in %s for cluster %s: keep one", k, other.others[k], other, file, f)})
				}
			}
			brought[k] = f
		}
	}
}
