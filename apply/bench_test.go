package apply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply/compare"
)

func BenchmarkInSync(b *testing.B) {
	w := newWorld(b)
	for _, bench := range []struct {
		name string
		u    *unstructured.Unstructured
	}{
		{"StatefulSet", w.statefulSet()},
		{"ConfigMap", w.configMap("c", "a", "1")},
		{"Secret", w.object(`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}`)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			w.mustSync(bench.u)
			b.ReportAllocs()
			for b.Loop() {
				if ok, why := w.applier.InSync("one", bench.u); !ok {
					b.Fatal(why)
				}
			}
		})
	}
}

// BenchmarkFirstLook is what a restart costs an object: the prediction of its
// fields.
func BenchmarkFirstLook(b *testing.B) {
	w := newWorld(b)
	u := w.statefulSet()
	w.mustSync(u)
	w.settled()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w.freshApplier()
		b.StartTimer()
		if ok, why := w.applier.InSync("one", u); !ok {
			b.Fatal(why)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(statefulSetYAML), &u.Object); err != nil {
		b.Fatal(err)
	}
	live := with(u, int64(5), "spec", "replicas")
	b.ReportAllocs()
	for b.Loop() {
		if len(compare.Diff(u, live, nil)) != 1 {
			b.Fatal("not one difference")
		}
	}
}
