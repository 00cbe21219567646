package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

var verbsOfClusters = []string{"pause", "resume", "abort", "restart", "release"}

// A mistyped namespace looked like success to a script: nothing was found, exit code 0.
func TestAllOfANamespaceWithoutAClusterIsAnError(t *testing.T) {
	api := newAPIServer(t, "prod", "empty")
	orders := record.Cluster{Namespace: "prod", Name: "orders"}
	api.record(orders, model.Record{})
	for _, verb := range verbsOfClusters {
		for _, c := range []struct{ namespace, says string }{
			{"typo", "namespace typo does not exist"},
			{"empty", "no cluster is recorded in namespace empty: check -n"},
		} {
			t.Run(verb+" "+c.namespace, func(t *testing.T) {
				end := stevedore(t, verb, "--all", "-n", c.namespace)
				assert.Equal(t, exitError, end.code)
				assert.Contains(t, end.err, c.says)
				assert.Empty(t, end.out)
			})
		}
	}
	assert.Empty(t, api.commands(orders), "nothing was asked of another namespace's cluster")
}

// A watch of a namespace that is not there waited without a word.
func TestStatusOfAMistypedNamespaceIsAnError(t *testing.T) {
	newAPIServer(t, "prod")
	for _, args := range [][]string{{"-n", "typo"}, {"-n", "typo", "--watch"}, {"typo/orders"}, {"typo/orders", "--watch"}, {"typo/orders", "-o", "json"}} {
		end := stevedore(t, append([]string{"status"}, args...)...)
		assert.Equal(t, exitError, end.code, args)
		assert.Contains(t, end.err, "namespace typo does not exist", args)
	}
}

func TestAllNamespacesWithoutAClusterHaveNothingToDo(t *testing.T) {
	newAPIServer(t, "prod")
	end := stevedore(t, "release", "--all", "-A")
	assert.Zero(t, end.code, end.err)
	assert.Equal(t, "no clusters are recorded in any namespace: there is nothing to release\n", end.out)
}

func TestACommandReachesTheClustersThatItNamesAndNoOther(t *testing.T) {
	orders, metrics, next := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "prod", Name: "metrics"}, record.Cluster{Namespace: "test", Name: "orders"}
	every := []record.Cluster{orders, metrics, next}
	for _, c := range []struct {
		name string
		args []string
		want []record.Cluster
		says string
	}{
		{"a name, in the context's namespace", []string{"orders"}, []record.Cluster{orders}, ""},
		{"a name, in -n", []string{"orders", "-n", "test"}, []record.Cluster{next}, ""},
		{"a namespace and a name", []string{"test/orders"}, []record.Cluster{next}, ""},
		{"the same twice", []string{"test/orders", "-n", "test"}, []record.Cluster{next}, ""},
		{"all of the context's namespace", []string{"--all"}, []record.Cluster{orders, metrics}, ""},
		{"all of a namespace", []string{"--all", "-n", "test"}, []record.Cluster{next}, ""},
		{"all of all", []string{"--all", "-A"}, every, ""},
		{"two namespaces", []string{"test/orders", "-n", "prod"}, nil, "test/orders is in namespace test, and -n says prod: leave -n out"},
		{"a name that is empty, of a script's variable", []string{""}, nil, `"" names no cluster: write NAMESPACE/NAME`},
		{"half a name", []string{"test/"}, nil, `"test/" names no cluster`},
		{"too many parts", []string{"a/b/c"}, nil, `"a/b/c" names no cluster`},
		{"one and all", []string{"orders", "--all"}, nil, "either one CLUSTER or --all"},
		{"all namespaces without --all", []string{"-A"}, nil, "--all-namespaces goes with --all"},
		{"none", nil, nil, "CLUSTER (or --all) is missing"},
		{"no such cluster", []string{"prod/typo"}, nil, "there is no record of a cluster prod/typo"},
		{"no such namespace", []string{"typo/orders"}, nil, "namespace typo does not exist"},
	} {
		for verb, key := range map[string]string{
			"pause": names.PausedAnnotation, "resume": names.PausedAnnotation, "abort": names.AbortAnnotation,
			"restart": names.RestartedAtAnnotation, "release": names.ReleasedAnnotation,
		} {
			t.Run(verb+" "+c.name, func(t *testing.T) {
				api := newAPIServer(t, "prod", "test")
				for _, cluster := range every {
					api.record(cluster, model.Record{})
				}
				end := stevedore(t, append([]string{verb}, c.args...)...)
				if c.says != "" {
					assert.Equal(t, exitError, end.code)
					assert.Contains(t, end.err, c.says)
				} else {
					assert.Zero(t, end.code, end.err)
				}
				var reached []record.Cluster
				for _, cluster := range every {
					if api.commands(cluster)[key] != "" {
						reached = append(reached, cluster)
						assert.Contains(t, end.out, "cluster "+cluster.String()+": ")
					}
				}
				assert.Equal(t, c.want, reached)
			})
		}
	}
}

