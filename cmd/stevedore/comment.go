package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/planprint"
)

// planMarker begins a plan in Markdown, so that its comment is found again.
const planMarker = planprint.Marker

const (
	// maxPlan bounds the file that is read.
	maxPlan = 64 << 20
	// maxSummary is what GitHub keeps of a step's summary ("Workflow commands",
	// Step isolation and limits).
	maxSummary = 1 << 20
)

// commentFlags say where the comment goes; what is empty comes from the
// environment of a CI job.
type commentFlags struct {
	platform   string
	api        string
	repository string
	number     int
	tokenFile  string
	author     string
	name       string
}

func newComment() *cobra.Command {
	var c commentFlags
	cmd := &cobra.Command{
		Use:   "comment FILE",
		Short: "Keep a plan as the one comment of a pull request",
		Long: `comment writes FILE, which diff -o markdown printed, as a comment in a pull
request, and updates that comment when it is there already. It finds it by its
first line and its author; what others wrote is left alone. An empty FILE says
that there is no plan. FILE - is standard input.

In a job of GitHub Actions, Gitea Actions or GitLab CI everything but the token is
known from the environment. The token comes from --token-file, STEVEDORE_TOKEN or
GITHUB_TOKEN. One that is missing, or that may not write, as in a pull request
from a fork, is no error: the plan is then in the job's summary, or its log.`,
		Example: `  stevedore diff clusters/ --against HEAD^1 -o markdown > plan.md
  stevedore comment plan.md`,
		Args: takesOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			job := jobOf(os.Getenv)
			if err := c.complete(&job); err != nil {
				return err
			}
			plan, err := readPlan(args[0], cmd.InOrStdin(), c.name, job)
			if err != nil {
				return err
			}
			token, err := c.token(os.Getenv)
			if err != nil {
				return err
			}
			return job.comment(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), plan, c.author, token)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.platform, "platform", "", "github, gitlab or gitea")
	flags.StringVar(&c.api, "api-url", "", "base of the server's API, such as https://HOST/api/v4")
	flags.StringVar(&c.repository, "repository", "", "OWNER/NAME, or a GitLab project's number")
	flags.IntVar(&c.number, "pull-request", 0, "number of the pull or merge request")
	flags.StringVar(&c.tokenFile, "token-file", "", "file with the token")
	flags.StringVar(&c.author, "author", "", "whose comment it is (default: the token's account)")
	flags.StringVar(&c.name, "name", "", "tells this plan from others in the same pull request")
	return cmd
}

// ciJob is what a CI job's environment says.
type ciJob struct {
	location forge.Location
	number   int
	// summary is a file whose content is shown with the job; "" for none.
	summary string
	// link to the job; "" when not known.
	link string
	// author of comments where the token has no user.
	author string
}

var pullRef = regexp.MustCompile(`^refs/pull/([0-9]+)/`)

func jobOf(env func(string) string) ciJob {
	var job ciJob
	switch {
	case env("GITLAB_CI") == "true":
		job.location = forge.Location{Platform: forge.GitLab, API: env("CI_API_V4_URL"), Repository: env("CI_MERGE_REQUEST_PROJECT_ID")}
		if job.location.Repository == "" {
			job.location.Repository = env("CI_PROJECT_ID")
		}
		job.number, _ = strconv.Atoi(env("CI_MERGE_REQUEST_IID"))
		job.link = env("CI_JOB_URL")
	case env("GITHUB_ACTIONS") == "true":
		job.location = forge.Location{Platform: forge.GitHub, API: env("GITHUB_API_URL"), Repository: env("GITHUB_REPOSITORY")}
		job.author = "github-actions[bot]"
		// Theirs speak of themselves as GitHub's, too.
		if env("GITEA_ACTIONS") == "true" || env("FORGEJO_ACTIONS") == "true" {
			job.location.Platform, job.author = forge.Gitea, "gitea-actions"
		}
		if m := pullRef.FindStringSubmatch(env("GITHUB_REF")); m != nil {
			job.number, _ = strconv.Atoi(m[1])
		}
		job.summary = env("GITHUB_STEP_SUMMARY")
		if server, run := env("GITHUB_SERVER_URL"), env("GITHUB_RUN_ID"); server != "" && run != "" {
			job.link = server + "/" + job.location.Repository + "/actions/runs/" + run
		}
	}
	return job
}

// complete lays the flags over the environment.
func (c *commentFlags) complete(job *ciJob) error {
	if c.platform != "" {
		job.location.Platform = forge.Platform(c.platform)
	}
	if c.api != "" {
		job.location.API = c.api
	}
	if c.repository != "" {
		job.location.Repository = c.repository
	}
	if c.number != 0 {
		job.number = c.number
	}
	if job.location.Platform == "" || job.location.API == "" || job.location.Repository == "" {
		return errors.New("this is no job of GitHub Actions, Gitea Actions or GitLab CI, which would say where the comment goes: give --platform, --api-url, --repository and --pull-request")
	}
	if job.number <= 0 {
		return errors.New("this job is not about a pull request: run it for one, or give --pull-request")
	}
	return nil
}

