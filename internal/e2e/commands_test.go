package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// handsOff changes something by hand and requires it to stay so.
func (s *situation) handsOff(why string) {
	s.Helper()
	s.patch("services", "crate-orders", `{"metadata":{"labels":{"app.kubernetes.io/part-of":"by-hand"}}}`)
	s.throughout(why+": hands off", time.Second, func() bool {
		return s.service("crate-orders").Labels[names.PartOfLabel] == "by-hand"
	})
}

func (s *situation) handsOn(why string) {
	s.Helper()
	s.until(why+": it is corrected again", func() bool {
		return s.service("crate-orders").Labels[names.PartOfLabel] == "cratedb"
	})
}

func TestPauseResumeAndRelease(t *testing.T) {
	t.Parallel()
	s := begin(t, "commands")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.marked("one")})
	s.run()
	s.done("orders")
	say := func(verb string) {
		s.Helper()
		out, stderr, code := s.verb(verb, "-n", s.ns, "orders")
		require.Zero(s, code, stderr)
		assert.Contains(s, out, verb)
	}
	waits := func(gate string) {
		s.Helper()
		s.until("it says "+gate, func() bool { return slices.Contains(s.reasons("orders"), gate) })
	}

	// By command, until the next command.
	say("pause")
	waits("paused")
	s.handsOff("paused by command")
	say("resume")
	s.handsOn("resumed")
	s.done("orders")

	// By command, until the definition changes.
	say("pause")
	waits("paused")
	s.handsOff("paused by command")
	s.write(map[string]string{"orders.yaml": s.marked("two")})
	s.handsOn("changed")
	s.until("the change is applied", func() bool { return s.mark() == "two" })
	s.done("orders")

	// By annotation, which a command overrides.
	paused := definition(s.ns, "orders", with("metadata.annotations", map[string]any{names.PausedAnnotation: "true"}),
		with("spec.cluster.service.annotations", map[string]any{"example.com/mark": "three"}))
	s.write(map[string]string{"orders.yaml": paused})
	waits("paused")
	s.handsOff("paused by annotation")
	assert.Equal(t, "two", s.mark())
	say("resume")
	s.handsOn("resumed against the annotation")
	s.until("the change is applied", func() bool { return s.mark() == "three" })
	// Another mark: a release is for the definition that is there when it is asked for.
	s.write(map[string]string{"orders.yaml": s.marked("four")})
	s.until("the definition without the annotation is applied", func() bool { return s.mark() == "four" })
	s.done("orders")

	// Released, until the definition changes.
	say("release")
	waits("released")
	s.handsOff("released")
	s.write(map[string]string{"orders.yaml": s.marked("five")})
	s.handsOn("changed")
	s.done("orders")
	s.noPodRestarted()

	_, stderr, code := s.verb("pause", "-n", s.ns, "nothing")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "there is no record of a cluster "+s.ns+"/nothing")
}

func TestStatusForMachines(t *testing.T) {
	t.Parallel()
	s := begin(t, "status")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.run()
	s.done("orders")
	type status struct {
		SchemaVersion                              int
		Namespace, Name, State, ClusterID, Version string
		Groups                                     []struct {
			Group    string
			Replicas int
		}
		Reasons []struct{ Kind, Name, Message string }
	}
	for format, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	} {
		out, stderr, code := s.verb("status", "-n", s.ns, "-o", format)
		require.Zero(t, code, stderr)
		var all []status
		require.NoError(t, decode([]byte(out), &all), out)
		require.Len(t, all, 1)
		assert.Equal(t, "done", all[0].State, format)
		assert.Equal(t, s.record("orders").ClusterID, all[0].ClusterID, format)
		assert.Equal(t, "6.4.3", all[0].Version, format)
	}
	_, stderr, code := s.verb("status", "-n", s.ns, "nothing")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "no record of a cluster "+s.ns+"/nothing")
}

