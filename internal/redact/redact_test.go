package redact

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestATextHasNoSecret(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"the URI of a COPY", `cannot read s3://AKIA12:sEcr3t@bucket/a.json`, `cannot read s3://***@bucket/a.json`},
		{"a secret that nobody has escaped", `'s3://AKIA12:sE/cr@3t@bucket/a.json' failed`, `'s3://***@bucket/a.json' failed`},
		{"two of them", `from "s3://A:b@x/1" and "s3://C:d@y/2"`, `from "s3://***@x/1" and "s3://***@y/2"`},
		{"a password alone", `redis://:hunter2@host`, `redis://***@host`},
		{"an address that is signed", `https://x.blob.core.windows.net/c/a.json?sv=2020&sig=aB%2Fc&se=1: 403`, `https://x.blob.core.windows.net/c/a.json?sv=2020&sig=***&se=1: 403`},
		{"a setting of a repository", `access_key=AKIA12, secret_key = 'sEcr3t', bucket=b`, `access_key=***, secret_key = '***', bucket=b`},
		{"what an object store sends back", `{"AWSAccessKeyId": "AKIA12"}`, `{"AWSAccessKeyId": "***"}`},
		{"an image with a port and a digest", `docker://registry:5000/crate@sha256:ab`, `docker://registry:5000/crate@sha256:ab`},
		{"an address without a secret", `https://repo.example.com:8080/a`, `https://repo.example.com:8080/a`},
		{"a user alone is no secret", `ssh://git@example.com/a`, `ssh://git@example.com/a`},
	} {
		assert.Equal(t, c.want, Text(c.text), c.name)
	}
}

func TestAKnownSecretIsNotInAText(t *testing.T) {
	assert.Equal(t, "*** and *** and ab", Values("abcdef and it''s and ab", "abc", "abcdef", "it's", "ab"))
}
