package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// logFile is the log of one run: each line begins with its time.
type logFile struct {
	mu      sync.Mutex
	file    *os.File
	pending []byte // a line that has not ended yet
}

func createLog(name string) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of a log: %w", err)
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	return &logFile{file: file}, nil
}

// Write takes in output of any shape; lines are written when they end.
func (l *logFile) Write(output []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, output...)
	for {
		end := bytes.IndexByte(l.pending, '\n')
		if end < 0 {
			return len(output), nil
		}
		l.line(l.pending[:end])
		l.pending = l.pending[end+1:]
	}
}

func (l *logFile) line(text []byte) {
	fmt.Fprintf(l.file, "%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), text)
}

// Close writes what is left of an unfinished line.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) > 0 {
		l.line(l.pending)
		l.pending = nil
	}
	return l.file.Close()
}

// logOptions are those of the pods/log subresource.
type logOptions struct {
	follow, previous, timestamps bool
	tail                         int // -1: all
	limit                        int64
	since                        time.Time
}

func readLogOptions(query url.Values) (logOptions, error) {
	o := logOptions{tail: -1, limit: -1}
	for name, into := range map[string]*bool{
		"follow": &o.follow, "previous": &o.previous, "timestamps": &o.timestamps,
	} {
		*into, _ = strconv.ParseBool(query.Get(name))
	}
	if text := query.Get("tailLines"); text != "" {
		tail, err := strconv.Atoi(text)
		if err != nil || tail < 0 {
			return o, fmt.Errorf("tailLines must be a number of lines, not %q", text)
		}
		o.tail = tail
	}
	if text := query.Get("limitBytes"); text != "" {
		limit, err := strconv.ParseInt(text, 10, 64)
		if err != nil || limit < 1 {
			return o, fmt.Errorf("limitBytes must be a number of bytes, not %q", text)
		}
		o.limit = limit
	}
	if text := query.Get("sinceSeconds"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			return o, fmt.Errorf("sinceSeconds must be a number, not %q", text)
		}
		o.since = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return o, fmt.Errorf("sinceTime must be a time, not %q", text)
		}
		o.since = since
	}
	return o, nil
}

// copyLogs writes the container's log as o asks.
func (c *container) copyLogs(ctx context.Context, out http.ResponseWriter, o logOptions) error {
	restart := c.restartCount()
	if o.previous {
		if restart == 0 {
			return errors.New("previous terminated container " + c.spec.Name + " not found")
		}
		restart--
	}
	file, err := os.Open(c.logPath(restart))
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing yet
	}
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	defer file.Close()
	printer := &logPrinter{o: o, out: out, left: o.limit}
	content, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	lines := strings.SplitAfter(string(content), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	if o.tail >= 0 && o.tail < len(lines) {
		lines = lines[len(lines)-o.tail:]
	}
	for _, line := range lines {
		printer.print(line)
	}
	if !o.follow || o.previous {
		return nil
	}
	reader := bufio.NewReader(file)
	part := ""
	for printer.left != 0 {
		line, err := reader.ReadString('\n')
		part += line
		if err == nil {
			printer.print(part)
			part = ""
			continue
		}
		if flusher, ok := out.(http.Flusher); ok {
			flusher.Flush()
		}
		if c.runningInstance() == nil || c.restartCount() != restart {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return nil
		}
	}
	return nil
}

type logPrinter struct {
	o    logOptions
	out  io.Writer
	left int64 // bytes; negative: no limit
}

func (p *logPrinter) print(line string) {
	stamp, text, _ := strings.Cut(line, " ")
	if !p.o.since.IsZero() {
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.Before(p.o.since) {
			return
		}
	}
	if p.o.timestamps {
		text = line
	}
	if p.left >= 0 && int64(len(text)) > p.left {
		text = text[:p.left]
	}
	if p.left >= 0 {
		p.left -= int64(len(text))
	}
	_, _ = io.WriteString(p.out, text)
}
