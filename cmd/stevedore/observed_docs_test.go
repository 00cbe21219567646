package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"stevedore.dev/stevedore/internal/exported"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
)

// commandsOf are the lines of shell in a section of a page.
func commandsOf(t *testing.T, page, section string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	require.True(t, found, section)
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(rest, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	return lines
}

// redirected splits a command at its >.
func redirected(t *testing.T, line string) (words []string, into string) {
	t.Helper()
	command, into, found := strings.Cut(line, " > ")
	require.True(t, found, line)
	return strings.Fields(command), into
}

// kubectlGets prints what `kubectl get configmap` prints of these objects.
func kubectlGets(t *testing.T, words []string, objects []*corev1.ConfigMap) string {
	t.Helper()
	require.Equal(t, []string{"kubectl", "get", "configmap"}, words[:3])
	var all bool
	var selector, output string
	flags := pflag.NewFlagSet("kubectl get", pflag.ContinueOnError)
	flags.BoolVarP(&all, "all-namespaces", "A", false, "")
	flags.StringVarP(&selector, "selector", "l", "", "")
	flags.StringVarP(&output, "output", "o", "", "")
	require.NoError(t, flags.Parse(words[3:]))
	require.Empty(t, flags.Args())
	require.True(t, all)
	require.Equal(t, "yaml", output)
	chosen, err := labels.Parse(selector)
	require.NoError(t, err)
	list := []*corev1.ConfigMap{}
	for _, object := range objects {
		if chosen.Matches(labels.Set(object.Labels)) {
			list = append(list, object)
		}
	}
	require.NotEqual(t, 1, len(list), "kubectl prints a List then too, and this does not")
	return kubectlYAML(t, list...)
}

// The two jobs of the manual, one after the other: what the first one exports is what the
// second one plans with.
func TestTheRecipeOfTheManualGivesAPlanNumbers(t *testing.T) {
	lines := commandsOf(t, "ci.md", "With the numbers of the database")
	require.Len(t, lines, 2)
	export, file := redirected(t, lines[0])
	diff, _ := redirected(t, lines[1])
	assert.Equal(t, exported.Command, strings.Join(export, " "), "errors advise what the manual does")

	operation := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: names.OperationConfigMap("orders")}, Data: map[string]string{names.DataKey: "{}"}}
	record.Decorate(operation, "orders", record.Operation)
	objects := []*corev1.ConfigMap{
		operation, {ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "somebody's"}},
		publishedMap(t, inProd("orders"), readingOf(4)), publishedMap(t, inProd("metrics"), readingOf(4)),
	}
	r := newRepository(t)
	r.commit(map[string]string{"clusters/orders.yaml": orders("orders", "4"), "clusters/metrics.yaml": orders("metrics", "4")})
	r.commit(map[string]string{"clusters/orders.yaml": orders("orders", "3")})
	t.Chdir(r.dir)
	put(t, r.dir, map[string]string{file: kubectlGets(t, export, objects)})

	require.Equal(t, "stevedore", diff[0])
	end := stevedore(t, append(diff[1:], "--fail-on", "unknown")...)
	assert.Equal(t, exitChanges, end.code, "all is known: %s%s", end.out, end.err)
	assert.Contains(t, end.out, "drain data-hot-3: 2 shards, 20 GiB move, fits: the nodes that stay are at 56 % of the low watermark after")
	assert.Contains(t, end.out, "from "+file)
	assert.Empty(t, end.err)
}
