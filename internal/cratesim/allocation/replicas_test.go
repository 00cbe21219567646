package allocation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

func TestARangeOfReplicasFollowsTheNodes(t *testing.T) {
	for text, on := range map[string][3]int{"1": {1, 1, 1}, "0-1": {0, 1, 1}, "0-all": {0, 1, 3}, "2-all": {7, 7, 3}, "0-2": {0, 1, 2}} {
		r, err := allocation.ParseReplicas(text)
		assert.NoError(t, err, text)
		assert.Equal(t, on, [3]int{r.On(1, 7), r.On(2, 7), r.On(4, 7)}, "%s on 1, 2 and 4 nodes; 7 is what it was", text)
	}
	for _, text := range []string{"", "a", "-1", "1-", "1-0", "0-b", "0--1"} {
		_, err := allocation.ParseReplicas(text)
		assert.Error(t, err, text)
	}
}
