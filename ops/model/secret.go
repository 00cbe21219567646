package model

import (
	"slices"
	"time"
)

// SecretChange is a Secret whose content is being brought into the database.
type SecretChange struct {
	// Pending is the version that is about to be set.
	Pending SecretVersion `json:"pending"`
	// Reported is what was reported of it; "" for nothing.
	Reported PasswordChange `json:"told,omitempty"`
}

// Reference is a Secret that nodes read when they start.
type Reference struct {
	// Secret is its name, What the fields of the definition that name it,
	// "spec.cluster.ssl.keystore".
	Secret string
	What   []string
}

// RecordedReference is how a Secret was when it was last looked at.
type RecordedReference struct {
	Secret  string        `json:"secret"`
	Version SecretVersion `json:"version"`
	// Changed is when another version was first seen; zero while every pod has
	// started with the one that it is.
	Changed time.Time `json:"changed"`
}

// LicenceName is the Secret and key of a licence as one text; "" without a licence.
func LicenceName(k *SecretKey) string {
	if k == nil {
		return ""
	}
	return k.Name + "/" + k.Key
}

// SystemChange is a password of `system` that the database does not take.
type SystemChange struct {
	// Refused is the Secret's version, Since when it was refused first.
	Refused SecretVersion `json:"refused"`
	Since   time.Time     `json:"since"`
	// Reported is what was reported of a change.
	Reported PasswordChange `json:"told,omitempty"`
}

func (c SystemChange) equal(o SystemChange) bool {
	return c.Refused == o.Refused && c.Since.Equal(o.Since) && c.Reported == o.Reported
}

// Has reports whether the Secret exists and has a value under this key.
func (s *Secret) Has(key string) bool { return s.Exists && slices.Contains(s.Keys, key) }
