package planprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// mostResults is what GitHub's code scanning shows of one run.
const mostResults = 5000

// SARIF writes findings as a log of SARIF 2.1.0 (OASIS), the format of code
// scanning. Its rules are the gates, with what to do about each.
func SARIF(w io.Writer, findings []Finding, version string) error {
	rules := sarifRules()
	index := map[string]int{}
	for i, rule := range rules {
		index[rule.ID] = i
	}
	// A gate that this list does not know is still a result of a rule of its name.
	for _, f := range findings {
		if id := ruleID(f.Rule); index[id] == 0 && rules[0].ID != id {
			index[id] = len(rules)
			rules = append(rules, sarifRule{ID: id, ShortDescription: sarifText{Text: id}, DefaultConfiguration: sarifLevel{f.Level}})
		}
	}
	run := sarifRun{Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	run.Tool.Driver = sarifDriver{
		Name: "stevedore", InformationURI: "https://stevedore.dev", Version: version, Rules: rules,
	}
	if len(findings) > mostResults {
		left := len(findings) - (mostResults - 1)
		findings = append(slices.Clip(findings[:mostResults-1]), Finding{
			Rule: RuleDefinition, Level: LevelError, Message: "and " + number(left) + " more that are not listed here",
		})
	}
	seen := map[string]int{}
	for _, f := range findings {
		message := f.Message
		if f.Cluster != "" {
			message = f.Cluster + ": " + message
		}
		id := ruleID(f.Rule)
		result := sarifResult{
			RuleID: id, RuleIndex: index[id], Level: f.Level,
			Message:             sarifText{Text: sarifMessage(message)},
			Locations:           sarifLocations(f.Place),
			PartialFingerprints: map[string]string{"stevedore/v1": fingerprint(f, seen)},
		}
		run.Results = append(run.Results, result)
	}
	return encode(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// sarifMessage is a plain text message (SARIF 3.11.5) without an embedded link
// (3.11.6): "[text](target)" would be one.
func sarifMessage(text string) string {
	return strings.ReplaceAll(said(text), "](", "] (")
}

// said is a plain message that is never empty.
func said(text string) string {
	if strings.TrimSpace(text) == "" {
		return "no message"
	}
	return plain(text)
}

func ruleID(name string) string {
	if name == "" {
		return RuleRefused
	}
	return plain(name)
}

func sarifRules() []sarifRule {
	rules := []sarifRule{
		{ID: RuleDefinition, ShortDescription: sarifText{Text: "A definition cannot be read, or says what it must not say."},
			FullDescription: &sarifText{Text: "A file of the folder is broken, not supported or not allowed. Nothing is made of it; what runs stays as it is."},
			Help:            &sarifText{Text: "The message says what to write instead; `stevedore validate` says everything that is wrong at once."}, DefaultConfiguration: sarifLevel{LevelError}},
		{ID: RuleRefused, ShortDescription: sarifText{Text: "A change of an object is refused."},
			Help: &sarifText{Text: "The message says why. Nothing of such a change is applied; take it back or do what the message says."}, DefaultConfiguration: sarifLevel{LevelError}},
		{ID: RuleSetting, ShortDescription: sarifText{Text: "A setting has a name that is in no manual of CrateDB."},
			FullDescription: &sarifText{Text: "A node does not start with a setting that its version does not know. It is a warning, for a newer version may have one of that name."},
			Help:            &sarifText{Text: "Write the name as the manual has it, or leave the setting out."}, DefaultConfiguration: sarifLevel{LevelWarning}},
		{ID: RuleAtRisk, ShortDescription: sarifText{Text: "Something may be unavailable or lost on the way."},
			Help: &sarifText{Text: "A table without replicas cannot be read or written while the node that holds it restarts. Set number_of_replicas, or accept it."}, DefaultConfiguration: sarifLevel{LevelWarning}},
		{ID: RuleMoved, ShortDescription: sarifText{Text: "An object stands in another file, and is the same otherwise."},
			Help: &sarifText{Text: "Nothing is done for it, and nothing has to be done about it."}, DefaultConfiguration: sarifLevel{LevelNote}},
	}
	for _, gate := range gates.All {
		level := LevelWarning
		if gate.Kind == gates.Refuses {
			level = LevelError
		}
		rules = append(rules, sarifRule{
			ID: gate.Name, ShortDescription: sarifText{Text: gate.Says},
			FullDescription: &sarifText{Text: gate.Says + " From: " + gate.Source + "."},
			Help:            &sarifText{Text: gate.Do}, DefaultConfiguration: sarifLevel{level},
		})
	}
	return rules
}

func sarifLocations(p Place) []sarifLocation {
	uri := fileURI(p.File)
	if uri == "" {
		return nil
	}
	location := sarifLocation{}
	location.PhysicalLocation.ArtifactLocation = sarifArtifact{URI: uri, URIBaseID: "%SRCROOT%"}
	if p.Line > 0 {
		location.PhysicalLocation.Region = &sarifRegion{StartLine: p.Line, StartColumn: max(p.Column, 0)}
	}
	return []sarifLocation{location}
}

// fileURI is a relative reference (RFC 3986) to a file of the repository.
func fileURI(file string) string {
	return (&url.URL{Path: strings.TrimLeft(file, "/")}).String()
}

// fingerprint knows a finding again when lines move; equal ones are told apart
// by their number.
func fingerprint(f Finding, seen map[string]int) string {
	text := strings.Join([]string{f.Rule, f.Cluster, f.File, f.Message}, "\x00")
	seen[text]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", text, seen[text]))
	return hex.EncodeToString(sum[:16])
}

// The properties of SARIF 2.1.0 that are written, by its section 3.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Version        string      `json:"version,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string     `json:"id"`
		ShortDescription     sarifText  `json:"shortDescription"`
		FullDescription      *sarifText `json:"fullDescription,omitempty"`
		Help                 *sarifText `json:"help,omitempty"`
		DefaultConfiguration sarifLevel `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLevel struct {
		Level Level `json:"level"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               Level             `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		PhysicalLocation struct {
			ArtifactLocation sarifArtifact `json:"artifactLocation"`
			Region           *sarifRegion  `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)
