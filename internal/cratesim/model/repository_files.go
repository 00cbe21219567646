package model

import (
	"bytes"
	"encoding/gob"
	"strconv"
	"strings"
	"time"
)

// Generations of a repository's list of snapshots, as CrateDB counts them.
const (
	emptyGeneration     int64 = -1
	unknownGeneration   int64 = -2
	corruptedGeneration int64 = -3
)

// listing is index-N: the snapshots of a repository.
type listing struct {
	Snapshots []listed
}

// listed is a snapshot in the list.
type listed struct{ Name, UUID string }

// information is snap-ID.dat.
type information struct {
	Indices           []string
	Started, Finished time.Time
	Version           Version
	Failures          []string
	// Broken are the indices that have a failure.
	Broken      []string
	Reason      string
	TotalShards int
	Global      bool
}

// state is the snapshot's (SnapshotInfo.snapshotState).
func (i *information) state() string {
	switch {
	case i.Reason != "":
		return "FAILED"
	case len(i.Failures) > 0:
		return "PARTIAL"
	}
	return "SUCCESS"
}

// definitions is meta-ID.dat: what the cluster had when the snapshot ended.
type definitions struct {
	Tables     []tableDefinition
	Views      []View
	Users      []userDefinition
	Persistent map[string]string
	// Global: users are in it. A snapshot of named tables has none, and replaces none.
	Global bool
}

// shardContent is indices/INDEX/SHARD/snap-ID.dat.
type shardContent struct {
	Rows [][]any
	// Operations are those that the shard had done: its sequence numbers go on after them.
	Operations int64
}

type tableDefinition struct {
	Spec    TableSpec
	Version Version
	Indices []indexDefinition
}

type indexDefinition struct {
	Name, Ident string
	Values      []any
	Replicas    string
	Settings    map[string]string
	Shards      int
	Bytes       int64
	Created     Version
}

type userDefinition struct {
	Name, Password  string
	HasSecret, Role bool
	Grants          []Grant
	Roles, Grantors []string // the names of the roles, and who has granted each
}

func init() {
	for _, v := range []any{[]any{}, map[string]any{}, int64(0), float64(0), "", false, null(true)} {
		gob.Register(v)
	}
}

// encode is of values of this package, so that it cannot fail.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic("encode an object of a repository: " + err.Error())
	}
	return b.Bytes()
}

// decode fails for what another program has written.
func decode(content []byte, to any) error {
	return gob.NewDecoder(bytes.NewReader(content)).Decode(to)
}

func indexName(generation int64) string { return "index-" + strconv.FormatInt(generation, 10) }
func infoName(id string) string         { return "snap-" + id + ".dat" }
func metaName(id string) string         { return "meta-" + id + ".dat" }

func shardName(index string, shard int, id string) string {
	return "indices/" + index + "/" + strconv.Itoa(shard) + "/snap-" + id + ".dat"
}

// follows reports whether the repository takes the newest list that it finds, and not the
// one that this cluster has written last.
func (r *Repository) follows() bool { return r.ReadOnly() || r.generation == unknownGeneration }

// newest is the generation of the newest list at the place.
func (m *Model) newest(r *Repository) (int64, *failure) {
	names, failed := m.listed(r, "index-")
	if m.fault(r.at).Truncated && len(names) > 0 {
		names = names[:len(names)-1]
	}
	newest := emptyGeneration
	for _, name := range names {
		if g, err := strconv.ParseInt(strings.TrimPrefix(name, "index-"), 10, 64); err == nil {
			newest = max(newest, g)
		}
	}
	return newest, failed
}

// list reads the list of the repository's snapshots and its generation
// (BlobStoreRepository.doGetRepositoryData).
func (m *Model) list(r *Repository) (l listing, generation int64, err *Error) {
	if r.generation == corruptedGeneration {
		return l, 0, errCorrupted(r.Name)
	}
	generation = r.generation
	if r.follows() {
		newest, failed := m.newest(r)
		if err := errAsked(failed); err != nil {
			return l, 0, err
		}
		if failed != nil {
			return l, 0, errRepository(r.Name, "Could not determine repository generation from root blobs")
		}
		generation = max(r.seen, newest)
		r.seen = generation
	}
	if generation == emptyGeneration {
		return l, generation, nil
	}
	content, failed := m.read(r, indexName(generation))
	if failed == nil && decode(content, &l) == nil {
		return l, generation, nil
	}
	if errAsked(failed) != nil {
		return listing{}, generation, errRepository(r.Name, "Unexpected exception when loading repository data")
	}
	if !r.follows() && failed != nil && failed.missing() {
		r.generation = corruptedGeneration
		return listing{}, generation, errCorrupted(r.Name)
	}
	if r.follows() {
		r.seen = emptyGeneration
	}
	return listing{}, generation, errRepository(r.Name, "could not read repository data from index blob")
}

// writeList writes the next list, if the one that it follows is still there
// (BlobStoreRepository.writeIndexGen).
func (m *Model) writeList(r *Repository, before int64, l listing) *failure {
	if before != emptyGeneration {
		switch there, failed := m.exists(r, indexName(before)); {
		case failed != nil:
			return failed
		case !there:
			r.generation = corruptedGeneration
			return &failure{class: "RepositoryException", words: "[" + r.Name + "] concurrent modification of the index-N file, expected current generation [" + strconv.FormatInt(before, 10) + "] but it was not found in the repository"}
		}
	}
	next := r.pending + 1
	if r.follows() {
		next = max(before, r.pending) + 1
	}
	r.pending = next
	if m.objects(r) == nil { // a server is asked by the write itself
		if there, _ := m.exists(r, indexName(next)); there {
			path, _ := folder(r.at)
			return &failure{class: "FileAlreadyExistsException", words: path + "/" + indexName(next)}
		}
	}
	if failed := m.write(r, indexName(next), encode(l)); failed != nil {
		return failed
	}
	for g := max(before-1, 0); g < next; g++ {
		m.remove(r, indexName(g))
	}
	r.generation, r.seen = next, next
	return nil
}

// information and definitions read what the list names.
func (m *Model) information(r *Repository, id string) (i information, failed *failure) {
	failed = m.readObject(r, infoName(id), &i)
	return i, failed
}

func (m *Model) definitions(r *Repository, id string) (d definitions, failed *failure) {
	failed = m.readObject(r, metaName(id), &d)
	return d, failed
}

func (m *Model) readObject(r *Repository, name string, to any) *failure {
	content, failed := m.read(r, name)
	if failed == nil && decode(content, to) != nil {
		failed = &failure{class: "CorruptIndexException", words: "codec header mismatch"}
	}
	return failed
}
