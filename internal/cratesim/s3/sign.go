package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// keys sign requests by AWS's version 4.
type keys struct{ access, secret string }

// sign adds the headers of a signature to the request, whose URL has each byte in % that AWS
// does not leave as it is.
func (k keys) sign(r *http.Request, region string, body []byte, now time.Time) {
	date, sum := now.UTC().Format("20060102T150405Z"), hash(body)
	r.Header.Set("X-Amz-Date", date)
	r.Header.Set("X-Amz-Content-Sha256", sum)
	const signed = "host;x-amz-content-sha256;x-amz-date"
	request := strings.Join([]string{
		r.Method, r.URL.EscapedPath(), canonical(r.URL.Query()),
		"host:" + r.URL.Host + "\nx-amz-content-sha256:" + sum + "\nx-amz-date:" + date + "\n", signed, sum,
	}, "\n")
	scope := strings.Join([]string{date[:8], region, "s3", "aws4_request"}, "/")
	key := []byte("AWS4" + k.secret)
	for each := range strings.SplitSeq(scope, "/") {
		key = mac(key, each)
	}
	signature := mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", date, scope, hash([]byte(request))}, "\n"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.access+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(signature))
}

// canonical is a query in the order of AWS.
func canonical(query url.Values) string {
	var all []string
	for name, values := range query {
		for _, value := range values {
			all = append(all, encoded(name, false)+"="+encoded(value, false))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "&")
}

// encoded has each byte in % that AWS does not leave as it is; a path keeps its slashes.
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
