package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is where the help's lines end, in columns.
const helpWidth = 100

// exitCodes are what each verb ends with, for its help; "" where its own words
// say it already.
var exitCodes = map[string]string{
	"run":       "0: it was told to stop, or with --once each cluster is as it is wanted. 1: an error, or\nwith --once a cluster that is not.",
	"render":    "0: printed. 1: a problem in the folder, or another error.",
	"validate":  "0: nothing is wrong. 1: a problem in the folder, or another error.",
	"diff":      "",
	"comment":   "0: the comment stands, or may not be written, which is said. 1: an error.",
	"status":    "0: printed, however the clusters are. 1: an error, or no record of CLUSTER.",
	"pause":     "0: the command stands beside the cluster. 1: an error, or no record of CLUSTER.",
	"resume":    "0: the command stands beside the cluster. 1: an error, or no record of CLUSTER.",
	"abort":     "0: the command stands beside the cluster. 1: an error, or no record of CLUSTER.",
	"restart":   "0: the command stands beside the cluster. 1: an error, or no record of CLUSTER.",
	"release":   "0: the command stands beside the clusters; with --wait: it was carried out.\n1: an error, or not in time.",
	"sandbox":   "0: it was told to stop. 1: it could not be started, or a part of it ended.",
	"version":   "0.",
	"stevedore": "",
}

// describe makes each verb's help whole: its exit codes, flags that fit a screen,
// and what can be completed.
func describe(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", helpWidth)))
	for _, cmd := range root.Commands() {
		completeChoices(cmd)
		if codes := exitCodes[cmd.Name()]; codes != "" {
			cmd.Long += "\n\nExit code " + codes
		}
	}
}

// maxErrorLines of a terminal are what an error may take.
const maxErrorLines = 20

// fitting is an error as a terminal of that width takes it: lines broken at words,
// the following ones indented, and no more than fit a screen.
func fitting(text string, width int) string {
	const indent = "  "
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		now := ""
		for _, word := range strings.Fields(line) {
			switch {
			case now == "":
				now = word
			case width > 0 && len([]rune(now))+1+len([]rune(word)) > width:
				lines = append(lines, now)
				now = indent + word
			default:
				now += " " + word
			}
		}
		lines = append(lines, now)
	}
	if left := len(lines) - maxErrorLines; left > 0 {
		lines = append(lines[:maxErrorLines], fmt.Sprintf("… and %d lines more: `2>FILE` keeps them all", left))
	}
	return strings.Join(lines, "\n")
}
