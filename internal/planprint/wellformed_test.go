package planprint_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/planprint"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/plan"
)

// visible fails where a terminal or a runner would act on the text.
func visible(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			require.Fail(t, "a character that is not seen", "%U at %d of %q", r, i, text)
		}
	}
	require.NotRegexp(t, logCommand, text)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
			require.Fail(t, "a command", "%q", line)
		}
	}
}

var sgr = regexp.MustCompile("\x1b\\[(1|2|0|1;31|3[2356])m")

func wellFormedText(t *testing.T, text string) {
	t.Helper()
	visible(t, sgr.ReplaceAllString(text, ""))
	require.Equal(t, strings.Count(text, "\x1b[0m")*2, strings.Count(text, "\x1b["), "a colour that is left on")
}

// Compiled once: a fuzz target asks thousands of times a second.
var (
	logCommand      = regexp.MustCompile(`##[A-Za-z]*\[`)
	meaning         = regexp.MustCompile("[<>@\\[\\]|\\\\*_`~&$!^{}\"]|://|www\\.|\\B#\\w")
	upToThreeSpaces = regexp.MustCompile(`^ {1,3}`)
)

var summary = regexp.MustCompile(`^<details( open)?><summary><code>(.*)</code>: [a-z0-9, ]+</summary>$`)

// wellFormedMarkdown reads Markdown as CommonMark does: fenced blocks, then code
// spans; what is left is ours, and must hold nothing that means something but
// our own emphasis and our own HTML.
func wellFormedMarkdown(t *testing.T, text string, limit int) {
	t.Helper()
	require.True(t, strings.HasPrefix(text, planprint.Marker+"\n"))
	require.LessOrEqual(t, len(text), limit)
	visible(t, text)
	fence, open := "", 0
	for i, line := range strings.Split(text, "\n") {
		if fence != "" {
			if line == fence {
				fence = ""
				continue
			}
			require.False(t, strings.HasPrefix(upToThreeSpaces.ReplaceAllString(line, ""), fence), "a line that ends its block: %q", line)
			continue
		}
		if strings.HasPrefix(line, "```") {
			fence = strings.TrimSuffix(line, "diff")
			require.Empty(t, strings.Trim(fence, "`"), "an info string: %q", line)
			continue
		}
		switch {
		case i == 0:
			continue
		case line == "</details>":
			open--
			continue
		case strings.HasPrefix(line, "<"):
			match := summary.FindStringSubmatch(line)
			require.NotNil(t, match, "HTML that is not ours: %q", line)
			require.False(t, strings.ContainsAny(match[2], `<>"'`), "%q", line)
			open++
			continue
		}
		rest := withoutSpans(t, line)
		rest = strings.ReplaceAll(rest, "**", "")
		if meaning.MatchString(rest) {
			require.Fail(t, "something that means more than itself", "%q in %q", rest, line)
		}
	}
	require.Empty(t, fence, "a block that does not end")
	require.Zero(t, open, "details that do not end")
}

// withoutSpans takes code spans out of a line by CommonMark's rule: a run of
// backticks is closed by the next run of the same length.
func withoutSpans(t *testing.T, line string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			return out.String() + line
		}
		out.WriteString(line[:at])
		n := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
		line = line[at+n:]
		for {
			k := strings.IndexByte(line, '`')
			if k < 0 {
				require.Fail(t, "a span that does not end", "%q", out.String()+line)
			}
			m := len(line[k:]) - len(strings.TrimLeft(line[k:], "`"))
			line = line[k+m:]
			if m == n {
				break
			}
		}
	}
}

func wellFormedJSON(t *testing.T, text string) {
	t.Helper()
	visible(t, text)
	var plans []plan.Plan
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	require.NotNil(t, plans)
}

type sarif struct {
	Schema  string `json:"$schema"`
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name, InformationURI, Version string
				Rules                         []struct {
					ID                   string
					ShortDescription     struct{ Text string }
					FullDescription      *struct{ Text string }
					Help                 *struct{ Text string }
					DefaultConfiguration struct{ Level string }
				}
			}
		}
		Results []struct {
			RuleID    string
			RuleIndex *int
			Level     string
			Message   struct{ Text string }
			Locations []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           *struct{ StartLine, StartColumn *int }
				}
			}
			PartialFingerprints map[string]string
		}
	}
}

// wellFormedSARIF asks what SARIF 2.1.0 requires, and GitHub's code scanning
// besides.
func wellFormedSARIF(t *testing.T, text string) sarif {
	t.Helper()
	visible(t, text)
	var log sarif
	require.NoError(t, json.Unmarshal([]byte(text), &log))
	require.Equal(t, "2.1.0", log.Version)
	require.Contains(t, log.Schema, "sarif-2.1.0")
	require.Len(t, log.Runs, 1)
	run := log.Runs[0]
	driver := run.Tool.Driver
	require.NotEmpty(t, driver.Name)
	_, err := url.Parse(driver.InformationURI)
	require.NoError(t, err)
	require.NotNil(t, run.Results, "results: [] where there are none")
	ids := map[string]bool{}
	for _, rule := range driver.Rules {
		require.NotEmpty(t, rule.ID)
		require.False(t, ids[rule.ID], "two rules %q", rule.ID)
		ids[rule.ID] = true
		require.NotEmpty(t, rule.ShortDescription.Text)
		require.Contains(t, []string{"error", "warning", "note"}, rule.DefaultConfiguration.Level)
		for _, text := range []*struct{ Text string }{rule.FullDescription, rule.Help} {
			require.True(t, text == nil || text.Text != "")
		}
	}
	prints := map[string]bool{}
	for _, result := range run.Results {
		require.NotNil(t, result.RuleIndex)
		require.Less(t, *result.RuleIndex, len(driver.Rules))
		require.Equal(t, driver.Rules[*result.RuleIndex].ID, result.RuleID)
		require.Contains(t, []string{"error", "warning", "note"}, result.Level)
		require.NotEmpty(t, result.Message.Text)
		require.NotContains(t, result.Message.Text, "](", "an embedded link")
		for key, print := range result.PartialFingerprints {
			require.NotEmpty(t, key)
			require.False(t, prints[print], "two results are one")
			prints[print] = true
		}
		for _, location := range result.Locations {
			at := location.PhysicalLocation
			uri, err := url.Parse(at.ArtifactLocation.URI)
			require.NoError(t, err)
			require.NotEmpty(t, at.ArtifactLocation.URI)
			require.False(t, uri.IsAbs(), "%s", uri)
			require.Empty(t, uri.Host)
			require.Equal(t, "%SRCROOT%", at.ArtifactLocation.URIBaseID)
			if at.Region != nil {
				require.GreaterOrEqual(t, *at.Region.StartLine, 1)
				require.True(t, at.Region.StartColumn == nil || *at.Region.StartColumn >= 1)
			}
		}
	}
	return log
}