func TestAnAbortOfNothingSaysSo(t *testing.T) {
	for _, c := range []struct {
		name string
		rec  model.Record
		says string
	}{
		{"nothing is in progress", model.Record{}, "from now on nothing of this definition begins, until `stevedore resume prod/orders` or until the definition changes; nothing was in progress that had to stop"},
		{"a grow is", model.Record{Operation: &model.Operation{Kind: model.OperationGrow}}, "is to be aborted"},
		{"a restore is", model.Record{Backups: &model.Backups{Fetch: &model.Fetch{}}}, "is to be aborted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newAPIServer(t, "prod")
			api.record(record.Cluster{Namespace: "prod", Name: "orders"}, c.rec)
			assert.Contains(t, stevedore(t, "abort", "orders").out, "cluster prod/orders: "+c.says)
		})
	}
}

func TestACommandThatNoDaemonCarriesOutSaysSo(t *testing.T) {
	api := newAPIServer(t, "prod")
	api.record(record.Cluster{Namespace: "prod", Name: "orders"}, model.Record{})
	api.lease(coordinationv1.LeaseSpec{
		HolderIdentity: new("stevedore-1"), LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now()},
	})
	end := stevedore(t, "pause", "orders")
	assert.Zero(t, end.code)
	assert.Empty(t, end.err)
	api.lease(coordinationv1.LeaseSpec{
		HolderIdentity: new("stevedore-1"), LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-time.Hour)},
	})
	end = stevedore(t, "pause", "orders")
	assert.Zero(t, end.code)
	assert.Contains(t, end.err, "NOBODY LOOKS AFTER prod/orders: the daemon that held Lease ")
}

// One record that cannot be read kept the others from being released.
func TestAClusterThatCannotTakeACommandKeepsItFromNoOther(t *testing.T) {
	api := newAPIServer(t, "prod")
	bad, good := record.Cluster{Namespace: "prod", Name: "a-bad"}, record.Cluster{Namespace: "prod", Name: "good"}
	api.record(bad, model.Record{})
	api.record(good, model.Record{})
	api.damage(bad)
	end := stevedore(t, "release", "--all")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "stevedore-a-bad-operation")
	assert.Contains(t, end.out, "cluster prod/good: released")
	assert.NotEmpty(t, api.commands(good)[names.ReleasedAnnotation])
}

// One that no daemon releases kept the others, which were released, from being told.
func TestReleaseWaitsForEachClusterThoughOneIsReleasedByNobody(t *testing.T) {
	api := newAPIServer(t, "prod")
	api.record(record.Cluster{Namespace: "prod", Name: "a-nobodys"}, model.Record{})
	released := model.Record{SchemaVersion: model.RecordVersion}
	released.Command.Commands.Released = "true"
	released.Shown.Verdict, released.Shown.Reasons = model.Wait.String(), []model.ShownReason{{Name: gates.ReleasedRule.Name}}
	api.record(record.Cluster{Namespace: "prod", Name: "good"}, released)
	end := stevedore(t, "release", "--all", "--wait", "--timeout", "1s")
	assert.Equal(t, exitError, end.code)
	assert.Contains(t, end.err, "cluster prod/a-nobodys was told to be released, and that is not done in time (no daemon has seen it")
	assert.Contains(t, end.err, "NOBODY LOOKS AFTER")
	assert.Contains(t, end.out, "cluster prod/good: released, and nothing of it is held any more; `stevedore resume` ends that, and so does a push that changes its definition")
}

func TestWhereEveryClusterRefusesTheCommandItIsNotSaidThatThereAreNone(t *testing.T) {
	api := newAPIServer(t, "prod")
	bad := record.Cluster{Namespace: "prod", Name: "a-bad"}
	api.record(bad, model.Record{})
	api.damage(bad)
	end := stevedore(t, "release", "--all")
	assert.Equal(t, exitError, end.code)
	assert.NotContains(t, end.out, "no clusters are recorded")
}
