package planprint

import "io"

// CodeQuality writes findings as GitLab's report of code quality, of which it
// makes annotations in a merge request. GitLab drops what has no file: that is
// left out.
func CodeQuality(w io.Writer, findings []Finding) error {
	type lines struct {
		Begin int `json:"begin"`
	}
	type location struct {
		Path  string `json:"path"`
		Lines lines  `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		CheckName   string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	issues := []issue{}
	seen := map[string]int{}
	for _, f := range findings {
		if f.File == "" {
			continue
		}
		severity := "critical"
		if f.Level == LevelWarning {
			severity = "minor"
		}
		message := f.Message
		if f.Cluster != "" {
			message = f.Cluster + ": " + message
		}
		issues = append(issues, issue{
			Description: said(message), CheckName: ruleID(f.Rule), Fingerprint: fingerprint(f, seen), Severity: severity,
			Location: location{Path: f.File, Lines: lines{Begin: max(f.Line, 1)}},
		})
	}
	return encode(w, issues)
}
