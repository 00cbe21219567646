// Package directory gives snapshots of a folder of this machine. Each is a copy
// in memory, taken only once the tree has been quiet, so that it cannot change
// under whoever reads it.
package directory

import (
	"cmp"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/tree"
)

// Options say which folder to watch and when to believe it. Only Dir is required.
type Options struct {
	// Dir is the folder; it may be a symbolic link, which is followed again at
	// each look.
	Dir string

	// Quiet is how long no file may have changed before the tree is taken; zero
	// means 500 ms. An editor or a checkout that pauses longer in the middle is
	// seen half done.
	Quiet time.Duration

	// Poll is how often the tree is compared without any event, for what events
	// miss (a network file system, a full queue); zero means 10 s.
	Poll time.Duration

	// Patience ends a look at a tree that does not become quiet; zero means 30 s.
	Patience time.Duration

	// MaxBytes bounds all files together; zero means 64 MiB.
	MaxBytes int64

	// Limits bound the tree and each file. A file above its bound is listed and
	// refused when it is opened; its content does not count for the revision,
	// its size and time do.
	Limits tree.Limits

	// Log tells when events cannot be had; nil logs nothing.
	Log *slog.Logger
}

func (o *Options) check() error {
	refuse := func(what, advice string) error {
		return &sources.Error{Reason: sources.PathNotFound, Doing: "reading the options of a directory", Err: errors.New(what), Advice: advice}
	}
	if o.Dir == "" {
		return refuse("the directory is empty", "name one with --dir")
	}
	abs, err := filepath.Abs(o.Dir)
	if err != nil {
		return refuse(err.Error(), "give an absolute path")
	}
	o.Dir = abs
	o.Quiet = cmp.Or(o.Quiet, 500*time.Millisecond)
	o.Poll = cmp.Or(o.Poll, 10*time.Second)
	o.Patience = cmp.Or(o.Patience, 30*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Limits.FileBytes = cmp.Or(o.Limits.FileBytes, 16<<20)
	o.Limits.Entries = cmp.Or(o.Limits.Entries, 200_000)
	o.Limits.Depth = cmp.Or(o.Limits.Depth, 64)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// ignored says which names are not part of a tree, in any folder of it: .git,
// and what editors and desktops leave beside a file while they write it:
//
//	name~  #name#  .#name               Emacs and others
//	.name.swp .swo .swn .swx, 4913      Vim
//	name___jb_tmp___, name___jb_old___  JetBrains
//	.goutputstream-*                    GLib
//	.DS_Store                           macOS
func ignored(name string) bool {
	switch {
	case name == ".git", name == "4913", name == ".DS_Store":
		return true
	case strings.HasSuffix(name, "~"), strings.HasPrefix(name, ".#"):
		return true
	case len(name) > 1 && strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#"):
		return true
	case strings.HasSuffix(name, "___jb_tmp___"), strings.HasSuffix(name, "___jb_old___"), strings.HasPrefix(name, ".goutputstream-"):
		return true
	}
	if strings.HasPrefix(name, ".") {
		switch filepath.Ext(name) {
		case ".swp", ".swo", ".swn", ".swx":
			return true
		}
	}
	return false
}
