package cratesim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/s3test"
)

const (
	goodAccess = "AKIAGOOD"
	goodSecret = "good/secret+key"
)

// alone runs one node, or asks the real one at CRATEDB_S3, an address of HTTP such as
// 127.0.0.1:4200: an empty cluster of one node of 6.4 whose release has S3.
func alone(t *testing.T, version string) func(stmt string) string {
	address := os.Getenv("CRATEDB_S3")
	if address == "" {
		w := newWorld(t, HubOptions{Model: quick().Model, SnapshotTakes: time.Millisecond})
		p := &process{address: w.address(0)}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan int, 1)
		args := []string{"--hub", w.socket, "--address", p.address, "--version", version, "--data-dir", filepath.Join(w.dir, p.address), "--",
			"-Ccluster.name=c", "-Cnode.name=n0", "-Ccluster.initial_master_nodes=n0", "-Cgateway.expected_data_nodes=1"}
		go func() { done <- RunNodeArgs(ctx, args, nil, io.Discard) }()
		t.Cleanup(func() { cancel(); <-done })
		w.joined(p, 1)
		address = p.address + ":4200"
	}
	return func(stmt string) string {
		body, err := json.Marshal(map[string]any{"stmt": stmt})
		require.NoError(t, err)
		response, err := (&http.Client{Timeout: time.Minute}).Post("http://"+address+"/_sql", "application/json", strings.NewReader(string(body)))
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		var a answer
		require.NoError(t, json.NewDecoder(response.Body).Decode(&a))
		if a.Error.Message != "" {
			return a.Error.Message
		}
		if len(a.Cols) == 0 {
			return ""
		}
		rows, err := json.Marshal(a.Rows)
		require.NoError(t, err)
		return string(rows)
	}
}

// stripped takes out of an answer, or of a request, what is another one each time, and what the
// simulator leaves out: headers of answers, backtraces and counts of bytes.
func stripped(s *s3test.Server, text string) string {
	for _, c := range []struct{ what, by string }{
		{regexp.QuoteMeta(s.Endpoint), "ENDPOINT"},
		{`tests-[\w-]{22}`, "tests-ID"},
		{`data-[\w-]{22}\.dat`, "data-NODE.dat"},
		{`/[\w-]{22}(\.dat)?\]`, "/ID$1]"},
		{`(snap|meta)-[\w-]{22}\.dat`, "$1-ID.dat"},
		{`headers: \{[^}]*\}`, "headers: {}"},
		{`resource: "[^"]*", request_id: "[^"]*"`, `resource: "", request_id: ""`},
		{`\n   (written|listed): \d+`, ""},
		{`\n\nBacktrace:(\n +\d+: .*)+`, ""},
		{`\n+`, "\n"},
	} {
		text = regexp.MustCompile(c.what).ReplaceAllString(text, c.by)
	}
	return text
}

func keyed(access, secret, more string) string {
	return fmt.Sprintf("WITH (access_key = '%s', secret_key = '%s', protocol = 'http'%s)", access, secret, more)
}

