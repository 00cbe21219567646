package deflated

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

// What makes and reads it takes nearly a megabyte, and as much as a few texts.
var (
	zips = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // it fails for other levels only
		return w
	}}
	unzips = sync.Pool{New: func() any { return &gzip.Reader{} }}
)

// Zip deflates a text that is stored, as gzip does: the same text gives the same bytes.
func Zip(text []byte) []byte {
	w := zips.Get().(*gzip.Writer)
	defer zips.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	// A buffer takes all.
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Bytes()
}

// Unzip gives what Zip was given; more than most bytes are an error, so that what was
// stored by somebody else fills no memory.
func Unzip(made []byte, most int) ([]byte, error) {
	r := unzips.Get().(*gzip.Reader)
	defer unzips.Put(r)
	if err := r.Reset(bytes.NewReader(made)); err != nil {
		return nil, fmt.Errorf("inflating a text: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("inflating a text: it has more than %d bytes", most)
	}
	return text, err
}
