package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Comment is a comment in a pull request (a merge request at GitLab).
type Comment struct {
	ID           int64
	Author, Body string
}

// MaxComment is the longest comment that the platform takes, in characters.
// GitHub's is 65536 and GitLab's a million; Gitea names none, and takes as much
// as GitLab here.
func (c *Client) MaxComment() int {
	if c.config.Platform == GitHub {
		return 65536
	}
	return 1_000_000
}

// maxPages bounds a look for our comment: ten thousand comments.
const maxPages = 100

// Viewer is the name of the token's account. ErrNoViewer: the token stands for
// no user, as that of a job at GitHub does.
func (c *Client) Viewer(ctx context.Context) (string, error) {
	var user struct {
		Login    string `json:"login"`
		Username string `json:"username"`
	}
	_, err := c.do(ctx, "ask who the token is", http.MethodGet, "/user", nil, &user)
	var refused *Error
	if errors.As(err, &refused) && !refused.Limited && (refused.Status == http.StatusForbidden || refused.Status == http.StatusNotFound) {
		return "", fmt.Errorf("%w: %w", ErrNoViewer, err)
	}
	if err != nil {
		return "", err
	}
	if c.config.Platform == GitLab {
		return user.Username, nil
	}
	return user.Login, nil
}

// ErrNoViewer says that a token stands for no user that could be asked for.
var ErrNoViewer = errors.New("the token has no user")

// Comments of a pull request, the oldest first.
func (c *Client) Comments(ctx context.Context, number int) ([]Comment, error) {
	doing := "list the comments of " + c.thread(number)
	address := c.project() + c.threadPath(number)
	switch c.config.Platform {
	case GitHub:
		address += "?per_page=100"
	case GitLab:
		address += "?per_page=100&sort=asc&order_by=created_at"
	}
	var all []Comment
	for range maxPages {
		var page []struct {
			ID     int64  `json:"id"`
			Body   string `json:"body"`
			System bool   `json:"system"`
			User   struct {
				Login string `json:"login"`
			} `json:"user"`
			Author struct {
				Username string `json:"username"`
			} `json:"author"`
		}
		got, err := c.do(ctx, doing, http.MethodGet, address, nil, &page)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if !one.System {
				all = append(all, Comment{ID: one.ID, Author: one.User.Login + one.Author.Username, Body: one.Body})
			}
		}
		if address = nextPage(got.header); address == "" {
			return all, nil
		}
	}
	return nil, &Error{Doing: doing, Cause: fmt.Errorf("there are more than %d pages of them", maxPages)}
}

// CreateComment adds one.
func (c *Client) CreateComment(ctx context.Context, number int, body string) error {
	_, err := c.do(ctx, "comment on "+c.thread(number), http.MethodPost, c.project()+c.threadPath(number), commentBody{body}, nil)
	return err
}

// UpdateComment replaces the text of one.
func (c *Client) UpdateComment(ctx context.Context, number int, id int64, body string) error {
	method, address := http.MethodPatch, c.project()+"/issues/comments/"+strconv.FormatInt(id, 10)
	if c.config.Platform == GitLab {
		method, address = http.MethodPut, c.project()+c.threadPath(number)+"/"+strconv.FormatInt(id, 10)
	}
	_, err := c.do(ctx, "update the comment on "+c.thread(number), method, address, commentBody{body}, nil)
	return err
}

type commentBody struct {
	Body string `json:"body"`
}

// Kept is what KeepComment did.
type Kept string

const (
	Created   Kept = "created"
	Updated   Kept = "updated"
	Unchanged Kept = "unchanged"
)

// KeepComment makes the pull request's one comment by this author whose first
// line is the marker say what body says, whose first line is the marker too. What
// others wrote is left alone, marker or not. Author "": whoever the token is.
func (c *Client) KeepComment(ctx context.Context, number int, author, marker, body string) (Kept, error) {
	if length := utf8.RuneCountInString(body); length > c.MaxComment() {
		return "", fmt.Errorf("comment on %s: the text has %d characters, more than the %d that it may have", c.thread(number), length, c.MaxComment())
	}
	if author == "" {
		var err error
		if author, err = c.Viewer(ctx); err != nil {
			return "", err
		}
	}
	all, err := c.Comments(ctx, number)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(all, func(comment Comment) bool {
		return strings.EqualFold(comment.Author, author) && firstLine(comment.Body) == marker
	})
	switch {
	case at < 0:
		return Created, c.CreateComment(ctx, number, body)
	case plain(all[at].Body) == plain(body):
		return Unchanged, nil
	}
	return Updated, c.UpdateComment(ctx, number, all[at].ID, body)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// plain drops what servers change in a text that they store.
func plain(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

func (c *Client) threadPath(number int) string {
	if c.config.Platform == GitLab {
		return "/merge_requests/" + strconv.Itoa(number) + "/notes"
	}
	return "/issues/" + strconv.Itoa(number) + "/comments"
}

func (c *Client) thread(number int) string {
	if c.config.Platform == GitLab {
		return "merge request !" + strconv.Itoa(number)
	}
	return "pull request #" + strconv.Itoa(number)
}

var linkNext = regexp.MustCompile(`<([^>]*)>\s*;[^,]*\brel="?next"?`)

// nextPage is the next one's address in the header Link (RFC 8288), "" on the
// last page. Only this server's is followed.
func nextPage(header http.Header) string {
	for _, link := range header.Values("Link") {
		if m := linkNext.FindStringSubmatch(link); m != nil {
			if _, err := url.Parse(m[1]); err == nil {
				return m[1]
			}
		}
	}
	return ""
}
