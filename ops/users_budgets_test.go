package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

func secret(s *situation, name string) *model.Secret {
	return &s.o.Secrets[slices.IndexFunc(s.o.Secrets, func(x model.Secret) bool { return x.Name == name })]
}

func TestUsersAfterBootstrap(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(*situation)
		action         model.ActionKind
		refuse, waits_ string
	}{
		{"the Secret changed: look whether the password did", func(s *situation) { secret(s, "ada").Version.ResourceVersion = "99" }, model.ActionVerifyUser, "", ""},
		{"the password changed", func(s *situation) {
			secret(s, "ada").Version.ResourceVersion = "99"
			s.r.Bootstrap.Users = []model.RecordedUser{{Name: "ada", Secret: s.r.Bootstrap.Users[0].Secret, Refused: secret(s, "ada").Version}}
		}, model.ActionChangePassword, "", ""},
		{"a user is gone from the definition", func(s *situation) { s.d.Users = nil }, "", "user-removal-not-supported", ""},
		{"a user is gone from the definition, and somebody dropped it", func(s *situation) {
			s.d.Users, s.o.Database.Users = nil, []string{"system"}
		}, "", "", ""},
		{"a user is gone from the definition, before recovery", func(s *situation) {
			s.d.Users, s.o.Database.Users, s.o.Database.Recovered = nil, []string{"crate"}, model.No
		}, "", "user-removal-not-supported", ""},
		{"somebody dropped the user", func(s *situation) { s.o.Database.Users = []string{"system"} }, model.ActionSetUser, "", ""},
		{"no user is seen before recovery", func(s *situation) {
			s.o.Database.Users, s.o.Database.Recovered = []string{"crate"}, model.No
		}, "", "", ""},
		{"the user's Secret is gone", func(s *situation) { *secret(s, "ada") = model.Secret{Name: "ada"} }, "", "", "secret-missing"},
		{"the system user's Secret is gone", func(s *situation) { *secret(s, "user-system-c") = model.Secret{Name: "user-system-c"} }, "", "system-password-lost", ""},
		{"the system user's Secret has no key", func(s *situation) { secret(s, "user-system-c").Keys = nil }, "", "system-password-lost", ""},
		{"the Secret lost its label", func(s *situation) { secret(s, "ada").Labelled = false }, model.ActionLabelSecret, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			d := s.decide()
			if c.action == "" {
				assert.Empty(t, kinds(d))
			} else {
				assert.Equal(t, []model.ActionKind{c.action}, kinds(d))
			}
			if c.refuse != "" {
				assert.Contains(t, reasons(d.Refusals), c.refuse)
			}
			if c.waits_ != "" {
				assert.Contains(t, reasons(d.Waits), c.waits_)
			}
		})
	}
}
