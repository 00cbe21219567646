package definition

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // an image without /usr/share/zoneinfo knows time zones too

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/internal/located"
)

// Backups is spec.backups: where snapshots go, when they are taken and how long they are kept.
type Backups struct {
	// Repository is where they go: one place of one kind.
	Repository BackupRepository
	// Schedules say when; none is only by command.
	Schedules []BackupSchedule
	// KeepAtLeast is how many successful snapshots of each schedule no retention goes below; never 0.
	KeepAtLeast int
	// MaxDelay is how long a snapshot that is due waits for an operation, and an operation for it,
	// before that is reported; never 0.
	MaxDelay time.Duration
	// SnapshotNewerThan is how old the newest snapshot may be before a shrink, an upgrade or a replacement of
	// volumes; 0 is any age, and none.
	SnapshotNewerThan time.Duration `json:",omitempty"`
	// Drill is when the newest snapshot is tried; nil for never.
	Drill *Drill `json:",omitempty"`
	// Restore is what a new cluster begins with; nil for nothing.
	Restore *Restore `json:",omitempty"`
	// Unreadable says what is done about tables that make a snapshot of all fail: "refuse" or "skip".
	Unreadable string
}

// BackupRepository is a repository of CrateDB without its name and without what is secret.
type BackupRepository struct {
	// Type is CrateDB's: fs, s3, azure or gcs.
	Type string
	// Base is the folder below which each cluster has its own: `location` of fs, else the beginning of
	// `base_path`; "" for the root of a bucket.
	Base string
	// Settings are CrateDB's parameters, but for the path and secrets.
	Settings []Setting `json:",omitempty"`
	// Secrets are the parameters whose values are in Secrets.
	Secrets []SecretSetting `json:",omitempty"`
}

// SecretSetting is a parameter whose value a Secret has.
type SecretSetting struct {
	Name string
	Ref  SecretKeyRef
}

// BackupSchedule is one of spec.backups.schedules, or the cron of crate-operator's fields.
type BackupSchedule struct {
	Name string
	// Cron has five fields, in TimeZone; "" is UTC.
	Cron, TimeZone string
	// Tables are "schema.table"; none are all.
	Tables []string `json:",omitempty"`
	// Keep is how many successful snapshots are kept, KeepFor how long; 0 is without a limit. One that
	// either of them keeps stays.
	Keep    int
	KeepFor time.Duration
}

// DefaultSchedule is the name of the schedule that crate-operator's `cron` makes.
const DefaultSchedule = "cron"

// What is left open.
const (
	DefaultKeepAtLeast = 3
	DefaultMaxDelay    = time.Hour
)

// Unreadable.
const (
	UnreadableRefuse = "refuse"
	UnreadableSkip   = "skip"
)

// The most that is taken: snapshots are in the record, and CrateDB reads two objects of each whenever
// anybody lists them.
const (
	maxSchedules   = 8
	maxKeep        = 200
	maxTablesNamed = 200
)

// repositoryKinds are the fields of which one says where snapshots go. The first two are crate-operator's.
var repositoryKinds = []string{"aws", "azure_blob", "s3", "azure", "gcs", "fs"}

// backups are crate-operator's fields, and ours.
func backups() field {
	cron := func() field { return text("cron", checkCron).req() }
	return object("backups",
		object("aws", secretKeyRef("accessKeyId").req(), text("basePath", checkObjectPath), secretKeyRef("bucket").req(), cron(),
			secretKeyRef("endpointUrl"), secretKeyRef("region").req(), secretKeyRef("secretAccessKey").req()),
		object("azure_blob", secretKeyRef("accountName").req(), secretKeyRef("accountKey").req(),
			secretKeyRef("container").req(), secretKeyRef("region").req(), cron()),
		object("s3", text("bucket", checkParameter).req(), text("region", checkParameter), text("endpoint", checkParameter),
			text("basePath", checkObjectPath), secretKeyRef("accessKey"), secretKeyRef("secretKey"), oneOf("protocol", "http", "https"),
			boolean("pathStyleAccess"), boolean("serverSideEncryption"), text("storageClass", checkParameter)),
		object("azure", text("account", checkParameter).req(), text("container", checkParameter).req(), text("endpoint", checkParameter),
			text("basePath", checkObjectPath), secretKeyRef("key"), secretKeyRef("sasToken")),
		object("gcs", text("bucket", checkParameter).req(), text("endpoint", checkParameter), text("basePath", checkObjectPath),
			secretKeyRef("privateKey").req(), secretKeyRef("privateKeyId").req(), secretKeyRef("clientId").req(), secretKeyRef("clientEmail").req()),
		object("fs", text("location", checkLocation).req()),
		list("schedules", "name", object("", text("name", checkScheduleName).req(), cron(), text("timeZone", checkTimeZone),
			list("tables", "", text("", checkTable)), whole("keep", 1, maxKeep), text("keepFor", checkAge))),
		whole("keepAtLeast", 1, maxKeep),
		text("maxDelay", checkDuration), text("snapshotNewerThan", checkAge),
		oneOf("unreadable", UnreadableRefuse, UnreadableSkip),
		object("drill", cron(), text("timeZone", checkTimeZone), text("maxBytes", checkSize)),
		object("restore", text("from", checkFrom).req(), text("snapshot", checkSnapshot), list("tables", "", text("", checkTable)), boolean("users")),
		text("maxSnapshotBytesPerSecond", checkRate), text("maxRestoreBytesPerSecond", checkRate))
}

