package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/planprint"
)

// helpWidth is where the help's lines end, in columns.
const helpWidth = 100

// ending is an exit code, and when a verb ends with it.
type ending struct {
	code int
	when string
}

const (
	whenGiven    = "each cluster that is named has the command beside it"
	whenNotGiven = "an error, or a cluster that does not take the command"
)

// endings of each verb: for its help, and for the manual's table.
var endings = []struct {
	verb string
	of   []ending
}{
	{"run", []ending{
		{exitOK, "told to stop; with --once each cluster is as its definition says"},
		{exitError, "an error; with --once a cluster that is not, no cluster at all, or told to stop before that"},
	}},
	{"validate", []ending{{exitOK, "nothing is wrong"}, {exitError, "a problem in the folder, or another error"}}},
	{"render", []ending{{exitOK, "printed"}, {exitError, "a problem in the folder, or another error"}}},
	{"check", []ending{
		{exitOK, "no problem was found; what is unknown is said"},
		{exitError, "an error"},
		{exitProblem, "a problem was found, in the definitions or in the Kubernetes cluster"},
		{planprint.ExitFailOn, "something is unknown that --fail-on names"},
	}},
	{"import", []ending{
		{exitOK, "the definition is printed or written; what differs is said"},
		{exitError, "an error, no such cluster, one that is not supported, or a file that is there already"},
		{exitProblem, "printed or written, and a person has to do something before it is pushed: it is said"},
	}},
	{"adopt", []ending{
		{exitOK, "adopted, or given back with --back; nothing is left to do"},
		{exitError, "an error, or refused: nothing was written, or not everything"},
		{exitProblem, "--dry-run: something forbids it, and nothing would be written"},
	}},
	{"diff", []ending{
		{exitOK, "nothing differs; what only moved to another file is said"},
		{exitError, "a problem in a definition, or another error; beats the others"},
		{exitChanges, "something differs"},
		{planprint.ExitFailOn, "something that --fail-on names would happen; beats 2"},
	}},
	{"comment", []ending{{exitOK, "the comment stands, or may not be written, which is said"}, {exitError, "an error"}}},
	{"status", []ending{{exitOK, "printed, however the clusters are; --watch was told to stop"}, {exitError, "an error, no such namespace, or no record of CLUSTER"}}},
	{"pause", []ending{{exitOK, whenGiven}, {exitError, whenNotGiven}}},
	{"resume", []ending{{exitOK, whenGiven}, {exitError, whenNotGiven}}},
	{"abort", []ending{{exitOK, whenGiven}, {exitError, whenNotGiven}}},
	{"restart", []ending{{exitOK, whenGiven}, {exitError, whenNotGiven}}},
	{"replace-pod", []ending{
		{exitOK, "the daemon is asked to replace the pod"},
		{exitError, "an error, no such pod, one that is ready, or a cluster that does not take the command"},
	}},
	{"release", []ending{
		{exitOK, whenGiven + "; --wait: all is given back"},
		{exitError, whenNotGiven + "; --wait: not in time, or stopped"},
	}},
	{"forget", []ending{
		{exitOK, "nothing is recorded of the cluster any more"},
		{exitError, "an error, no record of CLUSTER, one that is not to be forgotten, or not in time"},
	}},
	{"wait", []ending{
		{exitOK, "each cluster is as --for says, and a daemon looks after it"},
		{exitError, "an error, no such namespace, no record of CLUSTER without --revision, or told to stop"},
		{exitLate, "not in time"},
		{exitStuck, "what is left is refused, orphaned, broken, paused, released, or waits for a resume"},
	}},
	{"backup list", []ending{{exitOK, "printed, also where there are none"}, {exitError, "an error, no such namespace, no record of CLUSTER, or one that cannot be read"}}},
	{"backup now", []ending{
		{exitOK, "the daemon is asked for a snapshot; --wait: it was taken"},
		{exitError, "an error, no spec.backups, or no such schedule; --wait: it did not succeed, or stopped"},
		{exitLate, "--wait: not in time"},
		{exitStuck, "--wait: it waits for a person: the cluster is paused or suspended, a Secret is missing"},
	}},
	{"backup drill", []ending{
		{exitOK, "the daemon is asked for a drill; --wait: no table failed"},
		{exitError, "an error, no spec.backups, or no such snapshot; --wait: a table failed, or stopped"},
		{exitLate, "--wait: not in time"},
		{exitStuck, "--wait: it waits for a person: the cluster is paused or suspended"},
	}},
	{"restore", []ending{
		{exitOK, "the daemon is asked for the tables; --wait: they are there"},
		{exitError, "an error, no spec.backups, or no such snapshot; --wait: a table did not come, or stopped"},
		{exitLate, "--wait: not in time"},
		{exitStuck, "--wait: it waits for a person: the cluster is paused or suspended"},
	}},
	{"sandbox", []ending{{exitOK, "told to stop"}, {exitError, "it could not be started, or a part of it ended"}}},
	{"version", []ending{{exitOK, "printed"}, {exitError, "an error"}}},
}

// describe makes each verb's help whole: its exit codes, flags that fit a screen,
// and what can be completed.
func describe(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpWidth)))
	for _, cmd := range verbsOf(root) {
		completeChoices(cmd)
		for _, one := range endings {
			if one.verb == verbOf(cmd) {
				cmd.Long += "\n\nExit codes:"
				for _, end := range one.of {
					cmd.Long += fmt.Sprintf("\n  %d  %s", end.code, end.when)
				}
			}
		}
	}
}

// strictHelp makes `help` of a verb that is not there an error: cobra prints what there
// is, and ends with 0.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				switch {
				case err != nil || found == root:
					return knownVerb(root, args)
				case found.HasSubCommands() && found.Name() != "completion":
					return knownVerb(found, rest)
				}
				return nil
			}
		}
	}
}

// maxErrorLines of a terminal are what an error may take.
const maxErrorLines = 20

// fitting is an error as a terminal of that width takes it: lines broken at words,
// the following ones indented, and no more than fit a screen.
func fitting(text string, width int) string {
	lines := wrapped(text, width)
	if left := len(lines) - maxErrorLines; left > 0 {
		lines = append(lines[:maxErrorLines], fmt.Sprintf("… and %d lines more: `2>FILE` keeps them all", left))
	}
	return strings.Join(lines, "\n")
}

// wrapped breaks lines at words and indents the following ones. A width of 0 is none:
// the text stays as it is, for a pipe.
func wrapped(text string, width int) []string {
	if width == 0 {
		return strings.Split(text, "\n")
	}
	const indent = "  "
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		now := ""
		for _, word := range strings.Fields(line) {
			switch {
			case now == "":
				now = word
			case len([]rune(now))+1+len([]rune(word)) > width:
				lines = append(lines, now)
				now = indent + word
			default:
				now += " " + word
			}
		}
		lines = append(lines, now)
	}
	return lines
}
