// Package keystore reads and writes Java keystores in the format JKS, which
// CrateDB takes and the JDK's keytool makes with -storetype JKS: for the CrateDB
// simulator, and for tests that give the same file to it and to a real CrateDB.
package keystore

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the format's own
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unicode/utf16"
)

const (
	magic      = 0xfeedfeed
	version    = 2
	entryKey   = 1
	entryTrust = 2
	// whitener is hashed between the password and the content.
	whitener = "Mighty Aphrodite"
	// maxLength bounds every length in a file that may be damaged.
	maxLength = 1 << 20
)

// protection is Sun's algorithm for a private key in a keystore.
var protection = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1}

// ErrPassword: the keystore, or the key in it, is not of this password, or is
// damaged; the format cannot tell.
var ErrPassword = errors.New("the password is wrong, or the keystore is damaged")

// protected is PKCS #8's EncryptedPrivateKeyInfo.
type protected struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

// Encode makes a keystore with one private key and its chain, the leaf first.
func Encode(certificate tls.Certificate, alias, storePassword, keyPassword string, made time.Time) ([]byte, error) {
	plain, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encoding a keystore: %w", err)
	}
	salt := make([]byte, sha1.Size)
	if _, err := rand.Read(salt); err != nil {
		return nil, fmt.Errorf("encoding a keystore: %w", err)
	}
	password := wide(keyPassword)
	data := append(bytes.Clone(salt), mixed(plain, salt, password)...)
	check := sha1.Sum(append(bytes.Clone(password), plain...))
	key, err := asn1.Marshal(protected{
		Algorithm: pkix.AlgorithmIdentifier{Algorithm: protection, Parameters: asn1.NullRawValue},
		Data:      append(data, check[:]...),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a keystore: %w", err)
	}
	var out bytes.Buffer
	number := func(n int) { out.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	text := func(s string) {
		out.Write(binary.BigEndian.AppendUint16(nil, uint16(len(s))))
		out.WriteString(s)
	}
	out.Write(binary.BigEndian.AppendUint32(nil, magic))
	number(version)
	number(1)
	number(entryKey)
	text(alias)
	out.Write(binary.BigEndian.AppendUint64(nil, uint64(made.UnixMilli())))
	number(len(key))
	out.Write(key)
	number(len(certificate.Certificate))
	for _, der := range certificate.Certificate {
		text("X.509")
		number(len(der))
		out.Write(der)
	}
	digest := digested(out.Bytes(), storePassword)
	return append(out.Bytes(), digest...), nil
}

// Decode reads the first private key of a keystore and its chain. It wraps
// ErrPassword where a password does not fit.
func Decode(file []byte, storePassword, keyPassword string) (tls.Certificate, error) {
	certificate, err := decode(file, storePassword, keyPassword)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading a keystore: %w", err)
	}
	return certificate, nil
}

func decode(file []byte, storePassword, keyPassword string) (tls.Certificate, error) {
	var none tls.Certificate
	r := &reader{rest: file}
	if r.number() != magic {
		return none, errors.New("it is no keystore of the format JKS: make it with `keytool -storetype JKS`")
	}
	if v := r.number(); v != version {
		return none, fmt.Errorf("it is of version %d, not %d", v, version)
	}
	if len(file) < sha1.Size {
		return none, errors.New("it is cut short")
	}
	content, digest := file[:len(file)-sha1.Size], file[len(file)-sha1.Size:]
	if subtle.ConstantTimeCompare(digest, digested(content, storePassword)) != 1 {
		return none, ErrPassword
	}
	r.rest = r.rest[:len(r.rest)-sha1.Size]
	for entries := r.number(); entries > 0 && r.err == nil; entries-- {
		kind := r.number()
		r.text()  // alias
		r.take(8) // when it was made
		if kind == entryTrust {
			r.text()
			r.block()
			continue
		}
		if kind != entryKey {
			return none, fmt.Errorf("it has an entry of kind %d", kind)
		}
		key := r.block()
		var chain [][]byte
		for certificates := r.number(); certificates > 0 && r.err == nil; certificates-- {
			r.text()
			chain = append(chain, r.block())
		}
		if r.err != nil {
			break
		}
		private, err := open(key, keyPassword)
		if err != nil {
			return none, err
		}
		return tls.Certificate{Certificate: chain, PrivateKey: private}, nil
	}
	if r.err != nil {
		return none, r.err
	}
	return none, errors.New("it has no private key")
}

func open(key []byte, password string) (crypto.PrivateKey, error) {
	var p protected
	if _, err := asn1.Unmarshal(key, &p); err != nil {
		return nil, fmt.Errorf("its private key: %w", err)
	}
	if !p.Algorithm.Algorithm.Equal(protection) || len(p.Data) < 2*sha1.Size {
		return nil, fmt.Errorf("its private key is protected by %s, not by JKS's own way", p.Algorithm.Algorithm)
	}
	salt, check := p.Data[:sha1.Size], p.Data[len(p.Data)-sha1.Size:]
	secret := wide(password)
	plain := mixed(p.Data[sha1.Size:len(p.Data)-sha1.Size], salt, secret)
	sum := sha1.Sum(append(bytes.Clone(secret), plain...))
	if subtle.ConstantTimeCompare(sum[:], check) != 1 {
		return nil, ErrPassword
	}
	return x509.ParsePKCS8PrivateKey(plain)
}

// mixed is data with the stream of a password and a salt; twice is the data.
func mixed(data, salt, password []byte) []byte {
	out := bytes.Clone(data)
	block := salt
	for at := 0; at < len(out); at += sha1.Size {
		sum := sha1.Sum(append(bytes.Clone(password), block...))
		block = sum[:]
		for i := at; i < len(out) && i < at+sha1.Size; i++ {
			out[i] ^= block[i-at]
		}
	}
	return out
}

func digested(content []byte, password string) []byte {
	hash := sha1.New()
	hash.Write(wide(password))
	hash.Write([]byte(whitener))
	hash.Write(content)
	return hash.Sum(nil)
}

// wide is a password in UTF-16, the high byte first.
func wide(password string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(password)) {
		out = binary.BigEndian.AppendUint16(out, unit)
	}
	return out
}

// reader takes a file apart; after an error all that it gives is empty.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if r.err == nil && (n > maxLength || n > len(r.rest)) {
		r.err = errors.New("it is cut short")
	}
	if r.err != nil {
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) number() int {
	if b := r.take(4); b != nil {
		return int(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) text() string {
	if b := r.take(2); b != nil {
		return string(r.take(int(binary.BigEndian.Uint16(b))))
	}
	return ""
}

func (r *reader) block() []byte { return r.take(r.number()) }
