package execute_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
)

// What a user had that somebody else had made is not replaced in silence.
func TestWhatIsOverwrittenOfSomebodysUserIsSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		login string // that works already; "" for none
		has   [][]string
		says  []string // nil: nothing is overwritten
		never string
	}{
		{"its password", "", [][]string{{"GRANT", "DQL", "CLUSTER", ""}}, []string{`user "ada" existed`, "Secret ada"}, "denied"},
		{"nothing: it is as it would be made", "ada/lovelace", [][]string{{"GRANT", "AL", "CLUSTER", ""}}, nil, ""},
		{"nothing: we were killed before the GRANT", "ada/lovelace", nil, nil, ""},
		{"what it was denied", "ada/lovelace", [][]string{{"DENY", "DML", "CLUSTER", ""}, {"DENY", "DDL", "CLUSTER", ""}}, []string{"it was denied DDL, DML on the whole cluster, and has all privileges now"}, "password"},
		{"what stays denied", "ada/lovelace", [][]string{{"DENY", "DQL", "SCHEMA", "secret"}}, []string{"it is denied DQL on schema secret as before"}, "password"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript("system/real")
			if c.login != "" {
				s = newScript("system/real", c.login)
			}
			s.fails["CREATE USER"] = execute.ErrUserExists
			s.replies = map[string][][][]string{"sys.privileges": {c.has}}
			r, err := execute.Run(t.Context(), userAction, s.tools())
			require.NoError(t, err)
			if c.says == nil {
				assert.Empty(t, r.Overwrote)
				return
			}
			for _, words := range c.says {
				assert.Contains(t, r.Overwrote, words)
			}
			assert.NotContains(t, r.Overwrote, "lovelace")
			if c.never != "" {
				assert.NotContains(t, r.Overwrote, c.never)
			}
		})
	}
}
