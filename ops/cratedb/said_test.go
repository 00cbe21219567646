package cratedb

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// CrateDB passes on what an object store has answered, and where: in errors, in why a snapshot lacks a shard, and in why a
// shard was not allocated.
func TestNoWordsOfCrateDBHaveWhatOpensABucket(t *testing.T) {
	const words = "Failed to read s3://AKIA12:sEcr3t@bucket/t.json: https://x.blob.core.windows.net/c?sig=sEcr3t: kept-in-a-Secret"
	const shown = "Failed to read s3://***@bucket/t.json: https://x.blob.core.windows.net/c?sig=*** ***"
	hidden := []string{"kept-in-a-Secret"}
	assert.EqualError(t, classified(&pgconn.PgError{Code: "XX000", Message: words}, hidden...), shown)
	assert.EqualError(t, classified(errors.New(words), hidden...), shown)
	var db model.Database
	explain(&db, [][]string{{"doc", "t", "", "0", "", "true", fmt.Sprintf(`[{"node_name": "n1", "explanations": [%q]}]`, words), words}}, hidden...)
	assert.Equal(t, []string{"n1: " + shown}, db.Stuck[0].Reasons)
	assert.Equal(t, shown, db.Stuck[0].Text)
	listed := listedSnapshot([]string{"r", "s", "PARTIAL", "", "[]", fmt.Sprintf("[%q]", words)}, hidden...)
	assert.Equal(t, shown, listed.Failures)
}
