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
	texts   = sync.Pool{New: func() any { return &bytes.Buffer{} }}
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

// Read gives what Make was given to use, which must not keep it.
func Read(made []byte, use func(text []byte) error) error {
	reader, text := readers.Get().(io.ReadCloser), texts.Get().(*bytes.Buffer)
	defer readers.Put(reader)
	defer texts.Put(text)
	text.Reset()
	if err := reader.(flate.Resetter).Reset(bytes.NewReader(made), nil); err != nil {
		return fmt.Errorf("inflating a text: %w", err)
	}
	if _, err := text.ReadFrom(reader); err != nil {
		return fmt.Errorf("inflating a text: %w", err)
	}
	return use(text.Bytes())
}