// Each answer is that of CrateDB 6.4.3 with S3.
func TestAnS3RepositoryAnswersAsThatOfCrateDB(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t, goodAccess, goodSecret, "backups")
	ask := alone(t, "6.4.3")
	at := func(bucket, more string) string {
		return ", endpoint = '" + s.Endpoint + "', bucket = '" + bucket + "', base_path = 'crate/x'" + more
	}
	good := keyed(goodAccess, goodSecret, at("backups", ""))
	const (
		unable   = "RepositoryException[[] [r] Unable to verify the repository, [r] is not accessible on master node: OpenDALException '"
		asked    = "\nContext:\n   uri: http://ENDPOINT/backups/crate/x/"
		refused  = "\n   response: Parts { status: 403, version: HTTP/1.1, headers: {} }\n   service: s3\n   path: crate/x/"
		noRegion = unable + "ConfigInvalid (permanent) at Builder::build => region is missing. Please find it by S3::detect_region() or set them in env.\nContext:\n   service: s3\n']"
		unread   = "RepositoryException[[r] Unexpected exception when loading repository data]"
		list     = "SELECT name, state FROM sys.snapshots ORDER BY name"
		create   = "CREATE SNAPSHOT r.%s ALL WITH (wait_for_completion = true)"
		noKey    = `PermissionDenied (persistent) at list => S3Error { code: "InvalidAccessKeyId", message: "The AWS Access Key Id you provided does not exist in our records.", resource: "", request_id: "" }`
	)
	for _, c := range []struct {
		what string
		do   func()
		stmt string
		want string
	}{
		{"a table", nil, "CREATE TABLE t (id INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)", ""},
		{"with a row", nil, "INSERT INTO t (id) VALUES (1)", ""},
		{"that counts", nil, "REFRESH TABLE t", "*"},
		{"an access key that nobody knows", nil, "CREATE REPOSITORY r TYPE s3 " + keyed("WRONG", goodSecret, at("backups", "")),
			unable + "PermissionDenied (persistent) at stat" + asked + "tests-ID/master.dat" + refused + "tests-ID/master.dat\n']"},
		{"a wrong secret key", nil, "CREATE REPOSITORY r TYPE s3 " + keyed(goodAccess, "wrong", at("backups", "")),
			unable + "PermissionDenied (persistent) at stat" + asked + "tests-ID/master.dat" + refused + "tests-ID/master.dat\n']"},
		{"no keys", nil, "CREATE REPOSITORY r TYPE s3 WITH (protocol = 'http'" + at("backups", ")"),
			unable + "PermissionDenied (persistent) at stat => no valid credential found and anonymous access is not allowed\nContext:\n   service: s3\n   path: crate/x/tests-ID/master.dat\n']"},
		{"no such bucket", nil, "CREATE REPOSITORY r TYPE s3 " + keyed(goodAccess, goodSecret, at("none", "")),
			unable + `ConfigInvalid (persistent) at write => S3Error { code: "NoSuchBucket", message: "The specified bucket does not exist", resource: "", request_id: "" }` +
				"\nContext:\n   uri: http://ENDPOINT/none/crate/x/tests-ID/master.dat\n   response: Parts { status: 404, version: HTTP/1.1, headers: {} }\n   service: s3\n   path: crate/x/tests-ID/master.dat\n']"},
		{"nobody listens", nil, "CREATE REPOSITORY r TYPE s3 " + keyed("a", "b", ", bucket = 'b', endpoint = '127.0.0.1:1'"), noRegion},
		{"AWS, which no test reaches", nil, "CREATE REPOSITORY r TYPE s3 " + keyed("a", "b", ", bucket = 'b', endpoint = 's3.amazonaws.com'"), noRegion},
		{"nobody listens, and the region is known", nil, "CREATE REPOSITORY r TYPE s3 " + keyed("a", "b", ", bucket = 'b', endpoint = '127.0.0.1:1', region = 'x', max_retries = 0"),
			unable + "Unexpected (persistent) at stat => send http request\nContext:\n   url: http://127.0.0.1:1/b/tests-ID/master.dat\n   called: http_util::Client::send\n   service: s3\n   path: tests-ID/master.dat" +
				"\nSource:\n   error sending request for url (http://127.0.0.1:1/b/tests-ID/master.dat): client error (Connect): tcp connect error: Connection refused (os error 111)\n']"},
		{"a wrong key to read with", nil, "CREATE REPOSITORY r TYPE s3 " + keyed("WRONG", goodSecret, at("backups", ", readonly = true")),
			unable + noKey + "\nContext:\n   uri: http://ENDPOINT/backups?delimiter=%2F&list-type=2&prefix=crate%2Fx%2Findex-" + refused + "index-\n']"},
		{"none of these stays", nil, "SELECT name FROM sys.repositories", "[]"},
		{"all is well", nil, "CREATE REPOSITORY r TYPE s3 " + good, ""},
		{"the first one", nil, fmt.Sprintf(create, "s1"), ""},
		{"its list", nil, list, `[["s1","SUCCESS"]]`},
		{"keys that are good no more", func() { s.Keys("AKIANEW", "new") }, fmt.Sprintf(create, "s2"), unread},
		{"to drop", nil, "DROP SNAPSHOT r.s1", unread},
		{"to restore", nil, "RESTORE SNAPSHOT r.s1 TABLE t WITH (table_rename_replacement = 't2')", unread},
		{"the list has nothing", nil, list, "[]"},
		{"an alteration by wrong keys stays", nil, "ALTER REPOSITORY r SET (access_key = 'AKIANEW', secret_key = 'old')",
			strings.Replace(unable, "RepositoryException[[] ", "RepositoryVerificationException[", 1) + "PermissionDenied (persistent) at stat" + asked + "tests-ID/master.dat" + refused + "tests-ID/master.dat\n']"},
		{"the generation is not known now", nil, fmt.Sprintf(create, "s2"),
			strings.Replace("OpenDALException["+noKey, `"InvalidAccessKeyId", message: "The AWS Access Key Id you provided does not exist in our records."`, `"SignatureDoesNotMatch", message: "The request signature we calculated does not match the signature you provided. Check your key and signing method."`, 1) +
				"\nContext:\n   uri: http://ENDPOINT/backups?delimiter=%2F&list-type=2&prefix=crate%2Fx%2Findex-" + refused + "index-\n]"},
		{"and one by good ones", nil, "ALTER REPOSITORY r SET (access_key = 'AKIANEW', secret_key = 'new')", ""},
		{"goes on", nil, fmt.Sprintf(create, "s2"), ""},
		{"nobody listens any more", func() { s.Listen(false) }, fmt.Sprintf(create, "s3"), unread},
		{"the list has nothing", nil, list, "[]"},
		{"somebody listens again", func() { s.Listen(true) }, fmt.Sprintf(create, "s3"), ""},
		{"the list", nil, list, `[["s1","SUCCESS"],["s2","SUCCESS"],["s3","SUCCESS"]]`},
		{"SlowDown, twice", func() { s.Faults(s3test.Fault{Status: 503, Code: "SlowDown", Times: 2}) }, fmt.Sprintf(create, "s4"), ""},
		{"SlowDown", func() { s.Faults(s3test.Fault{Status: 503, Code: "SlowDown"}) }, fmt.Sprintf(create, "s5"), unread},
		{"a server that is slow", func() { s.Faults(s3test.Fault{Delay: "100ms", Path: "crate/x/meta-"}) }, fmt.Sprintf(create, "slow"), ""},
		{"one that hangs up, once for each", func() {
			s.Faults(s3test.Fault{Cut: true, Times: 1, Path: "/index-"}, s3test.Fault{Cut: true, Times: 1, Path: "crate/x/meta-"})
		}, "DROP SNAPSHOT r.slow", ""},
		{"shards cannot be written", func() { s.Faults(s3test.Fault{Status: 403, Code: "AccessDenied", Method: "PUT", Path: "/indices/"}) }, "INSERT INTO t (id) VALUES (2)", ""},
		{"a snapshot of them succeeds", nil, fmt.Sprintf(create, "s6"), ""},
		{"and is PARTIAL", func() { s.Faults() }, list, `[["s1","SUCCESS"],["s2","SUCCESS"],["s3","SUCCESS"],["s4","SUCCESS"],["s6","PARTIAL"]]`},
		{"a list cannot be written", func() { s.Faults(s3test.Fault{Status: 403, Code: "AccessDenied", Method: "PUT", Path: "/index-"}) }, fmt.Sprintf(create, "s7"),
			"SnapshotException[[r:s7/ID] failed to update snapshot in repository]"},
		{"information is lost", func() { s.Faults(s3test.Fault{Status: 404, Code: "NoSuchKey", Path: "crate/x/snap-"}) }, list, "[]"},
		{"what it says of it", nil, "RESTORE SNAPSHOT r.s1 TABLE t WITH (table_rename_replacement = 't2')",
			"OpenDALException[Unexpected (permanent) at  => NotFound (persistent) at read, context: { uri: http://ENDPOINT/backups/crate/x/snap-ID.dat, response: Parts { status: 404, version: HTTP/1.1, headers: {} }, " +
				`service: s3, path: crate/x/snap-ID.dat, range: 0- } => S3Error { code: "NoSuchKey", message: "", resource: "", request_id: "" }` + "\n]"},
		{"definitions are lost", func() { s.Faults(s3test.Fault{Status: 404, Code: "NoSuchKey", Path: "crate/x/meta-", Times: 1}) }, list, "[]"},
		{"a shard is lost", func() { s.Faults(s3test.Fault{Status: 404, Code: "NoSuchKey", Path: "/0/snap-"}) }, "RESTORE SNAPSHOT r.s1 TABLE t WITH (table_rename_replacement = 't2', wait_for_completion = true)",
			"SnapshotRestoreException[[r:s1] failed to restore 1 of 1 shards]"},
		{"all is well", func() { s.Faults() }, "RESTORE SNAPSHOT r.s1 TABLE t WITH (table_rename_replacement = 't3', wait_for_completion = true)", ""},
		{"its row", nil, "SELECT id FROM t3", "[[1]]"},
		{"another one writes there", nil, "CREATE REPOSITORY other TYPE s3 " + keyed("AKIANEW", "new", at("backups", "")), ""},
		{"a snapshot", nil, "CREATE SNAPSHOT other.foreign TABLE t WITH (wait_for_completion = true)", ""},
		{"the one who does not know of it can write no more", nil, fmt.Sprintf(create, "s8"), unread},
		{"and reads nothing", nil, "SELECT name FROM sys.snapshots WHERE repository = 'r'", "[]"},
		{"the other one is gone", nil, "DROP REPOSITORY other", ""},
		{"and the first", nil, "DROP REPOSITORY r", ""},
		{"who is created again finds all", nil, "CREATE REPOSITORY r TYPE s3 " + keyed("AKIANEW", "new", at("backups", "")), ""},
		{"the list", nil, list, `[["foreign","SUCCESS"],["s1","SUCCESS"],["s2","SUCCESS"],["s3","SUCCESS"],["s4","SUCCESS"],["s6","PARTIAL"]]`},
		{"one goes", nil, "DROP SNAPSHOT r.s6", ""},
		{"keys are masked", nil, "SELECT settings['access_key'], settings['secret_key'] FROM sys.repositories", `[["[xxxxx]","[xxxxx]"]]`},
	} {
		if c.do != nil {
			c.do()
		}
		if got := stripped(s, ask(c.stmt)); c.want != "*" {
			assert.Equal(t, c.want, got, "%s: %s", c.what, c.stmt)
		}
	}
}

