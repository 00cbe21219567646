// Package password knows which passwords CrateDB takes and a person can type.
package password

import (
	"bytes"
	"unicode/utf8"
)

// block is how many bytes of a key HMAC-SHA-512 takes as they are: of a longer one it
// takes the hash.
const block = 128

// Unusable says why a value is not to become a password; "" where it may. The words hold
// nothing of the value.
func Unusable(value []byte) string {
	switch {
	case !utf8.Valid(value):
		return "it is not UTF-8 text, and CrateDB takes every byte that is none for the same character"
	case bytes.IndexByte(value, 0) >= 0:
		return "it has a NUL character in it, at which the PostgreSQL protocol ends a password"
	case bytes.HasSuffix(value, []byte("\n")), bytes.HasSuffix(value, []byte("\r")):
		return "it ends in a line break, as a file does that a Secret is made from, and nobody can type that"
	case TooLong(string(value)):
		return "it is longer than CrateDB's login over the PostgreSQL protocol takes, which is 127 characters of ASCII and fewer of others"
	}
	return ""
}

// TooLong is true of a password that CrateDB takes from CREATE USER and then refuses over
// the PostgreSQL protocol (run on 6.3.7 and 6.4.3). It reads as many characters as
// the message has bytes, the closing NUL included (PostgresWireProtocol.readCharArray): the
// password, and NULs for the rest. HMAC pads its key with zeros, so that these make
// no difference while all of it is no longer than a block.
func TooLong(password string) bool {
	units := 0 // of UTF-16, as Java counts characters
	for _, r := range password {
		units++
		if r > 0xffff {
			units++
		}
	}
	return 2*len(password)+1-units > block
}
