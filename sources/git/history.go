package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/revlist"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"stevedore.dev/stevedore/sources"
)

// OnRewrite says what becomes of a reference whose new commit does not have the
// one before in its history: a force-push, a tag that was moved.
type OnRewrite string

const (
	// HoldRewrite stays with the commit before, until the reference leads to one
	// that has it in its history, or to the same files.
	HoldRewrite OnRewrite = "hold"
	// FollowRewrite goes along and says so in the log.
	FollowRewrite OnRewrite = "follow"
)

// followed is what a reference led to at the last good look. It is kept beside
// the mirror, so that a restart neither follows a rewrite that was held before
// nor loses the state that was good.
type followed struct {
	Tag    string `json:"tag,omitempty"` // of a range of versions
	Label  string `json:"label,omitempty"`
	Commit string `json:"commit"`
}

func (m *mirror) followedFile() string { return filepath.Join(m.dir, "followed.json") }

// followed gives what is remembered of ref; what cannot be read is forgotten.
func (m *mirror) followed(ref string) (followed, bool) {
	var all map[string]followed
	data, err := os.ReadFile(m.followedFile())
	if err != nil || json.Unmarshal(data, &all) != nil {
		return followed{}, false
	}
	f, ok := all[ref]
	return f, ok && fullCommit.MatchString(f.Commit)
}

func (m *mirror) setFollowed(ref string, f followed) error {
	if now, ok := m.followed(ref); ok && now == f {
		return nil
	}
	// Others' memories are theirs: sources of one URL take turns with a share.
	all := map[string]followed{}
	if data, err := os.ReadFile(m.followedFile()); err == nil && json.Unmarshal(data, &all) != nil {
		all = map[string]followed{}
	}
	all[ref] = f
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	next := m.followedFile() + ".next"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return fmt.Errorf("keeping what is followed: %w", err)
	}
	if err := os.Rename(next, m.followedFile()); err != nil {
		return fmt.Errorf("keeping what is followed: %w", err)
	}
	return nil
}

// moves says whether the reference can lead elsewhere: a commit cannot.
func (c choice) moves() bool { return c.name != "" }

// heldBack is why the source stays where it is.
type heldBack struct {
	tip plumbing.Hash // of the rewritten reference
	err error
}

