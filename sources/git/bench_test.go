package git_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/sources/git"
)

// large is a repository of 5,000 files.
func large(b *testing.B) *upstream {
	u := newUpstream(b)
	for i := range 5000 {
		u.write(fmt.Sprintf("d%d/f%d.yaml", i%100, i), fmt.Sprintf("name: f%d\n%s", i, strings.Repeat("x: y\n", 30)))
	}
	u.change("f", "one")
	return u
}

func BenchmarkLookAtWhatHasNotChanged(b *testing.B) {
	u := large(b)
	s := u.serve(gitserver.Options{})
	for name, opts := range map[string]git.Options{
		"file":  {URL: u.url()},
		"https": {URL: s.URL + "/fleet.git", CA: s.CA},
	} {
		b.Run(name, func(b *testing.B) {
			src := open(b, opts)
			fetch(b, src)
			for b.Loop() {
				fetch(b, src)
			}
		})
	}
}

func BenchmarkFirstFetch(b *testing.B) {
	u := large(b)
	s := u.serve(gitserver.Options{})
	for name, opts := range map[string]git.Options{
		"file":  {URL: u.url()},
		"https": {URL: s.URL + "/fleet.git", CA: s.CA},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				src := open(b, opts)
				fetch(b, src)
				_ = src.Close()
			}
		})
	}
}

func BenchmarkFetchAfterOneChangedFile(b *testing.B) {
	for _, name := range []string{"file", "https"} {
		b.Run(name, func(b *testing.B) {
			u := large(b)
			opts := git.Options{URL: u.url()}
			if name == "https" {
				s := u.serve(gitserver.Options{})
				opts = git.Options{URL: s.URL + "/fleet.git", CA: s.CA}
			}
			src := open(b, opts)
			fetch(b, src)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				u.change("f", fmt.Sprint(i))
				b.StartTimer()
				fetch(b, src)
			}
		})
	}
}

func BenchmarkReadOneFile(b *testing.B) {
	u := large(b)
	got := fetch(b, open(b, git.Options{URL: u.url()}))
	for i := 0; b.Loop(); i++ {
		n := i % 5000
		if _, err := fs.ReadFile(got.Files, fmt.Sprintf("d%d/f%d.yaml", n%100, n)); err != nil {
			b.Fatal(err)
		}
	}
}
