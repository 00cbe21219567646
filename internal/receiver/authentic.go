package receiver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// signatures are the headers that carry an HMAC-SHA256 of the body in hex, with
// the prefix sha256= or without.
var signatures = []string{
	"X-Hub-Signature-256", // GitHub, and what speaks like it
	"X-Gitea-Signature",   // Gitea
	"X-Forgejo-Signature", // Forgejo
	"X-Signature",         // any sender
}

// tokenHeader is GitLab's: the secret itself.
const tokenHeader = "X-Gitlab-Token"

// Sign gives the value of X-Signature for a body.
func Sign(body, secret []byte) string {
	return "sha256=" + hex.EncodeToString(sum(body, secret))
}

func sum(body, secret []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return mac.Sum(nil)
}

// authentic makes the right signature in any case and compares in constant time,
// so that a sender learns nothing from how long it takes.
func authentic(header http.Header, body, secret []byte) bool {
	want := sum(body, secret)
	found := 0
	for _, name := range signatures {
		given, err := hex.DecodeString(strings.TrimPrefix(header.Get(name), "sha256="))
		if err != nil {
			continue
		}
		found |= subtle.ConstantTimeCompare(given, want)
	}
	// Hashed, so that the comparison does not tell the length.
	given, right := sha256.Sum256([]byte(header.Get(tokenHeader))), sha256.Sum256(secret)
	found |= subtle.ConstantTimeCompare(given[:], right[:])
	return found == 1
}

// minSecret keeps a secret from being guessed at the rate that senders may ask.
const minSecret = 16

// secretAge is how long a secret is taken from memory: each request that is not
// authentic would otherwise be one to the API server.
const secretAge = 10 * time.Second

// Cached reads a secret at most every ten seconds, so that it may be rotated.
// White space around it is cut off, and one that is too short is refused.
func Cached(read func(ctx context.Context) ([]byte, error), now func() time.Time) func(ctx context.Context) ([]byte, error) {
	if now == nil {
		now = time.Now
	}
	var mu sync.Mutex
	var secret []byte
	var failed error
	var at time.Time
	return func(ctx context.Context) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if !at.IsZero() && now().Sub(at) < secretAge {
			return secret, failed
		}
		// Others wait for this one, so it does not end with its sender.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		secret, failed = read(ctx)
		secret = bytes.TrimSpace(secret)
		at = now()
		switch {
		case failed != nil:
			secret, failed = nil, fmt.Errorf("reading the receiver's secret: %w", failed)
		case len(secret) < minSecret:
			secret, failed = nil, errors.New("the receiver's secret is shorter than 16 characters: make another, as with openssl rand -hex 32")
		}
		return secret, failed
	}
}
