package simulation

import (
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// Digest runs a schedule and hashes each decision of its daemons without its words. Two
// versions of the code with the same digest over many schedules decide the same: what moves
// or renames code may change nothing else.
func Digest(s Schedule) (uint64, Result) {
	sum := fnv.New64a()
	result := run(s, nil, nil, sum)
	return sum.Sum64(), result
}

// digests adds a decision to a digest. A message is for people: its words may change.
func digests(to hash.Hash, d *model.Decision) {
	bare := *d
	bare.Waits, bare.Refusals = withoutWords(d.Waits), withoutWords(d.Refusals)
	bare.Record.Shown = model.Shown{}
	bare.Reports = slices.Clone(d.Reports)
	for i := range bare.Reports {
		bare.Reports[i].Message = ""
	}
	if err := json.NewEncoder(to).Encode(&bare); err != nil {
		panic(fmt.Sprintf("a decision cannot be encoded: %v", err))
	}
}

func withoutWords(reasons []model.Reason) []model.Reason {
	bare := slices.Clone(reasons)
	for i := range bare {
		bare[i].Message = ""
	}
	return bare
}