var (
	schedulePattern = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$`)
	ratePattern     = regexp.MustCompile(`^[1-9][0-9]*(b|kb|mb|gb)$`)
	tablePattern    = regexp.MustCompile(`^[^."\x00-\x1f]+\.[^."\x00-\x1f]+$`)
)

func checkScheduleName(s string) string {
	switch {
	case !schedulePattern.MatchString(s):
		return "is no name of a schedule: write 1 to 20 of a-z, 0-9 and -, beginning with a letter and not ending with -"
	case s == CommandSchedule:
		return "is the name of snapshots that a command asks for: write another one"
	case s == BeforeSchedule:
		return "is the name of snapshots that are taken before an operation: write another one"
	}
	return ""
}

// CommandSchedule names the snapshots of `stevedore backup now`.
const CommandSchedule = "now"

// BeforeSchedule names the snapshots that are taken before an operation (snapshotNewerThan).
const BeforeSchedule = "before"

// SnapshotWords say whose snapshot one is.
func SnapshotWords(schedule string) string {
	switch schedule {
	case CommandSchedule:
		return "the snapshot that a command asked for"
	case BeforeSchedule:
		return "the snapshot before an operation"
	}
	return "the snapshot of schedule " + schedule
}

func checkTimeZone(s string) string {
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		return "is no time zone of the IANA database: write for example Europe/Vienna or UTC"
	}
	return ""
}

// checkTable takes a table with its schema: without one CrateDB would take the session's.
func checkTable(s string) string {
	switch schema, _, _ := strings.Cut(s, "."); {
	case !tablePattern.MatchString(s):
		return "is no table: write its schema and its name, doc.orders"
	case slices.Contains([]string{"sys", "information_schema", "pg_catalog"}, schema):
		return "is a table of CrateDB's own, which no snapshot has"
	case schema == "blob":
		return "is a BLOB table, which no snapshot has"
	}
	return ""
}

func checkRate(s string) string {
	if !ratePattern.MatchString(s) {
		return "is no rate: write a number with b, kb, mb or gb, such as 40mb"
	}
	return ""
}

// checkParameter keeps out what is no part of a name or an address.
func checkParameter(s string) string {
	if s == "" || len(s) > 255 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "is empty, too long, or has a space or a control character"
	}
	return ""
}

// checkObjectPath takes the beginning of the keys of objects.
func checkObjectPath(s string) string {
	if why := checkParameter(s); why != "" {
		return why
	}
	if strings.Trim(s, "/") != s || path.Clean(s) != s {
		return "is no path of objects: write folders with / between them, and none at the beginning or end"
	}
	return ""
}

func checkLocation(s string) string {
	if why := checkParameter(s); why != "" {
		return why
	}
	if !path.IsAbs(s) || path.Clean(s) != s || s == "/" {
		return "is no absolute path: write the folder as the nodes see it, such as /backups"
	}
	return ""
}

// checkAge takes a duration, or a number of days.
func checkAge(s string) string {
	if _, err := ageOf(s); err != nil {
		return "is no age: write for example 36h or 30d"
	}
	return ""
}

func ageOf(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 3650 {
			return 0, fmt.Errorf("%q is no number of days", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Minute {
		return 0, fmt.Errorf("%q is no duration of a minute or more", s)
	}
	return d, nil
}

// backupRules are those across fields.
func backupRules(n *yaml.Node, add reporter) {
	backups, at := located.Get(n, "spec", "backups"), []any{"spec", "backups"}
	if backups == nil {
		return
	}
	var kinds []string
	for _, kind := range repositoryKinds {
		if located.Get(backups, kind) != nil {
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 0:
		add(backups, at, "says no place for snapshots: write one of "+strings.Join(repositoryKinds, ", "))
	case 1:
	default:
		add(backups, at, fmt.Sprintf("has %s: snapshots go to one place: leave one of them", strings.Join(kinds, " and ")))
	}
	together(backups, at, "s3", "accessKey", "secretKey", add)
	if azure := located.Get(backups, "azure"); azure != nil && (located.Get(azure, "key") == nil) == (located.Get(azure, "sasToken") == nil) {
		add(azure, append(slices.Clone(at), "azure"), "write either key or sasToken")
	}
	fsRules(n, backups, add)
	restoreRules(backups, at, add)
	schedules := located.Items(located.Get(backups, "schedules"))
	if len(schedules) > maxSchedules {
		add(located.Get(backups, "schedules"), append(slices.Clone(at), "schedules"), fmt.Sprintf("has %d schedules, more than %d are not taken", len(schedules), maxSchedules))
	}
	for i, s := range schedules {
		where := append(slices.Clone(at), "schedules", i)
		if tables := located.Items(located.Get(s, "tables")); len(tables) > maxTablesNamed {
			add(located.Get(s, "tables"), append(where, "tables"), fmt.Sprintf("has %d tables, more than %d are not taken: leave the list out for all", len(tables), maxTablesNamed))
		}
		if name := str(s, "name"); name == DefaultSchedule && (str(backups, "aws", "cron") != "" || str(backups, "azure_blob", "cron") != "") {
			add(s, append(where, "name"), "is the name of the schedule that the field cron makes: write another one")
		}
	}
}

// together reports of two fields that need each other the one that stands alone.
func together(n *yaml.Node, at []any, kind, a, b string, add reporter) {
	object := located.Get(n, kind)
	if object != nil && (located.Get(object, a) == nil) != (located.Get(object, b) == nil) {
		add(object, append(slices.Clone(at), kind), fmt.Sprintf("write %s and %s, or none of them for the role of the machine", a, b))
	}
}

// fsRules: CrateDB takes a location only below a path.repo that it was started with.
func fsRules(n, backups *yaml.Node, add reporter) {
	location := located.Get(backups, "fs", "location")
	at, ok := located.String(location)
	if !ok || checkLocation(at) != "" {
		return
	}
	allowed := ""
	for _, p := range located.Pairs(located.Get(n, "spec", "cluster", "settings")) {
		if p.Key.Value == "path.repo" {
			allowed = p.Value.Value
		}
	}
	for _, each := range strings.Split(allowed, ",") {
		if root := strings.TrimSpace(each); root != "" && (at == root || strings.HasPrefix(at, strings.TrimSuffix(root, "/")+"/")) {
			return
		}
	}
	add(location, []any{"spec", "backups", "fs", "location"},
		"is below no path.repo: write path.repo in spec.cluster.settings, which needs a rolling restart, and mount a volume there that all nodes share")
}

// backupsOf reads a node that has been checked; nil for none.
func backupsOf(n *yaml.Node) *Backups {
	if n == nil {
		return nil
	}
	b := &Backups{
		KeepAtLeast: DefaultKeepAtLeast, MaxDelay: DefaultMaxDelay, Unreadable: UnreadableRefuse,
		Repository: repositoryOf(n), Restore: restoreOf(located.Get(n, "restore")), Drill: drillOf(located.Get(n, "drill")),
	}
	if least := located.Get(n, "keepAtLeast"); least != nil {
		b.KeepAtLeast = int(float(least))
	}
	if d, err := time.ParseDuration(str(n, "maxDelay")); err == nil {
		b.MaxDelay = d
	}
	b.SnapshotNewerThan, _ = ageOf(str(n, "snapshotNewerThan"))
	if policy := str(n, "unreadable"); policy != "" {
		b.Unreadable = policy
	}
	for _, kind := range []string{"aws", "azure_blob"} {
		if cron := str(n, kind, "cron"); cron != "" {
			b.Schedules = append(b.Schedules, BackupSchedule{Name: DefaultSchedule, Cron: cron})
		}
	}
	for _, s := range located.Items(located.Get(n, "schedules")) {
		schedule := BackupSchedule{Name: str(s, "name"), Cron: str(s, "cron"), TimeZone: str(s, "timeZone"), Keep: int(float(s, "keep"))}
		schedule.KeepFor, _ = ageOf(str(s, "keepFor"))
		for _, t := range located.Items(located.Get(s, "tables")) {
			schedule.Tables = append(schedule.Tables, t.Value)
		}
		b.Schedules = append(b.Schedules, schedule)
	}
	return b
}
