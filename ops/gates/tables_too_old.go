package gates

import "fmt"

// TablesTooOldRule is the rule tables-too-old.
var TablesTooOldRule = Rule{
	Name:    "tables-too-old",
	Kind:    Refuses,
	Webhook: "upgrade",
	Says:    "A major version refuses tables that were created before the major version before it: 5.x those from before 4.0, 6.x those from before 5.0. A node that finds one does not start.",
	Do:      "Recreate each table that the message names with the version that runs: CREATE TABLE a new one of the same columns, INSERT INTO it the rows of the old one, then ALTER CLUSTER SWAP TABLE and DROP TABLE; or drop it.",
	Source:  "CrateDB manual, sys.checks: tables need to be recreated; release notes of 5.0.0 and 6.0.0",
}

// TableAge is a table, or a partition of one, and the version of CrateDB that it
// was created with; "" when it is not known.
type TableAge struct{ Name, Created string }

// TablesTooOld names the tables that the desired major refuses, coming from
// another major. Unknown ages are the affair of TableAgesKnown.
func TablesTooOld(from, to string, tables []TableAge) (Reason, bool) {
	if !crossesMajor(from, to) {
		return Reason{}, false
	}
	at, _ := parts(to)
	oldest := fmt.Sprintf("%d.0", at.major-1)
	old, _ := olderThan(tables, oldest)
	if len(old) == 0 {
		return Reason{}, false
	}
	return TablesTooOldRule.because("CrateDB %s does not start with tables that were created before %s, and %d table(s) were (%s): recreate them with CrateDB %s (CREATE TABLE, INSERT INTO … SELECT, ALTER CLUSTER SWAP TABLE), or drop them", to, oldest, len(old), some(old), from), true
}

func crossesMajor(from, to string) bool {
	a, _ := parts(from)
	b, _ := parts(to)
	return a.major != b.major
}

// olderThan names the tables that were created before a version, with theirs;
// unknown is true when that cannot be said of one.
func olderThan(tables []TableAge, version string) (old []string, unknown bool) {
	for i := range tables {
		switch t := &tables[i]; {
		case t.Created == "":
			unknown = true
		case CompareMinor(t.Created, version) < 0:
			old = append(old, t.Name+" of "+t.Created)
		}
	}
	return old, unknown
}
