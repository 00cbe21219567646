package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
)

var (
	cpuLine     = regexp.MustCompile(`(?m)^process_cpu_seconds_total (\S+)$`)
	countedLine = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)
	standsLine  = regexp.MustCompile(`^apiserver_longrunning_requests\{(.*)\} (\S+)$`)
	label       = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// counters are the API server's own.
type counters struct {
	requests map[string]int
	// all are the requests of everybody, the control plane's own too.
	all map[string]int
	// watches are those that stand: they are counted among the requests when they end.
	watches int
	cpu     time.Duration
}

// count reads the requests, by verb and resource, of what whoever
// applies a cluster's objects asks for. Left out is what the control plane itself
// does all the time (Leases, Events, Nodes, reviews of tokens), and what the sandbox's
// controllers write: pods, claims, revisions, endpoints and subresources.
func count(ctx context.Context, admin kubernetes.Interface) (counters, error) {
	text, err := admin.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return counters{}, fmt.Errorf("reading the API server's counters: %w", err)
	}
	counted, all, standing := map[string]int{}, map[string]int{}, 0
	var spent float64
	if match := cpuLine.FindSubmatch(text); match != nil {
		if spent, err = strconv.ParseFloat(string(match[1]), 64); err != nil {
			return counters{}, fmt.Errorf("reading the API server's counters: %w", err)
		}
	}
	for line := range strings.Lines(string(text)) {
		match := countedLine.FindStringSubmatch(strings.TrimSpace(line))
		stands := false
		if match == nil {
			if match = standsLine.FindStringSubmatch(strings.TrimSpace(line)); match == nil {
				continue
			}
			stands = true
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(match[1], -1) {
			labels[pair[1]] = pair[2]
		}
		n, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return counters{}, fmt.Errorf("reading the API server's counters: %w", err)
		}
		if !stands {
			all[strings.TrimSuffix(labels["verb"]+" "+labels["resource"]+"/"+labels["subresource"], "/")] += int(n)
		}
		if !slices.Contains(applied, labels["resource"]) || labels["subresource"] != "" {
			continue
		}
		switch {
		case !stands:
			counted[labels["verb"]+" "+labels["resource"]] += int(n)
		case labels["verb"] == "WATCH":
			standing += int(n)
		}
	}
	return counters{counted, all, standing, time.Duration(spent * float64(time.Second))}, nil
}

var applied = []string{"statefulsets", "services", "poddisruptionbudgets", "configmaps", "secrets", "serviceaccounts"}

// since are the requests that came after before, and how many of them.
func since(before, after map[string]int) (total int, each []string) {
	for what, n := range after {
		if n > before[what] {
			total += n - before[what]
			each = append(each, fmt.Sprintf("%s: %d", what, n-before[what]))
		}
	}
	sort.Strings(each)
	return total, each
}

// started are the requests with a verb that came after before.
func started(verb string, before, after counters) (total int) {
	for what, n := range after.requests {
		if strings.HasPrefix(what, verb) {
			total += n - before.requests[what]
		}
	}
	return total
}

// repairsEvery is how often the API server itself lists all Services, to put right which
// ports are taken.
const repairsEvery = 3 * time.Minute

// withoutRepairs leaves those lists out of what was counted over a time; more of them
// are somebody else's. Watches that stood are left out too: one is counted when it ends,
// after five to ten minutes, and begins again where it was.
func withoutRepairs(before, after map[string]int, over time.Duration) {
	for what := range after {
		if strings.HasPrefix(what, "WATCH ") {
			after[what] = before[what]
		}
	}
	const lists = "LIST services"
	// Addresses and ports are put right apart from each other.
	if n := after[lists] - before[lists]; n > 0 && n <= 2*(1+int(over/repairsEvery)) {
		after[lists] = before[lists]
	}
}

var isWrite = regexp.MustCompile(`^(POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION) `)

// quiet waits until there was no write for a while.
func quiet(ctx context.Context, admin kubernetes.Interface, during, within time.Duration) (counters, error) {
	deadline := time.Now().Add(within)
	var last counters
	since := time.Now()
	for {
		now, err := count(ctx, admin)
		if err != nil {
			return now, err
		}
		if writes(now.requests) != writes(last.requests) {
			since = time.Now()
		}
		last = now
		switch {
		case time.Since(since) >= during:
			return now, nil
		case time.Now().After(deadline):
			return now, fmt.Errorf("the API server still takes writes after %s", within)
		case !pause(ctx, min(during/4, time.Second)):
			return now, ctx.Err()
		}
	}
}

func writes(counted map[string]int) (total int) {
	for what, n := range counted {
		if isWrite.MatchString(what) {
			total += n
		}
	}
	return total
}

// pause is false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
