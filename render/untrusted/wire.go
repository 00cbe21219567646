package untrusted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
)

// kind of a message. Each is one byte of kind, four of length (big endian) and
// its payload.
type kind byte

const (
	// From the child.
	kindReady    kind = 'r' // it is confined; anything before that is read by nobody
	kindFailed   kind = 'e' // a text: what was asked for cannot be done
	kindFile     kind = 'f' // fileQuestion: it wants to know a file of the tree
	kindBuilt    kind = 'b' // render.Build
	kindRendered kind = 'o' // rendered
	// From the parent.
	kindBuild   kind = 'B' // buildRequest
	kindRender  kind = 'R' // renderRequest
	kindContent kind = 'F' // a file's bytes, or its size as eight bytes
	kindNoFile  kind = 'N' // a text: why it has none
)

// Bounds of one message, in bytes. A tree's names and a file of 16 MiB go one
// way; a fleet of some thousand definitions goes the other.
const (
	maxRequest  = 64 << 20
	maxResponse = 64 << 20
)

type buildRequest struct {
	Config render.Config
	Dir    string
	// Root is the folder of the listing that the tree is rooted at.
	Root    string
	Entries []listed
}

// listed is one entry of a tree, without its content. The short names keep the
// list of a large repository small.
type listed struct {
	Name   string    `json:"n"`
	Kind   entryKind `json:"k,omitempty"`
	Target string    `json:"t,omitempty"` // of a link
}

type entryKind byte

const (
	regular entryKind = iota
	folder
	link
	submodule
	special
)

// fileQuestion asks for the entry's size, or for its content.
type fileQuestion struct {
	entry   uint32
	content bool
}

func (q fileQuestion) bytes() []byte {
	b := binary.BigEndian.AppendUint32(nil, q.entry)
	if q.content {
		return append(b, 1)
	}
	return append(b, 0)
}

func parseQuestion(payload []byte) (fileQuestion, error) {
	if len(payload) != 5 {
		return fileQuestion{}, fmt.Errorf("a question about a file has %d bytes, not 5", len(payload))
	}
	return fileQuestion{entry: binary.BigEndian.Uint32(payload), content: payload[4] == 1}, nil
}

type renderRequest struct {
	Config  render.Config
	Cluster render.Cluster
	Pins    render.Pins
}

type rendered struct {
	Rendered *render.Rendered
	Problems []definition.Problem
}

// errTooLong is of a message above its bound.
var errTooLong = errors.New("the message is too long")

func send(w io.Writer, k kind, payload []byte, limit int) error {
	if len(payload) > limit {
		return fmt.Errorf("%w: %d bytes, at most %d are taken", errTooLong, len(payload), limit)
	}
	header := binary.BigEndian.AppendUint32([]byte{byte(k)}, uint32(len(payload)))
	if _, err := w.Write(append(header, payload...)); err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	return nil
}

// receive reads one message of at most limit bytes. Memory is taken as bytes
// come in, not as the length says.
func receive(r io.Reader, limit int) (kind, []byte, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	length := int64(binary.BigEndian.Uint32(header[1:]))
	if length > int64(limit) {
		return 0, nil, fmt.Errorf("%w: %d bytes, at most %d are taken", errTooLong, length, limit)
	}
	payload, err := io.ReadAll(io.LimitReader(r, length))
	if err == nil && int64(len(payload)) < length {
		err = io.ErrUnexpectedEOF
	}
	return kind(header[0]), payload, err
}
