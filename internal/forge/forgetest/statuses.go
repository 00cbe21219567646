package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"stevedore.dev/stevedore/internal/forge"
)

var wholeSHA = regexp.MustCompile(`^[0-9a-f]{40}$|^[0-9a-f]{64}$`)

// states that each platform takes.
var states = map[forge.Platform][]string{
	forge.GitHub: {"error", "failure", "pending", "success"},
	forge.GitLab: {"pending", "running", "success", "failed", "canceled", "skipped"},
	forge.Gitea:  {"pending", "success", "error", "failure", "warning"},
}

func (s *Server) postStatus(w http.ResponseWriter, sha string, body []byte) {
	var got struct {
		State       string `json:"state"`
		Context     string `json:"context"`
		Name        string `json:"name"`
		Ref         string `json:"ref"`
		Description string `json:"description"`
		TargetURL   string `json:"target_url"`
	}
	if json.Unmarshal(body, &got) != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	status := Status{SHA: sha, Context: got.Context, State: got.State, Description: got.Description, TargetURL: got.TargetURL, Ref: got.Ref}
	unknown := !wholeSHA.MatchString(sha) || s.commits != nil && !slices.Contains(s.commits, sha)
	invalid := !slices.Contains(states[s.Platform], got.State)
	length := utf8.RuneCountInString(got.Description)
	switch s.Platform {
	case forge.GitHub:
		switch {
		case unknown:
			refuse(w, http.StatusUnprocessableEntity, "No commit found for SHA: "+sha)
			return
		case invalid, length > 140, s.count(sha, got.Context) >= 1000,
			got.TargetURL != "" && !strings.HasPrefix(got.TargetURL, "http"):
			refuse(w, http.StatusUnprocessableEntity, "Validation Failed")
			return
		}
		status.Ref = ""
	case forge.GitLab:
		status.Context = got.Name
		if status.Context == "" {
			status.Context = got.Context
		}
		switch {
		case unknown:
			refuse(w, http.StatusNotFound, "404 Commit Not Found")
			return
		case invalid:
			reply(w, http.StatusBadRequest, map[string]any{"error": "state does not have a valid value"})
			return
		case length > 255:
			refuse(w, http.StatusBadRequest, map[string]any{"description": []string{"is too long (maximum is 255 characters)"}})
			return
		}
		if event, from, no := s.transition(status); no {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via %q)", event, from, event))
			return
		}
	case forge.Gitea:
		switch {
		case unknown:
			refuse(w, http.StatusNotFound, "object does not exist [id: "+sha+", rel_path: ]")
			return
		case invalid:
			refuse(w, http.StatusUnprocessableEntity, "[State]: Unknown")
			return
		}
		status.Ref = ""
	}
	if status.Context == "" {
		status.Context = "default"
	}
	s.statuses = append(s.statuses, status)
	reply(w, http.StatusCreated, map[string]any{"id": len(s.statuses), "state": got.State, "context": status.Context, "description": got.Description})
}

func (s *Server) count(sha, context string) int {
	n := 0
	for _, status := range s.statuses {
		if status.SHA == sha && status.Context == context {
			n++
		}
	}
	return n
}

// transition is GitLab's: a job that is pending or running is found again and
// moved on, and it cannot move to where it is; a final one gets a successor.
func (s *Server) transition(next Status) (event, from string, refused bool) {
	for _, status := range slices.Backward(s.statuses) {
		if status.SHA != next.SHA || status.Context != next.Context || status.Ref != next.Ref {
			continue
		}
		switch {
		case next.State == "pending" && (status.State == "pending" || status.State == "running"):
			return "enqueue", status.State, true
		case next.State == "running" && status.State == "running":
			return "run", status.State, true
		}
		return "", "", false
	}
	return "", "", false
}
