// Package deflated keeps texts that are rarely read at a quarter of their size and less.
package deflated

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"
)

var (
	// A writer takes as much as hundreds of texts.
	writing sync.Mutex
	writer  *flate.Writer
	readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

// Make deflates a text.
func Make(text []byte) []byte {
	writing.Lock()
	defer writing.Unlock()
	var out bytes.Buffer
	if writer == nil {
		writer, _ = flate.NewWriter(&out, flate.BestSpeed) // it fails for other levels only
	} else {
		writer.Reset(&out)
	}
	// A buffer takes all.
	_, _ = writer.Write(text)
	_ = writer.Close()
	return bytes.Clone(out.Bytes())
}

// Text is what Make was given.
func Text(made []byte) ([]byte, error) {
	reader := readers.Get().(io.ReadCloser)
	defer readers.Put(reader)
	if err := reader.(flate.Resetter).Reset(bytes.NewReader(made), nil); err != nil {
		return nil, fmt.Errorf("inflating a text: %w", err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("inflating a text: %w", err)
	}
	return text, nil
}
