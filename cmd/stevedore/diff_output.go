package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/plan"
)

// diffOutput is how a plan is printed, and what makes diff fail.
type diffOutput struct {
	format  string
	summary bool
	colour  string
	failOn  []string
	limit   int

	notes annotations
	fail  []planprint.FailOn
}

func (d *diffOutput) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&d.format, "output", "o", "text", "text, markdown, json or sarif")
	flags.BoolVar(&d.summary, "summary", false, "one line a cluster, and the totals (text)")
	flags.StringVar(&d.colour, "color", "auto", "auto, always or never (text; NO_COLOR is respected)")
	flags.StringSliceVar(&d.failOn, "fail-on", nil, "exit code 3 where there is an operation, restart, refusal, deletion or something unknown; may be repeated")
	flags.IntVar(&d.limit, "limit", planprint.DefaultLimit, "most bytes of the comment (markdown)")
	d.notes.add(cmd)
}

// check refuses flags that would not be obeyed, before anything is looked at.
func (d *diffOutput) check() (err error) {
	switch d.format {
	case "text", "markdown", "json", "sarif":
	default:
		return fmt.Errorf("-o %q is not known: write text, markdown, json or sarif", d.format)
	}
	if d.summary && d.format != "text" {
		return fmt.Errorf("--summary is for -o text: leave it out for %s", d.format)
	}
	switch d.colour {
	case "auto", "always", "never":
	default:
		return fmt.Errorf("--color %q is not known: write auto, always or never", d.colour)
	}
	if d.limit < planprint.LeastLimit {
		return fmt.Errorf("--limit %d is too small for a comment: give %d or more", d.limit, planprint.LeastLimit)
	}
	d.fail, err = planprint.ParseFailOn(d.failOn)
	return err
}

// print writes the plans of a folder's clusters, and annotations for the platform
// that it runs on, and ends with the exit code that they ask for.
func (d *diffOutput) print(cmd *cobra.Command, plans []plan.Plan, path string, clusters []renderedCluster, broken bool) error {
	places := locate(path, clusters)
	plans = planprint.WithWarnings(plans, d.notes.warnings)
	found := planprint.Findings(plans, places)
	if err := d.notes.write(cmd, found); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	var err error
	switch d.format {
	case "json":
		err = planprint.JSON(out, plans)
	case "markdown":
		err = planprint.Markdown(out, plans, planprint.MarkdownOptions{Limit: d.limit, Problems: d.notes.problems, Warnings: d.notes.warnings})
	case "sarif":
		err = planprint.SARIF(out, slices.Concat(d.notes.problems, found, d.notes.warnings, planprint.Moves(plans, places)), version)
	default:
		colour, width := terminalOf(out, d.colour)
		err = planprint.Text(out, plans, planprint.TextOptions{Colour: colour, Width: width, Summary: d.summary, Problems: len(d.notes.problems)})
	}
	if err != nil {
		return err
	}
	if code := planprint.ExitCode(plans, d.fail, broken); code != planprint.ExitNothing {
		return exitCode(code)
	}
	return nil
}

// terminalOf says whether to colour and how wide lines may be; 0 where nobody
// reads along.
func terminalOf(out io.Writer, wish string) (colour bool, width int) {
	file, ok := out.(*os.File)
	terminal := false
	if ok {
		width, terminal = columns(file)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 && terminal {
		width = n
	}
	switch wish {
	case "always":
		return true, width
	case "never":
		return false, width
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", width
}