// The requests of a verification and of a second snapshot are those of CrateDB 6.4.3, but for
// files of tables and of the clean-up, whose format is the simulator's own.
func TestAnS3RepositoryIsAskedAsCrateDBAsks(t *testing.T) {
	t.Parallel()
	s := s3test.Start(t, goodAccess, goodSecret, "backups")
	ask := alone(t, "6.4.3")
	only := func(stmt, what string) (out []string) {
		s.Requests()
		require.Empty(t, ask(stmt))
		for _, each := range s.Requests() {
			if regexp.MustCompile(what).MatchString(each) {
				out = append(out, stripped(s, each))
			}
		}
		return out
	}
	const folder = "/backups/crate/x/tests-ID/"
	assert.Equal(t, []string{"HEAD /backups", "HEAD " + folder + "master.dat", "PUT " + folder + "master.dat", "HEAD " + folder + "data-NODE.dat", "PUT " + folder + "data-NODE.dat",
		"GET " + folder + "master.dat", "GET /backups?list-type=2&prefix=crate%2Fx%2Ftests-ID%2F"},
		only("CREATE REPOSITORY r TYPE s3 "+keyed(goodAccess, goodSecret, ", endpoint = '"+s.Endpoint+"', bucket = 'backups', base_path = 'crate/x'"), "^(HEAD|PUT|GET) [^?]*([?]list-type=2&prefix.*)?$"))
	require.Empty(t, ask("CREATE SNAPSHOT r.one ALL WITH (wait_for_completion = true)"))
	written := only("CREATE SNAPSHOT r.two ALL WITH (wait_for_completion = true)", "^(PUT .*(index-1|meta-.*|snap-.*)|HEAD .*/index-1)$|^HEAD .*/index-0$")
	// After that CrateDB asks whether the old list is there, to remove it.
	assert.Equal(t, []string{"PUT /backups/crate/x/meta-ID.dat", "PUT /backups/crate/x/snap-ID.dat", "HEAD /backups/crate/x/index-0", "HEAD /backups/crate/x/index-1", "PUT /backups/crate/x/index-1"},
		written[:min(5, len(written))])
}

