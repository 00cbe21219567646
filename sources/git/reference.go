package git

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/sources"
)

var (
	fullCommit  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	shortCommit = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
)

// checkRef refuses what git check-ref-format(1) refuses, and what looks like a
// range or an expression: a source follows one reference.
func checkRef(ref string) error {
	if ref == "" {
		return nil
	}
	if text, ok := strings.CutPrefix(ref, semverPrefix); ok {
		if _, err := parseRange(text); err != nil {
			return refuse(sources.ReferenceNotFound, fmt.Errorf("%q is no range of versions: %w", text, err), "write it as --ref 'semver:>=1.2.0 <2'")
		}
		return nil
	}
	bad := strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".lock") ||
		strings.Contains(ref, "..") || strings.Contains(ref, "//") || strings.Contains(ref, "@{") ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' })
	if bad {
		return refuse(sources.ReferenceNotFound, fmt.Errorf("%q is not the name of a branch, a tag or a commit", ref),
			"give one branch, tag or commit, or semver: and a range of versions; patterns and ranges of commits are not supported")
	}
	return nil
}

// advertised is what a remote says that it has.
type advertised struct {
	refs map[plumbing.ReferenceName]plumbing.Hash
	head plumbing.ReferenceName // what HEAD names; empty when it names no branch

	peeled map[string]plumbing.Hash // what annotated tags are of
}

func readAdvertised(ar *packp.AdvRefs) (advertised, error) {
	all, err := ar.AllReferences()
	if err != nil {
		return advertised{}, err
	}
	a := advertised{refs: make(map[plumbing.ReferenceName]plumbing.Hash, len(all)), peeled: ar.Peeled}
	for name, ref := range all {
		switch {
		case ref.Type() == plumbing.HashReference:
			a.refs[name] = ref.Hash()
		case name == plumbing.HEAD:
			a.head = ref.Target()
		}
	}
	return a, nil
}

// choice is the reference that a look follows, or a commit.
type choice struct {
	name   plumbing.ReferenceName // empty for a commit
	label  string                 // "main" of "main@sha1:…"; empty for a commit
	hash   plumbing.Hash          // a commit or an annotated tag; zero for an abbreviated commit
	prefix string                 // of an abbreviated commit

	version *version // of a tag that was chosen by its version
}

// choose finds what ref means at this remote. A branch and a tag of one name
// are refused: Git's own tools do not agree on which one wins.
func (a advertised) choose(ref string) (choice, error) {
	found := func(name plumbing.ReferenceName) (choice, error) {
		label := name.String()
		if name.IsBranch() || name.IsTag() {
			label = name.Short()
		}
		return choice{name: name, label: label, hash: a.refs[name]}, nil
	}
	if text, ok := strings.CutPrefix(ref, semverPrefix); ok {
		return a.chooseVersion(text)
	}
	if ref == "" || ref == "HEAD" {
		if _, ok := a.refs[a.head]; ok {
			return found(a.head)
		}
		if _, ok := a.refs[plumbing.HEAD]; ok {
			return found(plumbing.HEAD)
		}
		return choice{}, a.notFound("HEAD", "the remote's HEAD names no branch that exists")
	}
	if fullCommit.MatchString(ref) {
		return choice{hash: plumbing.NewHash(ref)}, nil
	}
	if strings.HasPrefix(ref, "refs/") {
		if _, ok := a.refs[plumbing.ReferenceName(ref)]; ok {
			return found(plumbing.ReferenceName(ref))
		}
		return choice{}, a.notFound(ref, "the remote has no reference "+ref)
	}
	branch, tag := plumbing.NewBranchReferenceName(ref), plumbing.NewTagReferenceName(ref)
	_, isBranch := a.refs[branch]
	_, isTag := a.refs[tag]
	switch {
	case isBranch && isTag:
		return choice{}, &sources.Error{Reason: sources.ReferenceNotFound, Doing: "choosing the reference " + ref,
			Err: errors.New("the remote has both a branch and a tag of that name"), Advice: fmt.Sprintf("write %s or %s", branch, tag)}
	case isBranch:
		return found(branch)
	case isTag:
		return found(tag)
	case shortCommit.MatchString(ref):
		return choice{prefix: ref}, nil
	}
	return choice{}, a.notFound(ref, "the remote has neither a branch nor a tag "+ref)
}

func (a advertised) notFound(ref, what string) error {
	advice := "push it first, or name another with --ref"
	if near := a.near(ref, 5); len(near) > 0 {
		advice = "it has " + strings.Join(near, ", ")
		if more := len(a.names()) - len(near); more > 0 {
			advice += fmt.Sprintf(" and %d more", more)
		}
	}
	return &sources.Error{Reason: sources.ReferenceNotFound, Doing: "choosing the reference " + ref, Err: errors.New(what), Advice: advice}
}

func (a advertised) names() []string {
	var names []string
	for name := range maps.Keys(a.refs) {
		if name.IsBranch() || name.IsTag() {
			names = append(names, name.Short())
		}
	}
	return names
}

// near gives the names that a person may have meant, nearest first.
func (a advertised) near(ref string, most int) []string {
	names := spelling.Sorted(plumbing.ReferenceName(ref).Short(), a.names())
	return names[:min(most, len(names))]
}

// tips are all branches and tags: a commit may be behind any of them.
func (a advertised) tips() []plumbing.Hash {
	seen := map[plumbing.Hash]bool{}
	for name, hash := range a.refs {
		if name.IsBranch() || name.IsTag() {
			seen[hash] = true
		}
	}
	tips := slices.Collect(maps.Keys(seen))
	plumbing.HashesSort(tips)
	return tips
}
