package forge

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// State of a commit status.
type State string

const (
	Pending State = "pending"
	Success State = "success"
	Failure State = "failure"
	// Superseded: a newer commit has come before this one was done.
	Superseded State = "superseded"
)

// Final is true where nothing more is expected.
func (s State) Final() bool { return s != Pending }

// Status is what is said of a commit under one context.
type Status struct {
	// SHA is the commit's whole id in hexadecimal.
	SHA string `json:"sha"`
	// Ref is the branch or tag that the commit was found by; "" when not known.
	Ref         string `json:"ref,omitempty"`
	Context     string `json:"context"`
	State       State  `json:"state"`
	Description string `json:"description"`
	// TargetURL is where to read more; "" for nowhere.
	TargetURL string `json:"targetURL,omitempty"`
}

// The longest description in characters. GitHub refuses more than 140; GitLab's
// column has 255, which is enough for Gitea too.
const (
	githubDescription  = 140
	defaultDescription = 255
)

// words of a state, by platform. GitLab has no error: what is superseded is
// canceled there.
var words = map[Platform]map[State]string{
	GitHub: {Pending: "pending", Success: "success", Failure: "failure", Superseded: "error"},
	Gitea:  {Pending: "pending", Success: "success", Failure: "failure", Superseded: "error"},
	GitLab: {Pending: "pending", Success: "success", Failure: "failed", Superseded: "canceled"},
}

type statusBody struct {
	State       string `json:"state"`
	Context     string `json:"context,omitempty"`
	Name        string `json:"name,omitempty"`
	Ref         string `json:"ref,omitempty"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url,omitempty"`
}

// PostStatus makes one attempt; a refusal or no answer is an *Error. Posting the
// same again changes nothing that anybody would see.
func (c *Client) PostStatus(ctx context.Context, status Status) error {
	body := statusBody{
		State: words[c.config.Platform][status.State], Context: status.Context,
		Description: oneLine(status.Description, defaultDescription), TargetURL: status.TargetURL,
	}
	address := c.project() + "/statuses/" + status.SHA
	switch c.config.Platform {
	case GitHub:
		body.Description = oneLine(status.Description, githubDescription)
	case GitLab:
		body.Name, body.Context, body.Ref = status.Context, "", status.Ref
	}
	_, err := c.do(ctx, "post the commit status "+status.Context+" of "+short(status.SHA), http.MethodPost, address, body, nil)
	var refused *Error
	if c.config.Platform == GitLab && errors.As(err, &refused) && refused.Status == http.StatusBadRequest &&
		strings.Contains(refused.Said, "Cannot transition status") {
		// It has this state already: an attempt whose answer was lost.
		return nil
	}
	return err
}

func short(sha string) string { return sha[:min(len(sha), 10)] }