func TestDiffTellsChangesFromErrors(t *testing.T) {
	t.Parallel()
	s := begin(t, "diff")
	s.appSecret("app-password")
	secret := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: travels, namespace: " + s.ns + "}\nstringData: {key: " + value + "}\n"
	}
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders"), "secret.yaml": secret("the-old-value")})

	out, stderr, code := s.verb("diff", s.dir)
	assert.Equal(t, 2, code, stderr)
	assert.Contains(t, out, "+ StatefulSet crate-data-hot-orders (added")
	assert.NotContains(t, out+stderr, "the-old-value")

	s.run()
	s.done("orders")
	out, stderr, code = s.verb("diff", s.dir)
	assert.Equal(t, 0, code, "in sync: %s%s", out, stderr)
	assert.Contains(t, out, "nothing differs")

	branch := t.TempDir()
	there := s.aside(s.ns, branch)
	there.write(map[string]string{
		"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3), with("spec.cluster.service.annotations", map[string]any{"example.com/a": "b"})),
		"secret.yaml": secret("the-new-value"),
	})
	out, stderr, code = s.verb("diff", branch)
	assert.Equal(t, 2, code, stderr)
	assert.Contains(t, out, "spec.replicas: 1 -> 3")
	assert.Contains(t, out, "example.com/a")
	assert.Contains(t, out, "Secret travels")
	var diffs []struct {
		SchemaVersion   int
		Namespace, Name string
		Objects         []struct{ Kind, Name, Change string }
	}
	machine, stderr, code := s.verb("diff", branch, "-o", "json")
	assert.Equal(t, 2, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(machine), &diffs), machine)
	require.Len(t, diffs, 1)
	assert.Equal(t, "orders", diffs[0].Name)
	for _, text := range []string{out, machine, stderr} {
		assert.NotContains(t, text, "the-old-value")
		assert.NotContains(t, text, "the-new-value")
	}
	// It wrote nothing.
	assert.EqualValues(t, 1, *s.set("crate-data-hot-orders").Spec.Replicas)

	there.write(map[string]string{"orders.yaml": "kind: CrateDB\n"})
	_, stderr, code = s.verb("diff", branch)
	assert.Equal(t, 1, code, stderr)
	assert.Contains(t, stderr, "orders.yaml:1")
}

func TestValidateAndRenderNeedNoCluster(t *testing.T) {
	t.Parallel()
	s := beginBare(t, "offline")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	out, _, code := s.verb("validate", s.dir, "--kubeconfig-is-not-read")
	assert.Equal(t, 1, code, out)
	out, stderr, code := s.verb("validate", s.dir)
	assert.Zero(t, code, stderr)
	assert.Contains(t, out, s.ns+"/orders: good")

	out, stderr, code = s.verb("render", s.dir, "-o", "json")
	assert.Zero(t, code, stderr)
	var objects []struct{ Kind string }
	require.NoError(t, json.Unmarshal([]byte(out), &objects))
	assert.True(t, slices.ContainsFunc(objects, func(o struct{ Kind string }) bool { return o.Kind == "StatefulSet" }))

	text := strings.Replace(definition(s.ns, "orders"), "heapRatio", "heapratio", 1)
	text = strings.Replace(text, "replicas: 1", "replicas: -1", 1)
	s.write(map[string]string{"orders.yaml": text})
	for _, verb := range []string{"validate", "render"} {
		_, stderr, code = s.verb(verb, s.dir)
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "heapratio", "%s: every mistake at once", verb)
		assert.Contains(t, stderr, "replicas", "%s: every mistake at once", verb)
		assert.Regexp(t, `orders\.yaml:\d+:\d+: `, stderr)
	}
}

func TestRunOnceEndsWithWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	s := begin(t, "once")
	s.appSecret("app-password")
	ends := func(code int) *testbed.Daemon {
		s.Helper()
		daemon := s.run("--once")
		s.until("it ends by itself", func() bool { return !daemon.Running() })
		assert.Equal(s, code, daemon.ExitCode())
		return daemon
	}
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	ends(0)
	assert.True(t, s.record("orders").Bootstrap.Done)
	_, err := s.query("orders", "app", appPassword, "SELECT 1")
	assert.NoError(t, err)

	ends(0) // nothing to do

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2))})
	ends(0)
	assert.EqualValues(t, 2, *s.set("crate-data-hot-orders").Spec.Replicas)

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	assert.Contains(t, ends(1).Log(), "master-quorum")

	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2)), "broken.yaml": "kind: CrateDB\n"})
	assert.Contains(t, ends(1).Log(), "broken.yaml:1")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "broken.yaml")))
	ends(0)
	s.noPodRestarted()
}
