package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"stevedore.dev/stevedore/internal/forge"
)

// The longest comment in characters; Gitea bounds none.
var longest = map[forge.Platform]int{forge.GitHub: 65536, forge.GitLab: 1_000_000, forge.Gitea: 8 << 20}

var (
	githubThread  = regexp.MustCompile(`^issues/([0-9]+)/comments$`)
	githubComment = regexp.MustCompile(`^issues/comments/([0-9]+)$`)
	gitlabThread  = regexp.MustCompile(`^merge_requests/([0-9]+)/notes$`)
	gitlabComment = regexp.MustCompile(`^merge_requests/[0-9]+/notes/([0-9]+)$`)
)

func (s *Server) routeComments(w http.ResponseWriter, r *http.Request, rest string, account Account, body []byte) {
	thread, comment, change := githubThread, githubComment, http.MethodPatch
	if s.Platform == forge.GitLab {
		thread, comment, change = gitlabThread, gitlabComment, http.MethodPut
	}
	if m := thread.FindStringSubmatch(rest); m != nil {
		number, _ := strconv.Atoi(m[1])
		switch r.Method {
		case http.MethodGet:
			s.listComments(w, r, number)
			return
		case http.MethodPost:
			if text, ok := s.text(w, body); ok {
				id := s.addComment(number, account.Login, text)
				reply(w, http.StatusCreated, s.shown(Comment{ID: id, Author: account.Login, Body: text}))
			}
			return
		}
	}
	if m := comment.FindStringSubmatch(rest); m != nil && r.Method == change {
		id, _ := strconv.ParseInt(m[1], 10, 64)
		for number, list := range s.comments {
			i := slices.IndexFunc(list, func(c Comment) bool { return c.ID == id })
			if i < 0 {
				continue
			}
			if text, ok := s.text(w, body); ok {
				s.comments[number][i].Body = text
				s.comments[number][i].Edits++
				reply(w, http.StatusOK, s.shown(s.comments[number][i]))
			}
			return
		}
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

func (s *Server) text(w http.ResponseWriter, body []byte) (string, bool) {
	var got struct {
		Body string `json:"body"`
	}
	length := 0
	if json.Unmarshal(body, &got) == nil {
		length = utf8.RuneCountInString(got.Body)
	}
	if length > 0 && length <= longest[s.Platform] {
		return got.Body, true
	}
	switch s.Platform {
	case forge.GitLab:
		refuse(w, http.StatusBadRequest, "400 Bad request - Note {:note=>[\"is too long\"]}")
	default:
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed")
	}
	return "", false
}

// listComments gives pages with a Link, thirty (GitLab: twenty) to one that asks
// for no number and a hundred at most; Gitea gives everything at once.
func (s *Server) listComments(w http.ResponseWriter, r *http.Request, number int) {
	list := slices.Clone(s.comments[number])
	if s.Platform == forge.GitLab && r.URL.Query().Get("sort") != "asc" {
		slices.Reverse(list)
	}
	if s.Platform != forge.Gitea {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		page = max(page, 1)
		if size < 1 {
			size = map[forge.Platform]int{forge.GitHub: 30, forge.GitLab: 20}[s.Platform]
		}
		size = min(size, 100)
		from, to := min((page-1)*size, len(list)), min(page*size, len(list))
		if to < len(list) {
			query := r.URL.Query()
			query.Set("page", strconv.Itoa(page+1))
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next", <%s%s?page=99>; rel="last"`, s.URL, r.URL.EscapedPath(), query.Encode(), s.URL, r.URL.EscapedPath()))
		}
		list = list[from:to]
	}
	shown := []map[string]any{}
	for _, comment := range list {
		shown = append(shown, s.shown(comment))
	}
	reply(w, http.StatusOK, shown)
}

func (s *Server) shown(c Comment) map[string]any {
	if s.Platform == forge.GitLab {
		return map[string]any{"id": c.ID, "body": c.Body, "system": c.System, "author": map[string]any{"id": 1, "username": c.Author}}
	}
	return map[string]any{"id": c.ID, "body": c.Body, "user": map[string]any{"login": c.Author}}
}