// Another cluster restores from the bucket what one has saved.
func TestAnotherClusterRestoresFromTheBucket(t *testing.T) {
	t.Parallel()
	if os.Getenv("CRATEDB_S3") != "" {
		t.Skip("CRATEDB_S3 names one real cluster, and this needs two: it runs on the simulator where CRATEDB_S3 is unset, as in `make test`")
	}
	s := s3test.Start(t, goodAccess, goodSecret, "backups")
	good := "CREATE REPOSITORY r TYPE s3 " + keyed(goodAccess, goodSecret, ", endpoint = '"+s.Endpoint+"', bucket = 'backups', base_path = 'crate'")
	first := alone(t, "6.4.3")
	for _, stmt := range []string{"CREATE TABLE t (id INT, x TEXT)", "INSERT INTO t (id, x) VALUES (1, 'a'), (2, NULL)", good, "CREATE SNAPSHOT r.s ALL WITH (wait_for_completion = true)"} {
		require.Empty(t, first(stmt), stmt)
	}
	for _, name := range s.Objects("backups") {
		require.True(t, strings.HasPrefix(name, "crate/"), name)
		require.NotContains(t, name, "tests-", "what a verification writes is gone")
	}
	second := alone(t, "6.4.3")
	for _, stmt := range []string{strings.Replace(good, "WITH (", "WITH (readonly = true, ", 1), "RESTORE SNAPSHOT r.s ALL WITH (wait_for_completion = true)"} {
		require.Empty(t, second(stmt), stmt)
	}
	require.Equal(t, `[["1","a"],["2",null]]`, second("SELECT id::TEXT, x FROM t ORDER BY id"))
}
