package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
)

func encodeStatuses(out io.Writer, format string, statuses []clusterStatus) error {
	if format == "json" {
		return printJSON(out, statuses)
	}
	text, err := yaml.Marshal(statuses)
	if err != nil {
		return fmt.Errorf("writing the statuses as YAML: %w", err)
	}
	_, err = out.Write(text)
	return err
}

// printStatuses writes for people; width is their terminal's, 0 where there is none.
func printStatuses(out io.Writer, statuses []clusterStatus, namespace string, width int, now time.Time) error {
	var text []string
	if len(statuses) == 0 {
		where := whereWords(namespace)
		if namespace != metav1.NamespaceAll {
			where += "; -n names another one, -A all"
		}
		text = append(text, "no clusters are recorded in "+where)
	} else {
		var looked []attended
		for _, status := range statuses {
			looked = append(looked, attended{status.Cluster, status.Looked})
		}
		for _, nobody := range nobodyLooks(looked) {
			text = append(text, wrapped(nobody.words(len(statuses)), width)...)
			text = append(text, "")
		}
		var rows [][]string
		for _, status := range statuses {
			rows = append(rows, status.cells(now))
		}
		text = append(text, table(statusColumns, rows, width)...)
		for _, status := range statuses {
			for _, words := range status.remarks(now) {
				text = append(text, "")
				text = append(text, wrapped(status.Cluster+": "+words, width)...)
			}
		}
	}
	_, err := io.WriteString(out, strings.Join(text, "\n")+"\n")
	return err
}

var statusColumns = []string{"CLUSTER", "STATE", "NODES", "VERSION", "OPERATION", "COMMIT", "SINCE", "LOOKED"}

func (s clusterStatus) cells(now time.Time) []string {
	var nodes []string
	for _, group := range s.Groups {
		nodes = append(nodes, group.words())
	}
	version := s.Version
	if s.UpgradingTo != "" {
		version += " -> " + s.UpgradingTo
	}
	operation := ""
	if s.Operation != nil {
		operation = operationWords(s.Operation)
	}
	return []string{s.Cluster, s.stateWords(), strings.Join(nodes, ", "), version, operation, shortCommit(s.Commit), age(s.Since, now), lookedWords(s.Looked, now)}
}

// remarks are what is to be said of a cluster in sentences.
func (s clusterStatus) remarks(now time.Time) (all []string) {
	for _, problem := range s.Problems {
		all = append(all, "the newest definition is not used: "+problem)
	}
	if words := progressWords(s.Progress); words != "" {
		all = append(all, words)
	}
	for _, reason := range s.Reasons {
		all = append(all, reason.Kind+" "+reason.Name+": "+reason.Message)
	}
	if s.Backups != nil {
		all = append(all, s.Backups.remarks(now)...)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Commands)) {
		// What was taken back, or done, is for -o yaml.
		if value := s.Commands[key]; value != "false" && (s.State != "done" || key != "restartedAt") {
			words := "command " + key + "=" + value
			if key == strings.TrimPrefix(names.AbortAnnotation, names.Prefix) {
				words += ": nothing of this definition begins, until `stevedore resume " + s.Cluster + "` or until the definition changes"
			}
			all = append(all, words)
		}
	}
	for _, late := range s.Undelivered {
		what, wait := "reports", "wait"
		if late.Reports == 1 {
			what, wait = "report", "waits"
		}
		all = append(all, fmt.Sprintf("%s: %d %s %s to be delivered, the oldest for %s; the log of the daemon says why, and the cluster waits for none of them",
			late.Target, late.Reports, what, wait, age(late.Since, now)))
	}
	if s.Error != "" {
		all = append(all, s.Error)
	}
	return all
}

func whereWords(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return "any namespace"
	}
	return "namespace " + namespace
}

// shortCommit keeps what tells commits apart: "main@sha1:0123456789ab".
func shortCommit(commit string) string {
	ref, hash, found := strings.Cut(commit, ":")
	if !found {
		return commit
	}
	return ref + ":" + hash[:min(len(hash), 12)]
}

func age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return now.Sub(since).Round(time.Second).String()
}
