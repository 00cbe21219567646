package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/confine"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/untrusted"
)

// ciMarks are set by the services that build what anybody proposes, each by
// its own manual: "CI" by GitHub, GitLab, Travis, CircleCI, Gitea, Woodpecker
// and others.
var ciMarks = []string{
	"CI", "GITHUB_ACTIONS", "GITEA_ACTIONS", "GITLAB_CI", "JENKINS_URL", "BUILDKITE", "CIRCLECI", "TRAVIS", "DRONE",
	"TF_BUILD", "TEAMCITY_VERSION", "BITBUCKET_BUILD_NUMBER", "CODEBUILD_BUILD_ID", "PROW_JOB_ID",
}

// inCI names the variable that tells of CI, "" when there is none.
func inCI(getenv func(string) string) string {
	for _, name := range ciMarks {
		switch value := getenv(name); value {
		case "", "0", "false", "False", "FALSE":
		default:
			return name
		}
	}
	return ""
}

// addTrust adds the flags of who wrote the files, and of what they may refer to.
func (r *renderFlags) addTrust(cmd *cobra.Command) {
	r.addTrusted(cmd)
	cmd.Flags().StringVar(&r.root, rootFlag, "", "folder with all that PATH refers to (default: the Git working tree that PATH is in, or PATH itself)")
	_ = cmd.MarkFlagDirname(rootFlag) // it is there
}

// addTrusted adds those of who wrote the files.
func (r *renderFlags) addTrusted(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&r.untrusted, "untrusted", false, "render in a process that can open no file and no socket (default in CI)")
	flags.BoolVar(&r.trusted, "trusted", false, "render in this process: whoever wrote the files is trusted (default elsewhere)")
	cmd.MarkFlagsMutuallyExclusive("trusted", "untrusted")
}

// distrusts says whether the files may be a stranger's, and why it is thought.
func (r *renderFlags) distrusts() (bool, string) {
	switch ci := inCI(os.Getenv); {
	case r.untrusted:
		return true, "--untrusted"
	case r.trusted || ci == "":
		return false, ""
	default:
		return true, "the default where " + ci + " is set"
	}
}

// renderer is what renders the files of the command line, by who wrote them.
func (r *renderFlags) renderer(ctx context.Context) (render.Renderer, error) {
	config, err := r.config()
	if err != nil {
		return nil, err
	}
	distrusted, why := r.distrusts()
	if !distrusted {
		return render.InProcess{Config: config}, nil
	}
	child, err := untrusted.Start(ctx, untrusted.Options{Config: config})
	if errors.Is(err, confine.ErrUnavailable) {
		return nil, fmt.Errorf("rendering what is not trusted (%s) needs a confined process: %w; where whoever wrote the files is trusted, say --trusted", why, err)
	}
	if err != nil {
		return nil, err
	}
	return child, nil
}

// concurrentChildren bounds the memory of a daemon's children together.
const concurrentChildren = 2

// confined starts the daemon's renderers of a source that is not trusted; nil
// when it is.
func (r *renderFlags) confined(config render.Config) func(context.Context) (render.Renderer, error) {
	if !r.untrusted {
		return nil
	}
	tickets := make(chan struct{}, concurrentChildren)
	return func(ctx context.Context) (render.Renderer, error) {
		select {
		case tickets <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		child, err := untrusted.Start(ctx, untrusted.Options{Config: config, Command: r.child})
		if err != nil {
			<-tickets
			return nil, err
		}
		return &ticketed{Renderer: child, tickets: tickets}, nil
	}
}

// ticketed gives its ticket back when it is closed; it is closed once.
type ticketed struct {
	render.Renderer
	tickets chan struct{}
}

func (t *ticketed) Close() error {
	err := t.Renderer.Close()
	<-t.tickets
	return err
}

// newRenderUntrusted is the child of the verbs that render what is not trusted;
// nobody else calls it.
func newRenderUntrusted() *cobra.Command {
	return &cobra.Command{
		Use:    untrusted.Verb + " BYTES SECONDS",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			memory, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return fmt.Errorf("the bytes of memory: %w", err)
			}
			seconds, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("the seconds of processor time: %w", err)
			}
			return untrusted.Serve(memory, time.Duration(seconds)*time.Second)
		},
	}
}
