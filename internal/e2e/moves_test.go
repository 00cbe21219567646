package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testbed"
)

func consents(list ...string) edit { return with("spec.operations.consent", list) }

func marked(mark string) edit {
	return with("spec.cluster.service.annotations", map[string]any{"example.com/mark": mark})
}

// A definition that moves between files and folders of its source, by a push each,
// is the same definition.
func TestADefinitionThatMovesWithinItsSourceChangesNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, "moves-within")
	s.appSecret("app-password")
	repository, err := testbed.NewRepository(s.ctx, t.TempDir(), "fleet")
	require.NoError(t, err)
	good := definition(s.ns, "orders", consents("delete-cluster"))
	all := "resources: [teams/one, teams/two]\n"
	push := func(message string, files map[string]string) {
		require.NoError(t, repository.Push(s.ctx, message, files))
	}
	push("begin", map[string]string{
		"kustomization.yaml": all, "teams/one/kustomization.yaml": "resources: [orders.yaml]\n", "teams/one/orders.yaml": good,
		"teams/two/kustomization.yaml": "resources: [other.yaml]\n", "teams/two/other.yaml": definition(s.ns, "other"),
	})
	daemon := s.start(testbed.DaemonOptions{Args: []string{
		"--git", repository.URL, "--ref", "main", "--interval", "300ms", "--namespace", s.ns, "--removal-delay", "1s", "--git-mirror", t.TempDir()}})
	s.done("orders")
	s.done("other")
	before := s.versions()
	for _, move := range []struct {
		to    string
		files map[string]string
	}{
		{"another file", map[string]string{"teams/one/orders.yaml": "", "teams/one/shop.yaml": good, "teams/one/kustomization.yaml": "resources: [shop.yaml]\n"}},
		{"another folder", map[string]string{
			"teams/one": "", "kustomization.yaml": "resources: [teams/two]\n",
			"teams/two/orders.yaml": good, "teams/two/kustomization.yaml": "resources: [other.yaml, orders.yaml]\n"}},
		{"a file with others", map[string]string{
			"teams/two/orders.yaml": "", "teams/two/other.yaml": definition(s.ns, "other") + "---\n" + good, "teams/two/kustomization.yaml": "resources: [other.yaml]\n"}},
		{"a base and an overlay", map[string]string{
			"teams/two/other.yaml": definition(s.ns, "other"), "base/orders.yaml": good, "base/kustomization.yaml": "resources: [orders.yaml]\n",
			"kustomization.yaml": "resources: [teams/two, base]\n"}},
	} {
		push(move.to, move.files)
		head, err := repository.Head(s.ctx)
		require.NoError(t, err)
		// It has been read, and the time has passed in which one that is gone is kept.
		s.until("the daemon has read "+move.to, func() bool { return strings.Contains(daemon.Log(), head) })
		s.throughout("moved to "+move.to, 2*time.Second, func() bool { return isDone(s.record("orders")) && isDone(s.record("other")) })
		assert.Equal(t, before, s.versions(), "what was changed by a move to %s", move.to)
	}
	assert.False(t, s.eventOf("orders", "Orphaned"))
	s.noPodRestarted()
}

// twoSources are two folders that one daemon follows.
type twoSources struct {
	*situation
	from, to *situation
	daemon   *testbed.Daemon
}

func beginTwoSources(t *testing.T, ns string, args ...string) *twoSources {
	t.Helper()
	s := begin(t, ns)
	s.appSecret("app-password")
	p := &twoSources{situation: s, from: s.aside(ns, filepath.Join(t.TempDir(), "from")), to: s.aside(ns, filepath.Join(t.TempDir(), "to"))}
	for _, folder := range []string{p.from.dir, p.to.dir} {
		require.NoError(t, os.Mkdir(folder, 0o755))
	}
	config := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(config, []byte("sources:\n- {name: from, dir: "+p.from.dir+"}\n- {name: to, dir: "+p.to.dir+"}\n"), 0o600))
	p.from.write(map[string]string{"orders.yaml": definition(ns, "orders", consents("delete-cluster"))})
	p.to.write(map[string]string{"other.yaml": definition(ns, "other")})
	p.daemon = s.start(testbed.DaemonOptions{Args: append([]string{"--config", config, "--dir-quiet", "100ms", "--namespace", ns, "--look-interval", "1s"}, args...)})
	s.done("orders")
	s.done("other")
	return p
}

func (p *twoSources) belongsTo(source *situation) {
	p.Helper()
	p.until("the cluster belongs to "+source.dir, func() bool { return strings.HasSuffix(p.record("orders").Owner, source.dir) })
	p.done("orders")
}

// looksAfter shows that a source's definition is the one that counts.
func (p *twoSources) looksAfter(source *situation, mark string, edits ...edit) {
	p.Helper()
	source.write(map[string]string{"orders.yaml": definition(p.ns, "orders", append(edits, marked(mark))...)})
	p.until("the definition in "+source.dir+" is applied", func() bool { return p.service("crate-orders").Annotations["example.com/mark"] == mark })
	p.done("orders")
}

func (p *twoSources) says(name string) bool {
	return slices.ContainsFunc(p.record("orders").Shown.Reasons, func(r shownReason) bool {
		return r.Name == name && strings.Contains(r.Message, p.from.dir) && strings.Contains(r.Message, p.to.dir)
	})
}

