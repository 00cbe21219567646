package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fetch is what is being restored into a cluster that runs: the tables of a drill, or those that a person
// asked for. Its tables count for no gate while they come: that they are not there yet is no loss.
type Fetch struct {
	// Drill: each table comes under a schema of its own, is compared and dropped again.
	Drill bool `json:"drill,omitempty"`
	// Verb says what is done with a table that is there; "" where none is touched. Index is the UUID of an index of the table
	// that is to have the other's name: it stays the same whatever the table is called. "" before it is known. Dry: only what
	// would be done is said.
	Verb  FetchVerb `json:"verb,omitempty"`
	Index string    `json:"index,omitempty"`
	Dry   bool      `json:"dry,omitempty"`
	// Said is what it has found out, in words, and Held why the names are not exchanged yet.
	Said string `json:"said,omitempty"`
	Held string `json:"held,omitempty"`
	// Command is what a person asked for; "" for a drill by schedule.
	Command string `json:"command,omitempty"`
	// Snapshot is where they come from, in Repository; Taken is when it was finished.
	Repository string    `json:"repository"`
	Snapshot   string    `json:"snapshot"`
	Taken      time.Time `json:"taken,omitzero"`
	// Schema is what each table's schema becomes, with $1 for its own; "" where it keeps it.
	Schema string    `json:"schema,omitempty"`
	Step   FetchStep `json:"step,omitempty"`
	// Rest are tables of the snapshot that are still to come, and Batch those that come now.
	Rest  []string `json:"rest,omitempty"`
	Batch []string `json:"batch,omitempty"`
	// Came are tables of Batch that were there, with all their primaries, while others still came.
	Came []string `json:"came,omitempty"`
	// Presumed: CrateDB had tables of the names of Batch when they were asked for again. So they may be somebody else's, and
	// none is dropped. Stays are those of all batches that did not come and are there, by the names that they have here.
	Presumed bool     `json:"presumed,omitempty"`
	Stays    []string `json:"stays,omitempty"`
	// Of counts all tables; Done those that came, and Compared those of them that have every operation that was
	// recorded when the snapshot began. Skipped says which did not come, and why, at most MaxSkipped of them.
	Of       int      `json:"of,omitempty"`
	Done     int      `json:"done,omitempty"`
	Compared int      `json:"compared,omitempty"`
	Skipped  []string `json:"skipped,omitempty"`
	// Bytes have come, in Took: the time in which CrateDB fetched.
	Bytes int64         `json:"bytes,omitempty"`
	Took  time.Duration `json:"took,omitempty"`
	// Began is when it began; Asked when CrateDB answered the last RESTORE SNAPSHOT, zero before that. Moved is when
	// it was last seen that something came, and Progress how far it was then. Suspect is since when tables seem to be
	// missing though nothing is fetched; zero for not.
	Began    time.Time `json:"began"`
	Asked    time.Time `json:"asked,omitzero"`
	Moved    time.Time `json:"moved,omitzero"`
	Progress int64     `json:"progress,omitempty"`
	Suspect  time.Time `json:"suspect,omitzero"`
	// Stalled is for how long nothing came before a drill gave way: these tables are asked for once more.
	Stalled time.Duration `json:"stalled,omitempty"`
	// Yields is why a drill gives way, "" for not, and Since since when something waits for it.
	Yields string    `json:"yields,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Failed is why it has failed, in words; "" for not.
	Failed string `json:"failed,omitempty"`
	// Singly: CrateDB has refused several tables of a drill at once, and each comes alone.
	Singly bool `json:"singly,omitempty"`
	// Sent: Batch was asked for, and the answer may be lost. What takes another table's place is asked for where two nodes
	// have shown that nothing has its name. Aborted: a person has ended it.
	Sent    bool `json:"sent,omitempty"`
	Aborted bool `json:"aborted,omitempty"`
	// Tried: the two tables may have exchanged their names since Index was known. It was asked for, whatever was found since.
	Tried bool `json:"tried,omitempty"`
}

// The actions of a Fetch; those on a table that is there stand beside FetchVerb.
const (
	// ActionFetchTables begins to fetch SnapshotTables of Snapshot under Schema; with New, for a drill, without
	// replicas. ResultRefused where CrateDB does not begin it, ResultMissing where the snapshot is not there, ResultPresumed
	// where its tables seem to be there. What is to take the place of Table is only looked for at first, without Tried:
	// ResultFree where nothing has its name.
	ActionFetchTables ActionKind = "fetch-tables"
	// ActionDropFetched drops what SnapshotTables of Snapshot have become under Schema; without New only those
	// that have not all primaries.
	ActionDropFetched ActionKind = "drop-fetched"
)

// FetchStep is how far a Fetch has come.
type FetchStep string

// The steps of a Fetch, in order.
const (
	// FetchList: the tables of the snapshot are not known yet.
	FetchList FetchStep = ""
	// FetchNext: the next tables are to be chosen.
	FetchNext FetchStep = "next"
	// FetchAsk: Batch is to be asked for.
	FetchAsk FetchStep = "ask"
	// FetchRunning: CrateDB fetches Batch.
	FetchRunning FetchStep = "running"
	// FetchDrop: Batch is to be dropped again.
	FetchDrop FetchStep = "drop"
	// FetchReady: what takes the place of another table is given what that has: its replicas and privileges.
	FetchReady FetchStep = "ready"
	// FetchSwap: the two exchange their names.
	FetchSwap FetchStep = "swap"
)

// MaxSkipped tables are named that did not come.
const MaxSkipped = 10

// Target is what a table of the snapshot is called here.
func (f *Fetch) Target(table string) string {
	schema, name, _ := strings.Cut(table, ".")
	if f.Schema != "" {
		schema = strings.ReplaceAll(f.Schema, "$1", schema)
	}
	return schema + "." + name
}

// Twice is a name that two of the tables that are to come would have; "" for none.
func (f *Fetch) Twice() string {
	seen := map[string]bool{}
	for _, table := range f.Rest {
		target := f.Target(table)
		if seen[target] {
			return target
		}
		seen[target] = true
	}
	return ""
}

// Targets are what the tables that come now are called.
func (f *Fetch) Targets() (all []string) {
	if f == nil {
		return nil
	}
	for _, table := range f.Batch {
		all = append(all, f.Target(table))
	}
	return all
}

// There reports whether tables of it may be there that have not all come. The answer to the statement that asks for
// them may be lost.
func (f *Fetch) There() bool {
	return f != nil && f.Step != FetchList && f.Step != FetchNext
}

// Leaves reports whether what did not come is not dropped: it may be somebody else's.
func (f *Fetch) Leaves() bool { return f.Step == FetchDrop && f.Presumed && !f.Drill && f.Verb == "" }

// scratchPrefix begins the schemas of drills.
const scratchPrefix = "stevedore_drill_"

// ScratchSchema is what the schemas of a drill are called, "$1" being their own name. Six digits follow from the cluster, and
// six from the snapshot in addition: so nobody's schema is taken for one of ours, and ours are known again if the record is
// lost, whatever the snapshot was.
func ScratchSchema(clusterID, snapshot string) string {
	return scratchPrefix + digits(clusterID) + digits(clusterID+"/"+snapshot) + "_$1"
}

// digits are six of a hash.
func digits(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])[:6]
}

// Scratch reports whether a table may be one of a drill.
func Scratch(table string) bool { return strings.HasPrefix(table, scratchPrefix) }

// ScratchOf is the table of a snapshot that a table of a drill of this cluster is, and what the schemas of that drill are
// called; ok is false for another.
func ScratchOf(clusterID, table string) (schema, of string, ok bool) {
	if !Scratch(table) {
		return "", "", false // as most
	}
	ours := scratchPrefix + digits(clusterID)
	rest, ok := strings.CutPrefix(table, ours)
	if !ok || len(rest) < 7 || rest[6] != '_' {
		return "", "", false
	}
	return ours + rest[:7] + "$1", rest[7:], true
}

func (f *Fetch) equal(o *Fetch) bool {
	if f == nil || o == nil {
		return f == o
	}
	switch {
	case f.Drill != o.Drill, f.Command != o.Command, f.Repository != o.Repository, f.Snapshot != o.Snapshot, f.Schema != o.Schema, f.Step != o.Step, f.Of != o.Of:
	case f.Done != o.Done, f.Compared != o.Compared, f.Bytes != o.Bytes, f.Took != o.Took, f.Stalled != o.Stalled, f.Progress != o.Progress, f.Failed != o.Failed, f.Yields != o.Yields, f.Presumed != o.Presumed:
	case f.Singly != o.Singly, f.Tried != o.Tried, f.Sent != o.Sent, f.Aborted != o.Aborted, f.Verb != o.Verb, f.Index != o.Index, f.Dry != o.Dry, f.Said != o.Said, f.Held != o.Held:
	case !f.Taken.Equal(o.Taken), !f.Began.Equal(o.Began), !f.Asked.Equal(o.Asked), !f.Moved.Equal(o.Moved), !f.Suspect.Equal(o.Suspect), !f.Since.Equal(o.Since):
	case !slices.Equal(f.Rest, o.Rest), !slices.Equal(f.Batch, o.Batch), !slices.Equal(f.Came, o.Came), !slices.Equal(f.Skipped, o.Skipped), !slices.Equal(f.Stays, o.Stays):
	default:
		return true
	}
	return false
}

// FetchOutcome is what became of the last command. The zero value: there was none.
type FetchOutcome struct {
	Command string    `json:"command,omitempty"`
	At      time.Time `json:"at,omitzero"`
	// Failed is why it has failed, in words; "" for not. Done of Of tables came, and in a drill Compared of them have all that
	// was recorded.
	Failed   string `json:"failed,omitempty"`
	Done     int    `json:"done,omitempty"`
	Compared int    `json:"compared,omitempty"`
	Of       int    `json:"of,omitempty"`
	// Stays are tables that did not come and were not dropped, with commas between them: of this command, and of those
	// before that are not whole yet.
	Stays string `json:"stays,omitempty"`
	// Said is what was found out, in words; "" where the numbers say all.
	Said string `json:"said,omitempty"`
}

// Words are why it has failed, and what stays; "" for neither.
func (o *FetchOutcome) Words() string {
	var all []string
	if o.Failed != "" {
		all = append(all, o.Failed)
	}
	for _, table := range Listed(o.Stays) {
		all = append(all, staysWords(table))
	}
	return strings.Join(all, "; ")
}

// staysWords say of a table why it stays, and what a person does.
func staysWords(table string) string {
	schema, name, _ := strings.Cut(table, ".")
	return fmt.Sprintf("%s stays, and is not whole: the answer to its restore was lost, and somebody else may have made it. If nobody did, run DROP TABLE %q.%q", table, schema, name)
}

func (o *FetchOutcome) equal(other *FetchOutcome) bool {
	same := *other
	same.At = o.At
	return o.At.Equal(other.At) && *o == same
}

// Proof is what a drill found out of a snapshot. The zero value: none has tried it.
type Proof struct {
	// At is when it ended. Of counts the tables of the snapshot, Restored those that came, Compared those of them
	// that had every operation that was recorded when the snapshot began.
	At       time.Time `json:"at,omitzero"`
	Of       int       `json:"of,omitempty"`
	Restored int       `json:"restored,omitempty"`
	Compared int       `json:"compared,omitempty"`
	// Bytes have come, in Took.
	Bytes int64         `json:"bytes,omitempty"`
	Took  time.Duration `json:"took,omitempty"`
	// Failed says of tables that did not come, or lack operations; "" where nothing was wrong.
	Failed string `json:"failed,omitempty"`
}

// Whole reports whether every table came and was compared.
func (p *Proof) Whole() bool {
	return !p.At.IsZero() && p.Failed == "" && p.Of > 0 && p.Compared == p.Of
}

func (p *Proof) equal(o *Proof) bool {
	other := *o
	other.At = p.At
	return p.At.Equal(o.At) && *p == other
}

// TableFacts is what CrateDB says of a table's primaries.
type TableFacts struct {
	Name string
	// Primaries count its shards, of all partitions; Started those of them that are.
	Primaries, Started int
	// Operations were done on it since it was made: each insert, update and delete of a row is one, and a snapshot
	// has all of those before it (sys.shards.seq_no_stats).
	Operations int64
	Docs       int64
	Bytes      int64
}

// Operations of tables, "schema.table=number" joined by newlines.
type Operations string

// maxOperations is how long such a text becomes: the record of a cluster has room for so much. What is left out is
// not compared.
const maxOperations = 64 << 10

// OperationsOf writes them.
func OperationsOf(facts []TableFacts) Operations {
	var b strings.Builder
	for _, f := range facts {
		line := f.Name + "=" + strconv.FormatInt(f.Operations, 10) + "\n"
		if b.Len()+len(line) > maxOperations {
			break
		}
		b.WriteString(line)
	}
	return Operations(b.String())
}

// Of is the number of a table; ok is false where it was not recorded.
func (o Operations) Of(table string) (n int64, ok bool) {
	for line := range strings.Lines(string(o)) {
		at := strings.LastIndexByte(line, '=')
		if at > 0 && line[:at] == table {
			n, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// FetchCommand is what a person asks for: a drill, or tables of a snapshot, or something with one that was replaced.
type FetchCommand struct {
	At    time.Time
	Drill bool
	// Verb is what is done with the one table of Tables; "" where a table that is there is not touched. Dry asks only what
	// would be done.
	Verb FetchVerb
	Dry  bool
	// Snapshot is "" for the newest good one. Tables are "schema.table"; Schema is another one that they come under,
	// "" for their own.
	Snapshot, Schema string
	Tables           []string
}

// The words of a FetchCommand.
const (
	commandDrill   = "drill"
	commandRestore = "restore"
)

// String is as the annotation has it: "TIME/drill?snapshot=…".
func (c FetchCommand) String() string {
	verb := cmp.Or(string(c.Verb), commandRestore)
	if c.Drill {
		verb = commandDrill
	}
	of := url.Values{}
	for key, value := range map[string]string{"snapshot": c.Snapshot, "schema": c.Schema, "tables": strings.Join(c.Tables, ",")} {
		if value != "" {
			of.Set(key, value)
		}
	}
	if c.Dry {
		of.Set("dry", "true")
	}
	text := c.At.UTC().Format(time.RFC3339) + "/" + verb
	if len(of) > 0 {
		text += "?" + of.Encode()
	}
	return text
}

// ReadFetchCommand reads one; an error says what is wrong with it.
func ReadFetchCommand(text string) (FetchCommand, error) {
	at, rest, _ := strings.Cut(text, "/")
	verb, query, _ := strings.Cut(rest, "?")
	c := FetchCommand{Drill: verb == commandDrill}
	if verbs := []FetchVerb{FetchReplace, FetchUndo, FetchDropKept}; slices.Contains(verbs, FetchVerb(verb)) {
		c.Verb = FetchVerb(verb)
	}
	of, failed := url.ParseQuery(query)
	when, err := time.Parse(time.RFC3339, at)
	if err = cmp.Or(err, failed); err != nil {
		return c, fmt.Errorf("%q is no command: %w", text, err)
	}
	c.At, c.Snapshot, c.Schema, c.Tables = when.UTC(), of.Get("snapshot"), of.Get("schema"), Listed(of.Get("tables"))
	c.Dry = of.Get("dry") == "true"
	switch {
	case verb != commandDrill && verb != commandRestore && c.Verb == "":
		return c, fmt.Errorf("%q is no command: it asks for neither a drill nor a restore", text)
	case !c.Drill && len(c.Tables) == 0:
		return c, fmt.Errorf("%q is no command: it names no table", text)
	case c.Verb != "" && (len(c.Tables) > 1 || c.Schema != ""):
		return c, fmt.Errorf("%q is no command: one table is replaced at a time, in its own schema", text)
	case c.Dry && c.Verb != FetchReplace:
		return c, fmt.Errorf("%q is no command: only what replaces a table is asked for before", text)
	}
	return c, nil
}
