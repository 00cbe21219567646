package cratedb

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

func TestDenialsAreThoseOfTheUserAndOfAllItsRoles(t *testing.T) {
	all := [][]string{
		{"system", "GRANT", "AL", "CLUSTER", ""}, {"system", "GRANT", "DDL", "CLUSTER", ""}, {"system", "GRANT", "DML", "CLUSTER", ""}, {"system", "GRANT", "DQL", "CLUSTER", ""},
	}
	for _, c := range []struct {
		name       string
		privileges [][]string
		roles      map[string][]string
		want       []model.Denial
	}{
		{"all that it should have", all, nil, nil},
		{"somebody else is denied", append(all, []string{"ada", "DENY", "DQL", "SCHEMA", "s"}), nil, nil},
		{"a role that it does not have", append(all, []string{"r", "DENY", "DQL", "SCHEMA", "s"}), map[string][]string{"ada": {"r"}}, nil},
		{"a role of a role, which has the first again", append(all, []string{"r", "DENY", "DQL", "SCHEMA", "s"}), map[string][]string{"system": {"q"}, "q": {"r"}, "r": {"q"}},
			[]model.Denial{{Grantee: "r", Privilege: "DQL", Class: "SCHEMA", Ident: "s"}}},
		{"one is missing", all[:3], nil, []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "CLUSTER", Lacks: true}}},
		{"one is missing on the cluster only", append(all[:3:3], []string{"system", "GRANT", "DQL", "SCHEMA", "s"}), nil, []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "CLUSTER", Lacks: true}}},
		{"one comes from a role", append(all[:3:3], []string{"r", "GRANT", "DQL", "CLUSTER", ""}), map[string][]string{"system": {"r"}}, nil},
		{"in one order, however CrateDB lists them", append(all, []string{"system", "DENY", "DQL", "TABLE", "s.t"}, []string{"system", "DENY", "DQL", "SCHEMA", "s"}, []string{"system", "DENY", "DML", "SCHEMA", "s"}), nil, []model.Denial{
			{Grantee: "system", Privilege: "DML", Class: "SCHEMA", Ident: "s"}, {Grantee: "system", Privilege: "DQL", Class: "SCHEMA", Ident: "s"}, {Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "s.t"},
		}},
		{"a word that is not known", append(all, []string{"system", "MASK", "DQL", "TABLE", "s.t"}), nil, []model.Denial{{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: "s.t"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, denialsOf("system", c.privileges, c.roles))
		})
	}
}