// The new source takes it while the old one still names it.
func TestAClusterMovesToASourceThatNamesItFirst(t *testing.T) {
	t.Parallel()
	p := beginTwoSources(t, "moves-new-first", "--removal-delay", "1s")
	before := p.versions()

	// Without the consent it is refused, by name, and its owner goes on.
	p.to.write(map[string]string{"orders.yaml": definition(p.ns, "orders", marked("theirs"))})
	p.until("both are named", func() bool { return p.says("defined-twice") })
	p.until("the event", func() bool { return p.eventOf("orders", "DefinedTwice") })
	assert.Equal(t, before, p.versions())
	p.looksAfter(p.from, "owner")
	p.patch("services", "crate-orders", `{"metadata":{"annotations":{"example.com/mark":"drift"}}}`)
	p.until("drift is put back", func() bool { return p.service("crate-orders").Annotations["example.com/mark"] == "owner" })
	before = p.versions()

	// With it, it moves; the old one is refused from now on, and then gone.
	p.to.write(map[string]string{"orders.yaml": definition(p.ns, "orders", consents("take-over", "delete-cluster"), marked("owner"))})
	p.belongsTo(p.to)
	p.until("the old one is refused", func() bool { return p.says("defined-twice") })
	p.from.write(map[string]string{"orders.yaml": ""})
	p.until("nothing is left to say", func() bool { return len(p.reasons("orders")) == 0 })
	p.throughout("longer than the removal's delay", 2*time.Second, func() bool { return isDone(p.record("orders")) })
	assert.Equal(t, before, p.versions(), "what was changed by the move")
	assert.False(t, p.eventOf("orders", "Orphaned"))
	p.looksAfter(p.to, "new owner", consents("take-over"))

	// Two that both consent do not take it from each other.
	p.from.write(map[string]string{"orders.yaml": definition(p.ns, "orders", consents("take-over"), marked("fight"))})
	p.until("the second is refused", func() bool { return p.says("defined-twice") })
	p.throughout("it stays where it is", 2*time.Second, func() bool {
		return strings.HasSuffix(p.record("orders").Owner, p.to.dir) && p.service("crate-orders").Annotations["example.com/mark"] == "new owner"
	})
	p.noPodRestarted()
}

// Removed from the old source first, it is a definition that is gone; the one that
// names it in the new source keeps it from being deleted, and takes it by consent.
func TestAClusterMovesToASourceThatNamesItLast(t *testing.T) {
	t.Parallel()
	p := beginTwoSources(t, "moves-old-first", "--removal-delay", "1m")
	before := p.versions()
	p.from.write(map[string]string{"orders.yaml": ""})
	p.until("its deletion is announced", func() bool { return slices.Contains(p.reasons("orders"), "removal-pending") })

	p.to.write(map[string]string{"orders.yaml": definition(p.ns, "orders")})
	p.until("the new source is refused where people look", func() bool { return p.says("another-owner") })
	p.throughout("longer than the removal's delay", time.Minute+time.Second, func() bool { return p.says("another-owner") })
	assert.Equal(t, before, p.versions(), "what was changed while it was refused")

	p.to.write(map[string]string{"orders.yaml": definition(p.ns, "orders", consents("take-over"))})
	p.belongsTo(p.to)
	assert.Equal(t, before, p.versions(), "what was changed by the move")
	assert.Empty(t, p.record("orders").DeleteConsent, "the consent was the old definition's")
	assert.Nil(t, p.record("orders").Removal)
	p.looksAfter(p.to, "new owner")
	p.noPodRestarted()
}

// One push moves it between two sources that are folders of one repository,
// whichever of them looks first: the second one looks seldom.
func TestOnePushMovesAClusterBetweenTwoSourcesOfARepository(t *testing.T) {
	t.Parallel()
	s := begin(t, "moves-by-push")
	s.appSecret("app-password")
	repository, err := testbed.NewRepository(s.ctx, t.TempDir(), "fleet")
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(config, []byte("sources:\n"+
		"- {name: one, git: '"+repository.URL+"', path: one}\n- {name: two, git: '"+repository.URL+"', path: two, interval: 4s}\n"), 0o600))
	moving := definition(s.ns, "orders", consents("take-over", "delete-cluster"))
	push := func(files map[string]string) { require.NoError(t, repository.Push(s.ctx, "move", files)) }
	push(map[string]string{"one/orders.yaml": moving, "one/stays.yaml": definition(s.ns, "one"), "two/stays.yaml": definition(s.ns, "two")})
	s.start(testbed.DaemonOptions{Args: []string{"--config", config, "--interval", "300ms", "--namespace", s.ns, "--look-interval", "1s",
		"--removal-delay", "3s", "--git-mirror", t.TempDir()}})
	for _, cluster := range []string{"orders", "one", "two"} {
		s.done(cluster)
	}
	before := s.versions()
	to := []string{"one", "two"}
	for n := range 4 {
		from := to[n%2]
		push(map[string]string{from + "/orders.yaml": "", to[(n+1)%2] + "/orders.yaml": moving})
		s.until("it belongs to "+to[(n+1)%2], func() bool { return strings.Contains(s.record("orders").Owner, "//"+to[(n+1)%2]) })
		s.done("orders")
	}
	s.throughout("longer than the removal's delay", 4*time.Second, func() bool { return isDone(s.record("orders")) })
	assert.Equal(t, before, s.versions(), "what was changed by the moves")
	assert.False(t, s.eventOf("orders", "Orphaned"), "it was nobody's in between")
	s.noPodRestarted()
}
