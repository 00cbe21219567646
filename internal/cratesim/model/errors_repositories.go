package model

import (
	"strconv"
	"strings"
	"time"
)

// The errors of repositories, snapshots and restores.

func errRepository(name, words string) *Error {
	return errorOf("RepositoryException", "XX000", 500, 5000, "[%s] %s", name, words)
}

func errVerification(name, words string) *Error {
	return errorOf("RepositoryVerificationException", "XX000", 500, 5006, "[%s] %s", name, words)
}

func errUsed() *Error {
	return errorOf("IllegalStateException", "XX000", 500, 5000, "trying to modify or unregister repository that is currently used")
}

func errCorrupted(name string) *Error {
	return errRepository(name, "Could not read repository data because the contents of the repository do not match its expected state. This is likely the result of either concurrently modifying the contents of the repository by a process other than this cluster or an issue with the repository's underlying storage. The repository has been disabled to prevent corrupting its contents. To re-enable it and continue using it please remove the repository from the cluster and add it again to make the cluster recover the known state of the repository from its physical contents.")
}

// errHangs holds a statement as long as its repository does not answer: CrateDB has no
// limit.
func errHangs() *Error {
	err := errorOf("RepositoryException", "XX000", 500, 5000, "the repository does not answer")
	err.Wait = 24 * time.Hour
	return err
}

func errSnapshotMissing(repository, name string) *Error {
	return errorOf("SnapshotMissingException", "XX000", 404, 4048, "[%s:%s] is missing", repository, name).of("CLUSTER", "")
}

// errRestore is a restore that is refused or has failed; id is "" where CrateDB does not
// name it.
func errRestore(repository, name, id, words string) *Error {
	if id != "" {
		name += "/" + id
	}
	return errorOf("SnapshotRestoreException", "XX000", 500, 5000, "[%s:%s] %s", repository, name, words)
}

// errUnreadable is a snapshot of which an object is missing or cannot be read.
func errUnreadable(r *Repository, name, id string, failed *failure, words string) *Error {
	if err := errAsked(failed); err != nil {
		return err
	}
	if failed.missing() {
		return errorOf("SnapshotMissingException", "XX000", 404, 4048, "[%s:%s/%s] is missing", r.Name, name, id).of("CLUSTER", "")
	}
	return errorOf("SnapshotException", "XX000", 500, 5000, "[%s:%s/%s] %s", r.Name, name, id, words)
}

// errConflict is a restore of what a view is in the place of.
func errConflict(name Relation, v *View) *Error {
	target := v.Schema + "." + v.Name
	return ErrIllegalArgument("Cannot restore relation `%s.%s` as `%s`, it conflicts with: View[name=%s, stmt=%s, owner=%s, searchPath=io.crate.metadata.SearchPath@75ceaed4, errorOnUnknownObjectKey=true]",
		name.Schema, name.Name, target, target, v.Definition, v.Owner)
}

// checkRelationName is what a restored relation may not be called (IndexName.validate).
func checkRelationName(v Version, r Relation) *Error {
	switch {
	case strings.Contains(r.Schema, "."):
		return errorOf("InvalidSchemaNameException", "3F000", 400, 4002, "schema name \"%s\" is invalid.", r.Schema)
	case strings.ContainsAny(r.Name, "#\\/*?\"<>| ,") && !v.AtLeast(6, 4):
		return errorOf("InvalidRelationName", "42602", 400, 4002, "Relation name \"%s\" is invalid.", r.Name)
	case strings.ContainsAny(r.Name, "\\/*?\"<>| ,"):
		return errorOf("InvalidRelationName", "42602", 400, 4002, "Relation name '%s' is invalid. Must not contain the following characters %s", r.Name, invalidCharacters)
	case strings.Contains(r.Name, "#"):
		return errorOf("InvalidRelationName", "42602", 400, 4002, "Relation name '%s' is invalid. Must not contain '#'", r.Name)
	}
	return nil
}

// invalidCharacters are those that no name may have, as CrateDB prints the set.
const invalidCharacters = `[/, ,, |, >, ?, *, <, ",  , \]`

func itoa(n int) string { return strconv.Itoa(n) }
