package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

func TestASecretThatNodesHaveReadSaysWhatItNeedsWhenItChanges(t *testing.T) {
	s := made(t)
	s.d.References = []model.Reference{{Secret: "tls", What: []string{"spec.cluster.ssl.keystore"}}}
	s.o.Secrets = append(s.o.Secrets, model.Secret{Name: "tls", Exists: true, Version: model.SecretVersion{UID: "u", ResourceVersion: "1"}})
	tls := &s.o.Secrets[len(s.o.Secrets)-1]
	next := func() model.Decision {
		s.o.At = s.o.At.Add(time.Second)
		s.o.Database.At = s.o.At
		d := s.decide()
		s.r = d.Record
		return d
	}
	for range 2 {
		assert.NotContains(t, reasons(next().Waits), "secret-changed", "how it was when it was first seen is not known")
	}
	require.Len(t, s.r.References, 1)

	tls.Version.ResourceVersion = "2"
	s.o.At = s.o.At.Add(time.Minute)
	d := next()
	require.Contains(t, reasons(d.Waits), "secret-changed")
	assert.Len(t, d.Reports, 1)
	assert.Equal(t, model.Done, d.Verdict, "nothing waits for it")
	assert.Empty(t, d.Actions(), "and nothing is restarted by itself")
	assert.Empty(t, next().Reports, "it is told once")

	gone := *tls
	tls.Exists = false
	next()
	*tls = gone
	assert.Contains(t, reasons(next().Waits), "secret-changed", "a Secret that is away for a moment is the same one")

	s.o.Pods[0].Started = s.o.At
	assert.Contains(t, reasons(next().Waits), "secret-changed", "two have not started since")
	for i := range s.o.Pods {
		s.o.Pods[i].Started = s.o.At
	}
	assert.NotContains(t, reasons(next().Waits), "secret-changed")
	assert.Zero(t, s.r.References[0].Changed)
}