// rewritten gives an error when what a reference leads to now does not follow
// from what it led to before, and the policy is to hold.
func (s *Source) rewritten(ctx context.Context, st *filesystem.Storage, get *fetch) error {
	before, known := s.mirror.followed(s.opts.Ref)
	if !known || !get.want.moves() || before.Commit == get.commit.Hash.String() {
		return nil
	}
	if get.want.version != nil && before.Tag != "" {
		if was, ok := parseVersion(before.Tag); ok && get.want.version.compare(was) != 0 {
			return nil // another version; whether it is a lower one was asked before
		}
	}
	old := plumbing.NewHash(before.Commit)
	leads, err := descends(ctx, st, get.commit.Hash, old)
	if err != nil {
		return err
	}
	if leads {
		return nil
	}
	what := fmt.Sprintf("%s was rewritten: its history does not have the commit %s any more", get.want.label, short(before.Commit))
	if get.want.name.IsTag() {
		what = fmt.Sprintf("the tag %s was moved from %s to %s", get.want.label, short(before.Commit), short(get.commit.Hash.String()))
	}
	if was, err := commitOf(st, old); err == nil && was.TreeHash == get.commit.TreeHash {
		s.opts.Log.Info("history was rewritten without a change of any file, going along", "source", s.remote.identity, "reference", get.want.label,
			"before", before.Commit, "commit", get.commit.Hash.String())
		return nil
	}
	if s.opts.OnRewrite == FollowRewrite {
		s.opts.Log.Warn(what+", and is followed as --on-rewrite says", "source", s.remote.identity, "reason", string(sources.HistoryRewritten),
			"before", before.Commit, "commit", get.commit.Hash.String())
		return nil
	}
	return &sources.Error{Reason: sources.HistoryRewritten, Doing: "following " + s.remote.identity, Commit: revisionOf(get.want.label, get.commit),
		Err: fmt.Errorf("%s, the state of that commit stays", what),
		Advice: fmt.Sprintf("push %s again, or go on from the new history with a commit that has both: git merge -s ours %s; --on-rewrite=follow goes along with every rewrite",
			short(before.Commit), before.Commit)}
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// gone says that a reference which was followed is not there any more; other
// errors of choosing stay as they are.
func (s *Source) gone(err error, want choice) error {
	if s.mirror == nil {
		return err
	}
	before, known := s.mirror.followed(s.opts.Ref)
	if !known {
		return err
	}
	deleted := func(name string, err error) error {
		return &sources.Error{Reason: sources.RefDeleted, Doing: "following " + s.remote.identity,
			Err:    fmt.Errorf("%s is gone from the remote, the state of its last commit %s stays: %w", name, short(before.Commit), err),
			Advice: "push it again (git push <remote> " + before.Commit + ":<its name>), or follow another with --ref"}
	}
	if err != nil {
		if sources.ReasonOf(err) != sources.ReferenceNotFound {
			return err
		}
		return deleted(before.Label, errors.Unwrap(err))
	}
	// A tag that is deleted must not take the fleet back to an older version.
	if want.version != nil && before.Tag != "" {
		if was, ok := parseVersion(before.Tag); ok && want.version.compare(was) < 0 {
			return deleted(before.Tag, fmt.Errorf("the highest version within the range is now %s, which is lower", want.label))
		}
	}
	return nil
}

// descends walks back from tip, nearest first.
func descends(ctx context.Context, st *filesystem.Storage, tip, from plumbing.Hash) (bool, error) {
	if tip == from {
		return true, nil
	}
	if st.HasEncodedObject(from) != nil {
		return false, nil // the mirror has all that tip's history has
	}
	seen := map[plumbing.Hash]bool{tip: true}
	for queue := []plumbing.Hash{tip}; len(queue) > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c, err := commitOf(st, queue[0])
		if err != nil {
			return false, err
		}
		for _, parent := range c.ParentHashes {
			if parent == from {
				return true, nil
			}
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return false, nil
}

// Lacks says which commits the history of the last good snapshot does not have:
// those of a history that was rewritten while nobody remembered. It gives none
// where rewrites are followed, and may not run beside a Fetch.
func (s *Source) Lacks(ctx context.Context, commits []string) ([]string, error) {
	s.mu.Lock()
	busy := s.closed || s.running != nil && !isClosed(s.running)
	s.mu.Unlock()
	_, tip, found := strings.Cut(s.last.Revision, "sha1:")
	switch {
	case s.opts.OnRewrite == FollowRewrite || len(commits) == 0:
		return nil, nil
	case busy || !found:
		return nil, fmt.Errorf("looking through the history of %s: there is no snapshot, or a look is under way", s.remote.identity)
	}
	missing := map[plumbing.Hash]bool{}
	for _, c := range commits {
		missing[plumbing.NewHash(c)] = true
	}
	st, first := openStorage(s.files.generation), plumbing.NewHash(tip)
	delete(missing, first)
	seen := map[plumbing.Hash]bool{first: true}
	for queue := []plumbing.Hash{first}; len(queue) > 0 && len(missing) > 0; queue = queue[1:] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := commitOf(st, queue[0])
		if err != nil {
			return nil, fmt.Errorf("looking through the history of %s: %w", s.remote.identity, err)
		}
		for _, parent := range c.ParentHashes {
			delete(missing, parent)
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(commits), func(c string) bool { return !missing[plumbing.NewHash(c)] }), nil
}

// restore reads what was good before a restart from the mirror alone.
func (s *Source) restore(ctx context.Context) {
	if s.files != nil || s.mirror == nil || s.mirror.generation == "" {
		return
	}
	before, known := s.mirror.followed(s.opts.Ref)
	if !known || s.mirror.verifyPacks(ctx, s.mirror.generation) != nil {
		return
	}
	st := openStorage(s.mirror.generation)
	commit, err := commitOf(st, plumbing.NewHash(before.Commit))
	if err != nil {
		s.opts.Log.Warn("the commit that was followed before is not in the mirror any more", "source", s.remote.identity, "commit", before.Commit)
		return
	}
	files := &objects{storage: st, generation: s.mirror.generation}
	fsys, err := files.tree(ctx, commit, s.opts.Limits, s.opts.Path)
	if err != nil {
		return
	}
	s.keep(files, fsys, commit, before.Label)
}

// carry brings a commit with its history from one repository of this machine to
// another, for a mirror that is cloned anew while the remote has forgotten it.
func carry(from, to *filesystem.Storage, commit plumbing.Hash) error {
	hashes, err := revlist.Objects(from, []plumbing.Hash{commit}, nil)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := packfile.NewEncoder(w, from, false).Encode(hashes, 0)
		w.CloseWithError(err)
	}()
	err = packfile.UpdateObjectStorage(to, r)
	_ = r.Close()
	<-ended
	return err
}

func revisionOf(label string, c *object.Commit) string {
	if label == "" {
		return "sha1:" + c.Hash.String()
	}
	return label + "@sha1:" + c.Hash.String()
}