func (c *commentFlags) token(env func(string) string) (forge.Token, error) {
	if c.tokenFile != "" {
		return tokenFromFile(c.tokenFile), nil
	}
	for _, name := range []string{"STEVEDORE_TOKEN", "GITHUB_TOKEN"} {
		if value := strings.TrimSpace(env(name)); value != "" {
			if strings.ContainsAny(value, "\r\n\x00") {
				return nil, fmt.Errorf("%s has more than one line", name)
			}
			return func(context.Context) (string, error) { return value, nil }, nil
		}
	}
	return nil, nil
}

// readPlan gives the comment's text; its first line is the marker.
func readPlan(file string, stdin io.Reader, name string, job ciJob) (string, error) {
	handle, err := openInput(file, stdin)
	if err != nil {
		return "", fmt.Errorf("reading the plan: %w", err)
	}
	defer func() { _ = handle.Close() }()
	content, err := io.ReadAll(io.LimitReader(handle, maxPlan+1))
	if err != nil {
		return "", fmt.Errorf("reading the plan: %w", err)
	}
	if len(content) > maxPlan {
		return "", fmt.Errorf("reading the plan %s: it is longer than %d bytes", file, maxPlan)
	}
	marker := planMarker
	if name != "" {
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`).MatchString(name) || strings.Contains(name, "--") {
			return "", fmt.Errorf("--name %q is not one: write letters, digits, dots, dashes and slashes", name)
		}
		marker = "<!-- stevedore plan " + name + " -->"
	}
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.ToValidUTF8(string(content), "\uFFFD")), planMarker))
	if text == "" {
		text = "**There is no plan**: making it failed. " + job.logWords()
	}
	return marker + "\n" + text + "\n", nil
}

func (j ciJob) logWords() string {
	if j.link == "" {
		return "The job's log says why."
	}
	return "[The job's log](" + j.link + ") says why."
}

// comment keeps the plan in the pull request, or where the job may not, shows it
// with the job.
func (j ciJob) comment(ctx context.Context, out, say io.Writer, plan, author string, token forge.Token) error {
	if token == nil {
		return j.show(out, say, plan, "there is no token (a fork's pull request has none)")
	}
	client, err := forge.New(forge.Config{
		Platform: j.location.Platform, API: j.location.API, Repository: j.location.Repository, Token: token, Pace: -1, Version: version,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	if author == "" {
		author, err = client.Viewer(ctx)
		if errors.Is(err, forge.ErrNoViewer) && j.author != "" {
			author, err = j.author, nil
		}
		if err != nil {
			return fmt.Errorf("%w (--author says whose comment it is)", err)
		}
	}
	marker, _, _ := strings.Cut(plan, "\n")
	body := plan
	if length := utf8.RuneCountInString(plan); length > client.MaxComment() {
		body = fmt.Sprintf("%s\n**The plan is too long for a comment**: it has %d characters, and %d are taken. It is shown with the job.", marker, length, client.MaxComment())
		if j.link != "" {
			body += " [Job](" + j.link + ")"
		}
		body += "\n"
		if err := j.show(out, say, plan, "it is too long for a comment"); err != nil {
			return err
		}
	}
	kept, err := client.KeepComment(ctx, j.number, author, marker, body)
	var refused *forge.Error
	if errors.As(err, &refused) && refused.Status == http.StatusForbidden && !refused.Limited {
		return j.show(out, say, plan, "the token may not write it (that of a fork's pull request may not)")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(say, "the comment in the pull request is %s\n", kept)
	return err
}

// show puts the plan into the job's summary, or into its log, and says why.
func (j ciJob) show(out, say io.Writer, plan, why string) error {
	if j.summary == "" || len(plan) > maxSummary {
		_, _ = fmt.Fprintf(say, "the plan is here and not in a comment: %s\n", why)
		if j.location.Platform != forge.GitLab {
			// A line that begins with two colons would be a command to the runner.
			plan = "| " + strings.ReplaceAll(strings.TrimSuffix(plan, "\n"), "\n", "\n| ") + "\n"
		}
		_, err := io.WriteString(out, plan)
		return err
	}
	_, _ = fmt.Fprintf(say, "the plan is in the job's summary and not in a comment: %s\n", why)
	file, err := os.OpenFile(j.summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the plan into the job's summary: %w", err)
	}
	_, err = fmt.Fprintf(file, "%s\n_Not in a comment: %s._\n", plan, why)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the plan into the job's summary: %w", err)
	}
	return nil
}
