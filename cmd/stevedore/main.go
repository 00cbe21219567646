// Command stevedore keeps CrateDB clusters on Kubernetes as Git says they
// should be. Each verb has a file of its own; they wire, they decide nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/plaintext"
)

// version is set by the linker.
var version = "dev"

// Exit codes, the same for every verb.
const (
	exitOK      = 0
	exitError   = 1
	exitChanges = 2
)

// exitCode ends the program with a code and without a word: what there is to
// say was said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() { os.Exit(profiled(run)) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What goes wrong comes back as an error; run has a log besides.
	logOfClient(slog.New(slog.DiscardHandler))
	err := newRoot().ExecuteContext(ctx)
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	default:
		said := plaintext.Text(withName(err))
		if width, terminal := columns(os.Stderr); terminal {
			said = fitting(said, width)
		}
		fmt.Fprintln(os.Stderr, said)
		return exitError
	}
}

// withName is an error behind the name of the program; one that begins with that, or with the name of a verb, has it already.
func withName(err error) string {
	if said := err.Error(); strings.HasPrefix(said, "stevedore ") || strings.HasPrefix(said, "stevedore: ") {
		return said
	}
	return "stevedore: " + err.Error()
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "stevedore",
		Short: "Keep CrateDB clusters on Kubernetes as Git says",
		Long: `stevedore pulls definitions of CrateDB clusters from Git (or watches a
directory), renders them, compares them with what is live, does what a database
needs before each change, applies, and reports back.

A first look, without a cluster of your own:
  stevedore sandbox

See what a folder makes, and whether it is right:
  stevedore validate examples/single
  stevedore render examples/single

Keep a cluster as a repository says:
  stevedore run --git https://git.example.com/team/clusters --ref main`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		Version:           version,
		Args:              knownVerb,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("stevedore {{.Version}}\n")
	root.AddCommand(newRun(), newRender(), newValidate(), newCheck(), newDiff(), newComment(), newStatus(),
		newPause(), newResume(), newAbort(), newRestart(), newReplacePod(), newRelease(), newForget(), newWait(), newBackup(), newRestore(), newImport(), newAdopt(), newSandbox(), newVersion(), newRenderUntrusted())
	root.SetFlagErrorFunc(unknownFlag)
	describe(root)
	strictHelp(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `version prints which release this binary is. The daemon logs it when it starts,
and says it in the metric stevedore_build_info.`,
		Example: "  stevedore version",
		Args:    takesNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "stevedore "+version)
			return err
		},
	}
}
