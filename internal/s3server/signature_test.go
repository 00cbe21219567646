package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// AWS's own examples, from its description of signature version 4 for S3.
func TestSignaturesAreThoseOfAWS(t *testing.T) {
	example := keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	const (
		empty  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		scope  = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="
		list   = scope + "host;x-amz-content-sha256;x-amz-date,Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
		ranged = scope + "host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	)
	for _, c := range []struct {
		what, target, authorization, body string
		keys                              keys
		want                              string
	}{
		{"a list", "/?prefix=J&max-keys=2", list, "", example, ""},
		{"a part of an object", "/test.txt", ranged, "", example, ""},
		{"another list", "/?prefix=K&max-keys=2", list, "", example, "SignatureDoesNotMatch"},
		{"another object", "/test.tx", ranged, "", example, "SignatureDoesNotMatch"},
		{"another body", "/test.txt", ranged, "x", example, "SignatureDoesNotMatch"},
		{"another secret key", "/test.txt", ranged, "", keys{example.Access, "x"}, "SignatureDoesNotMatch"},
		{"another access key", "/test.txt", ranged, "", keys{"AKIA", example.Secret}, "InvalidAccessKeyId"},
		{"no signature", "/test.txt", "", "", example, "AccessDenied"},
		{"one of another kind", "/test.txt", "AWS AKIAIOSFODNN7EXAMPLE:x", "", example, "AccessDenied"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://examplebucket.s3.amazonaws.com"+c.target, strings.NewReader(c.body))
		r.Header.Set("Authorization", c.authorization)
		r.Header.Set("Range", "bytes=0-9")
		r.Header.Set("X-Amz-Content-Sha256", empty)
		r.Header.Set("X-Amz-Date", "20130524T000000Z")
		if got := c.keys.check(r); got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}
