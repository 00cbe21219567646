package receiver

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// eventHeaders say what happened, in words of each host's own.
var eventHeaders = []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Gitea-Event", "X-Forgejo-Event"}

// isPush leaves out what moves no reference; a sender that does not say what
// happened means a push.
func isPush(header http.Header) bool {
	for _, name := range eventHeaders {
		switch event := header.Get(name); event {
		case "", "push", "create", "delete", "Push Hook", "Tag Push Hook", "System Hook":
		default:
			return false
		}
	}
	return true
}

// urlKeys are under which hosts name a repository, in the objects repository
// (GitHub, Gitea, GitLab) and project (GitLab).
var urlKeys = []string{
	"clone_url", "ssh_url", "git_url", "html_url", "url", // GitHub, Gitea
	"git_http_url", "git_ssh_url", "http_url", "web_url", "homepage", // GitLab
}

// repositories are those that a body names, in their normal form. A body that
// is not what a host sends names none.
func repositories(contentType string, body []byte) map[string]bool {
	// GitHub's default: a form with one field.
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil
		}
		body = []byte(form.Get("payload"))
	}
	var push map[string]json.RawMessage
	if json.Unmarshal(body, &push) != nil {
		return nil
	}
	found := map[string]bool{}
	for _, part := range []string{"repository", "project"} {
		var object map[string]json.RawMessage
		if json.Unmarshal(push[part], &object) != nil {
			continue
		}
		for _, key := range urlKeys {
			var text string
			if json.Unmarshal(object[key], &text) != nil {
				continue
			}
			if name := normal(text); name != "" {
				found[name] = true
			}
		}
	}
	return found
}

// normal makes one of all the ways to write a repository's URL: host and path,
// without scheme, user, port and .git. Two that differ in letters' case only
// are one: a look too many harms nobody. "" is no repository.
func normal(text string) string {
	if !strings.Contains(text, "://") {
		// user@host:path
		host, path, found := strings.Cut(text, ":")
		if !found || strings.Contains(host, "/") {
			return ""
		}
		text = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if path == "" || u.Hostname() == "" && u.Scheme != "file" {
		return ""
	}
	return strings.ToLower(u.Hostname() + "/" + path)
}
