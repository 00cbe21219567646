package guard

import (
	"fmt"

	"stevedore.dev/stevedore/render/definition"
)

// What a build may read, in bytes, when each base counts as often as it is
// named: twenty folders that each name the one before under two prefixes are a
// million copies, and kustomize makes them all. The largest of real trees, a
// kustomization of a thousand clusters, is a tenth of it.
const (
	maxBuildWeight = 64 << 20
	maxTreeWeight  = 256 << 20
	// unitWeight is what a kustomization costs that has nothing in it.
	unitWeight = 4 << 10
)

// weigh gives what a kustomization makes kustomize read, at most limit+1.
func (w *walker) weigh(dir string, known map[string]int64, limit int64) int64 {
	if weight, ok := known[dir]; ok {
		return weight // 0 inside of a circle, which is refused elsewhere
	}
	u := w.units[dir]
	if u == nil {
		return 0
	}
	known[dir] = 0
	weight := unitWeight + u.bytes
	for _, need := range u.needs {
		weight = min(weight+w.weigh(need, known, limit), limit+1)
	}
	known[dir] = weight
	return weight
}

// overweight refuses builds that multiply what they read, and those that are
// too much for one tree together.
func (w *walker) overweight(builds []Build) {
	known := map[string]int64{}
	var all int64
	for i := range builds {
		b := &builds[i]
		if !b.Kustomization || len(w.units[b.Dir].files) == 0 {
			continue
		}
		weight := w.weigh(b.Dir, known, maxBuildWeight)
		message := ""
		if all += weight; weight > maxBuildWeight {
			message = fmt.Sprintf("makes kustomize read more than %d MiB, each base as often as it is named: split it", maxBuildWeight>>20)
		} else if all > maxTreeWeight {
			message = fmt.Sprintf("and those before it make kustomize read more than %d MiB, each base as often as it is named: use a smaller folder", maxTreeWeight>>20)
		}
		if message != "" {
			b.Problems = append(b.Problems, definition.Problem{File: w.units[b.Dir].files[0], Message: message})
		}
	}
}
