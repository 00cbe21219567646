package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
)

// keys are those that are good.
type keys struct{ Access, Secret string }

// check is the code of the error that the request gets, "" for none: its signature has to be
// that of AWS's version 4 in the header Authorization, and its body the one that was signed.
// Signed links and the signatures of single chunks are not checked.
func (k keys) check(r *http.Request) string {
	given, isV4 := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !isV4 {
		return "AccessDenied"
	}
	part := map[string]string{}
	for each := range strings.SplitSeq(given, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(each), "=")
		part[name] = value
	}
	access, scope, _ := strings.Cut(part["Credential"], "/")
	if access != k.Access {
		return "InvalidAccessKeyId"
	}
	request := strings.Join([]string{
		r.Method, encoded(r.URL.Path, true), query(r), headers(r, part["SignedHeaders"]), part["SignedHeaders"], r.Header.Get("X-Amz-Content-Sha256"),
	}, "\n")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, hash([]byte(request))}, "\n")
	key := []byte("AWS4" + k.Secret)
	for each := range strings.SplitSeq(scope, "/") {
		key = mac(key, each)
	}
	if !hmac.Equal([]byte(hex.EncodeToString(mac(key, text))), []byte(part["Signature"])) || !k.isBody(r) {
		return "SignatureDoesNotMatch"
	}
	return ""
}

// isBody reports whether the body is the one that was signed, if one was.
func (k keys) isBody(r *http.Request) bool {
	signed := r.Header.Get("X-Amz-Content-Sha256")
	if len(signed) != 2*sha256.Size {
		return true // UNSIGNED-PAYLOAD, STREAMING-…
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && hash(body) == signed
}

// query is that of the request in the order of AWS.
func query(r *http.Request) string {
	var all []string
	for name, values := range r.URL.Query() {
		for _, value := range values {
			all = append(all, encoded(name, false)+"="+encoded(value, false))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "&")
}

// headers are the signed ones, a line each and an empty one.
func headers(r *http.Request, names string) string {
	var b strings.Builder
	for name := range strings.SplitSeq(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		b.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return b.String()
}

// encoded has each byte in % that AWS does not leave as it is.
func encoded(text string, path bool) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0, path && c == '/':
			b.WriteByte(c)
		default:
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