func wellFormedCodeQuality(t *testing.T, text string) {
	t.Helper()
	visible(t, text)
	var issues []map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &issues))
	require.NotNil(t, issues)
	prints := map[any]bool{}
	for _, issue := range issues {
		for _, name := range []string{"description", "check_name", "fingerprint", "severity"} {
			require.NotEmpty(t, issue[name], name)
		}
		require.Contains(t, []any{"info", "minor", "major", "critical", "blocker"}, issue["severity"])
		location := issue["location"].(map[string]any)
		require.NotEmpty(t, location["path"])
		require.GreaterOrEqual(t, location["lines"].(map[string]any)["begin"], 1.0)
		require.False(t, prints[issue["fingerprint"]])
		prints[issue["fingerprint"]] = true
	}
}

var command = regexp.MustCompile(`^::(error|warning) ((file|line|col|title)=[^:,\r\n]*,?)+::[^\r\n]*$`)

func wellFormedCommands(t *testing.T, text string, findings int) {
	t.Helper()
	require.NotRegexp(t, logCommand, text)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if findings == 0 {
		require.Empty(t, text)
		return
	}
	require.Len(t, lines, findings)
	for _, line := range lines {
		require.Regexp(t, command, line)
		for _, r := range line {
			require.True(t, unicode.IsPrint(r), "%U in %q", r, line)
		}
	}
}

// wellFormed asks each format for what its reader needs.
func wellFormed(t *testing.T, plans []plan.Plan) {
	t.Helper()
	for _, format := range formats {
		got := format.print(t, plans)
		switch {
		case strings.HasSuffix(format.file, "github.txt"):
			wellFormedCommands(t, got, len(planprint.Findings(plans, located)))
		case strings.HasSuffix(format.file, "txt"):
			wellFormedText(t, got)
		case format.file == "md":
			wellFormedMarkdown(t, got, planprint.DefaultLimit)
		case format.file == "json":
			wellFormedJSON(t, got)
		case format.file == "sarif":
			wellFormedSARIF(t, got)
		case format.file == "codequality.json":
			wellFormedCodeQuality(t, got)
		}
	}
}

func TestEachFormatIsWellFormed(t *testing.T) {
	for name, plans := range examples() {
		t.Run(name, func(t *testing.T) { wellFormed(t, plans) })
	}
}

func TestEveryGateIsARuleOfSARIF(t *testing.T) {
	log := wellFormedSARIF(t, formats[6].print(t, examples()["refused"]))
	help := map[string]string{}
	for _, rule := range log.Runs[0].Tool.Driver.Rules {
		if rule.Help != nil {
			help[rule.ID] = rule.Help.Text
		}
	}
	for _, gate := range gates.All {
		assert.Equal(t, gate.Do, help[gate.Name], gate.Name)
	}
	results := log.Runs[0].Results
	require.Len(t, results, 2)
	assert.Equal(t, "version-path", results[0].RuleID)
	assert.Equal(t, "clusters/metrics.yaml", results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI)
	assert.Equal(t, 3, *results[0].Locations[0].PhysicalLocation.Region.StartLine)
	assert.Equal(t, planprint.RuleAtRisk, results[1].RuleID)
	assert.Equal(t, "warning", results[1].Level)
}

func TestCodeScanningIsGivenWhatItTakes(t *testing.T) {
	var findings []planprint.Finding
	for range 6000 {
		findings = append(findings, planprint.Finding{Rule: planprint.RuleDefinition, Level: planprint.LevelError, Message: "x", Place: planprint.Place{File: "a b#c?.yaml"}})
	}
	var b strings.Builder
	require.NoError(t, planprint.SARIF(&b, findings, "1"))
	log := wellFormedSARIF(t, b.String())
	require.Len(t, log.Runs[0].Results, 5000)
	assert.Equal(t, "and 1,001 more that are not listed here", log.Runs[0].Results[4999].Message.Text)
	assert.Equal(t, "a%20b%23c%3F.yaml", log.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI)
}

// withoutRules shortens a log of SARIF for a golden file.
func withoutRules(t *testing.T, text string) string {
	t.Helper()
	before, rest, ok := strings.Cut(text, `          "rules": [`)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, "\n          ]\n")
	require.True(t, ok)
	// Where a rule stands among them moves with each new gate.
	return before + `          "rules": []` + "\n" + ruleIndex.ReplaceAllString(after, `"ruleIndex": 0`)
}

var ruleIndex = regexp.MustCompile(`"ruleIndex": \d+`)
