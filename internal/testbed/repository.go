package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is a bare Git repository and a working copy of it, driven by the
// git that a person has.
type Repository struct {
	// Bare is the folder that is served and pushed to; URL is its file:// URL.
	Bare, URL string
	// Work is the working copy.
	Work string
}

// NewRepository makes an empty repository with the branch main.
func NewRepository(ctx context.Context, parent, name string) (*Repository, error) {
	r := &Repository{Bare: filepath.Join(parent, name+".git"), Work: filepath.Join(parent, name)}
	r.URL = "file://" + r.Bare
	for _, arguments := range [][]string{
		{"init", "-q", "--bare", "-b", "main", r.Bare},
		{"init", "-q", "-b", "main", r.Work},
		{"-C", r.Work, "remote", "add", "origin", r.Bare},
	} {
		if err := git(ctx, arguments...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Push writes files ("" removes one), commits and pushes them.
func (r *Repository) Push(ctx context.Context, message string, files map[string]string) error {
	if err := r.Commit(ctx, message, files); err != nil {
		return err
	}
	return r.Publish(ctx)
}

// Publish pushes what was committed.
func (r *Repository) Publish(ctx context.Context) error {
	return git(ctx, "-C", r.Work, "push", "-q", "origin", "main")
}

// Commit writes files ("" removes one) and commits them, unpushed.
func (r *Repository) Commit(ctx context.Context, message string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(r.Work, filepath.FromSlash(name))
		if content == "" {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, arguments := range [][]string{
		{"-C", r.Work, "add", "-A"},
		{"-C", r.Work, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m", message},
	} {
		if err := git(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

func git(ctx context.Context, arguments ...string) error {
	cmd := exec.CommandContext(ctx, "git", arguments...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, out)
	}
	return nil
}

// Head is the id of the commit that main is at.
func (r *Repository) Head(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "-C", r.Bare, "rev-parse", "main").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse main: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
