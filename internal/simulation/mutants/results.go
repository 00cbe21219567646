package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// outcome is what is known of one guard: its line in the table.
type outcome struct {
	// schedules is in how many it makes a difference.
	schedules int
	// after is how many of all had been played when one noticed; "" where none does.
	after    string
	by, test string
}

func (o outcome) noticed() bool { return o.after != "" }

func (o outcome) line(s site) string {
	return fmt.Sprintf("%s %d | %s | %s | %s |\n", s.row(), o.schedules, o.after, o.by, o.test)
}

// results are what earlier runs have found, by how a line begins; the last line of a guard counts.
type results map[string]outcome

// read reads the lines of a file of results. The last one may have been cut off.
func (r results) read(text string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 9 || !strings.HasSuffix(line, "\n") {
			continue
		}
		schedules, err := strconv.Atoi(strings.TrimSpace(cells[4]))
		if err != nil {
			continue // what the columns are
		}
		row := strings.Join(cells[:4], "|") + "|"
		r[row] = outcome{schedules, strings.TrimSpace(cells[5]), strings.TrimSpace(cells[6]), strings.TrimSpace(cells[7])}
	}
}

// lacks says whether a guard's schedules are still to be played.
func (r results) lacks(s site) bool {
	_, known := r[s.row()]
	return !known
}

// begun is what runs before have left in the file of results, and where those of
// this one go.
func (o options) begun() (had results, to io.WriteCloser, err error) {
	had = results{}
	if o.results == "" || o.list {
		return had, output{Writer: os.Stdout}, nil
	}
	text, err := os.ReadFile(o.results)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	had.read(string(text))
	file, err := os.OpenFile(o.results, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	return had, output{Writer: io.MultiWriter(os.Stdout, file), file: file}, nil
}

// output is the standard one, and a file where there is one.
type output struct {
	io.Writer
	file *os.File
}

func (o output) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
