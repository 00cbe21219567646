package model

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Repository is where snapshots go, as a cluster has it registered.
type Repository struct {
	Name, Type string
	Settings   map[string]string
	// Hangs: it does not answer, and neither does a listing of any snapshots.
	Hangs bool

	at string // its place in the Store
	// server has its objects, where one has; nil as long as nobody has asked.
	server Objects
	// generation is that of the list which this cluster has written last; seen is the newest
	// that it has read while it follows others.
	generation, seen int64
	// pending is the newest that it has begun to write.
	pending int64
}

// ReadOnly reports whether it takes no snapshots.
func (r *Repository) ReadOnly() bool {
	return r.Type == "url" || strings.EqualFold(r.Settings["readonly"], "true")
}

// hangs reports whether it answers nothing now.
func (r *Repository) hangs(m *Model) bool { return r.Hangs || m.fault(r.at).Hangs }

// repositoryPath is the folder of an fs repository on this machine, if the node's path.repo
// has it.
func (n *Node) repositoryPath(location string) (path string, ok bool) {
	for _, root := range splitList(n.setting("path.repo", "")) {
		path = filepath.Clean(location)
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, location)
		}
		rest, below := strings.CutPrefix(path, filepath.Clean(root))
		if below && (rest == "" || rest[0] == '/') {
			return filepath.Join(cmp.Or(n.RepositoryFolders[root], root), rest), true
		}
	}
	return location, false
}

// RepositoryKnown is an error for the name of no repository, RepositoryUnused for that of one.
func (n *Node) RepositoryKnown(name string) *Error {
	if n.repository(name) >= 0 {
		return nil
	}
	return errorOf("RepositoryMissingException", "XX000", 404, 4047, "[%s] missing", name).of("CLUSTER", "")
}

func (n *Node) RepositoryUnused(name string) *Error {
	if n.repository(name) < 0 {
		return nil
	}
	return errorOf("RepositoryAlreadyExistsException", "XX000", 409, 4095, "Repository '%s' already exists", name).of("CLUSTER", "")
}

// repository is its place among those of the cluster, -1 for none.
func (n *Node) repository(name string) int {
	return slices.IndexFunc(n.Repositories(), func(r *Repository) bool { return r.Name == name })
}

// Repositories are the registered repositories, oldest first.
func (n *Node) Repositories() []*Repository {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	return n.cluster.repos
}

// CreateRepository registers a repository, whose parameters CheckRepository has passed,
// verifies it, and takes it away again where that fails.
func (n *Node) CreateRepository(r Repository) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	if err := n.RepositoryUnused(r.Name); err != nil {
		return err
	}
	c := n.cluster
	if err := c.tryRepository(&r); err != nil {
		return err
	}
	if err := c.verify(&r); err != nil {
		// What has a cause is wrapped (RepositoryService.convertRepositoryException).
		if strings.Contains(err.Message, "Unable to verify") {
			err = errRepository("", err.Message)
		}
		return err
	}
	c.repos = append(c.repos, &r)
	n.m.changes++
	return nil
}

// tryRepository is what the master tries before it registers a repository.
func (c *Cluster) tryRepository(r *Repository) *Error {
	if err := c.master.tryRepository(r); err != nil {
		return err
	}
	r.at, r.generation, r.pending, r.seen = r.place(c.master), unknownGeneration, emptyGeneration, unknownGeneration
	return nil
}

// tryRepository is a repository's constructor on a node.
func (n *Node) tryRepository(r *Repository) *Error {
	if err := r.checkValues(n.Version); err != nil {
		return err
	}
	location := r.Settings["location"]
	switch {
	case r.Type == "s3" && strings.TrimSpace(r.Settings["bucket"]) == "":
		return errRepository(r.Name, "No bucket defined for s3 repository")
	case r.Type != "fs":
		return nil
	case location == "":
		return errRepository(r.Name, "missing location")
	}
	if _, ok := n.repositoryPath(location); ok {
		return nil
	}
	words := "location [" + location + "] doesn't match any of the locations specified by path.repo"
	if n.setting("path.repo", "") == "" {
		words += " because this setting is empty"
	}
	return errRepository(r.Name, words)
}

// verify lets the master and then each node that may be master or has data write to it.
func (c *Cluster) verify(r *Repository) *Error {
	if r.hangs(c.m) {
		return errHangs()
	}
	folder := "tests-" + c.m.newID()
	failure := r.unusable(c.master)
	switch {
	case failure != nil:
	case r.ReadOnly() && c.m.objects(r) == nil:
		_, failure = c.m.listed(r, "")
	case r.ReadOnly():
		_, failure = c.m.listed(r, "index-")
	default:
		failure = c.m.write(r, folder+"/master.dat", []byte(folder))
	}
	if failure != nil {
		words := strings.TrimSuffix(strings.TrimSuffix(failure.words, "/master.dat"), "/")
		return errVerification(r.Name, "Unable to verify the repository, ["+r.Name+"] is not accessible on master node: "+failure.class+" '"+words+"'")
	}
	var failed []string
	for _, n := range c.members {
		if !n.alive || !n.Master && !n.Data {
			continue
		}
		if words := n.verifies(r, folder); words != "" {
			failed = append(failed, "["+n.ID+", '"+words+"']")
		}
	}
	if err := c.endVerification(r, folder); err != nil {
		return err
	}
	if len(failed) > 0 {
		return errVerification(r.Name, "["+strings.Join(failed, ", ")+"]")
	}
	return nil
}

