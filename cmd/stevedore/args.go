package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stevedore.dev/stevedore/internal/spelling"
)

// takesOne says what a verb wants where it is given something else: cobra's own
// words count arguments and name none.
func takesOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 1:
			return nil
		case len(args) == 0:
			return fmt.Errorf("%s: %s is missing, as in: %s", cmd.CommandPath(), what, exampleOf(cmd))
		}
		return fmt.Errorf("%s takes one %s and was given %d (%s): run it once for each", cmd.CommandPath(), what, len(args), strings.Join(args, ", "))
	}
}

// takesNone is for verbs that have flags only.
func takesNone(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes flags only, and was given %q; as in: %s", cmd.CommandPath(), args[0], exampleOf(cmd))
}

// knownVerb is for the program itself, and for a verb that has verbs of its own.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	verb := strings.TrimSpace(verbOf(cmd) + " " + args[0])
	var verbs []string
	for _, one := range cmd.Commands() {
		if one.IsAvailableCommand() {
			verbs = append(verbs, one.Name())
		}
	}
	if like := spelling.Meant(args[0], verbs); len(like) > 0 {
		return fmt.Errorf("there is no verb %q: did you mean %s?", verb, strings.Join(like, " or "))
	}
	return fmt.Errorf("there is no verb %q: %s --help lists them", verb, cmd.CommandPath())
}

// verbOf is a command without the program: "status", "backup list"; "" for the program itself.
func verbOf(cmd *cobra.Command) string {
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	return verb
}

// verbsOf are the commands that do something, those of a verb with verbs of its own among them.
func verbsOf(cmd *cobra.Command) (all []*cobra.Command) {
	for _, one := range cmd.Commands() {
		if one.HasSubCommands() && one.Name() != "completion" {
			all = append(all, verbsOf(one)...)
		} else {
			all = append(all, one)
		}
	}
	return all
}

// unknownFlag says which flag was meant, where one is near. Where the verb is unknown, its flags are too.
func unknownFlag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if err := knownVerb(cmd, cmd.Flags().Args()); err != nil {
			return err
		}
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fmt.Errorf("%s: %w", cmd.CommandPath(), err)
	}
	// kubectl names what it reads by a flag.
	if name := unknown.GetSpecifiedName(); strings.HasSuffix(cmd.Use, " PATH") && slices.Contains([]string{"f", "k", "filename", "file", "kustomize"}, name) {
		return fmt.Errorf("%s: %w: definitions are a folder, which is named without a flag, as in: %s", cmd.CommandPath(), err, exampleOf(cmd))
	}
	var flags []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			flags = append(flags, "--"+flag.Name)
		}
	})
	if like := spelling.Meant("--"+unknown.GetSpecifiedName(), flags); len(unknown.GetSpecifiedName()) > 1 && len(like) > 0 {
		return fmt.Errorf("%s: %w: did you mean %s?", cmd.CommandPath(), err, strings.Join(like, " or "))
	}
	return fmt.Errorf("%s: %w: %s --help lists them", cmd.CommandPath(), err, cmd.CommandPath())
}

// exampleOf is the first of a verb's examples.
func exampleOf(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return strings.TrimSpace(line)
}