// endVerification takes away what nodes have written.
func (c *Cluster) endVerification(r *Repository, folder string) *Error {
	if o := c.m.objects(r); o != nil {
		if r.ReadOnly() {
			return nil
		}
		return errAsked(failureOfAnswer(o.RemoveAll(folder + "/")))
	}
	for _, n := range c.members {
		_ = c.m.store.Remove(r.place(n), folder+"/data-"+n.ID+".dat")
	}
	_ = c.m.store.Remove(r.at, folder+"/master.dat")
	_ = c.m.store.Remove(r.at, folder)
	return nil
}

// verifies is why the node cannot use the repository, "" where it can: it writes to it, and
// reads what the master has written (BlobStoreRepository.verify).
func (n *Node) verifies(r *Repository, test string) string {
	c := n.cluster
	if n.tryRepository(r) != nil {
		words := "RepositoryMissingException[[" + r.Name + "] missing]"
		if n == c.master {
			return words
		}
		return n.remote(words)
	}
	at := *r
	at.at = r.place(n)
	store, isFolder := folder(at.at)
	if !isFolder {
		store = r.Type
	}
	if r.ReadOnly() {
		if _, failed := c.m.newest(&at); failed != nil {
			return n.remote("RepositoryVerificationException[[" + r.Name + "] path  is not accessible on node " + n.words() + "]; nested: " + failed.String())
		}
		return ""
	}
	if failed := c.m.write(&at, test+"/data-"+n.ID+".dat", []byte(test)); failed != nil {
		return n.remote("RepositoryVerificationException[[" + r.Name + "] store location [" + store + "] is not accessible on the node [" + n.words() + "]]; nested: " + failed.String())
	}
	_, failed := c.m.read(&at, test+"/master.dat")
	if n != c.master && c.m.fault(at.at).Unshared || failed != nil && failed.missing() {
		return n.remote("RepositoryVerificationException[[" + r.Name + "] a file written by master to the store [" + store + "] cannot be accessed on the node [" + n.words() +
			"]. This might indicate that the store [" + store + "] is not shared between this node and the master node or that permissions on the store don't allow reading files written by the master node]")
	}
	if failed != nil {
		return n.remote("RepositoryVerificationException[[" + r.Name + "] Failed to verify repository]; nested: " + failed.String())
	}
	return ""
}

// remote is what another node's failure reads like.
func (n *Node) remote(words string) string {
	return "RemoteTransportException[[" + n.Name + "][" + n.Address + ":" + itoa(n.TransportPort) + "][internal:admin/repository/verify]]; nested: " + words + ";"
}

// AlterRepository sets and resets (a nil value) parameters of a repository: from 6.4 on,
// and not while any node is older. Unlike a new one, a repository that fails its
// verification stays as it is then.
func (n *Node) AlterRepository(name string, changes []Assignment) *Error {
	if c := n.cluster; c != nil && c.master != nil && !c.lowestVersion().AtLeast(6, 4) {
		return errorOf("IllegalStateException", "XX000", 500, 5000, "Cannot execute ALTER REPOSITORY while there are <6.4.0 nodes in the cluster")
	}
	if err := n.RepositoryKnown(name); err != nil {
		return err
	}
	r := n.Repositories()[n.repository(name)]
	if err := checkChange(n.Version, r.Type, changes); err != nil {
		return err
	}
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	if c.repositoryUsed(name) {
		return errUsed()
	}
	next := Repository{Name: r.Name, Type: r.Type, Settings: maps.Clone(r.Settings), Hangs: r.Hangs}
	for _, ch := range changes {
		if delete(next.Settings, ch.Name); ch.Value != nil {
			next.Settings[ch.Name] = *ch.Value
		}
	}
	if !maps.Equal(next.Settings, r.Settings) {
		if err := c.tryRepository(&next); err != nil {
			err.Message = strings.TrimPrefix(err.Message, "[] ")
			return err
		}
		*r = next
		n.m.changes++
	}
	return c.verify(r)
}

// DropRepository unregisters it. Its objects stay.
func (n *Node) DropRepository(name string) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	if c.repositoryUsed(name) {
		return errUsed()
	}
	if err := n.RepositoryKnown(name); err != nil {
		return err
	}
	at := n.repository(name)
	c.repos = slices.Delete(c.repos, at, at+1)
	n.m.changes++
	return nil
}

// repositoryUsed reports whether a snapshot or a restore runs there.
func (c *Cluster) repositoryUsed(name string) bool {
	return slices.ContainsFunc(c.running, func(s *Snapshot) bool { return s.Repository == name }) ||
		slices.ContainsFunc(c.drops, func(d *Drop) bool { return d.repository == name }) ||
		slices.ContainsFunc(c.restores, func(r *Restore) bool { return r.Repository == name })
}

// RepositoryHangs makes the repositories of that name answer no more, or again.
func (m *Model) RepositoryHangs(name string, hangs bool) {
	for _, c := range m.clusters {
		for _, r := range c.repos {
			if r.Name == name {
				r.Hangs = hangs
			}
		}
	}
	m.touch()
	m.settle()
}
